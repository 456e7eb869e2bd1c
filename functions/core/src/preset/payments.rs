//! Stripe and PayPal.

use jiff::SignedDuration;

use super::{Answer, Keys, Means, Paths, Preset, Seen, Spot, cited, read};

pub(super) const ALL: &[Preset] = &[STRIPE, STRIPE_V2, PAYPAL];

const STRIPE: Preset = Preset {
    name: "stripe",
    title: "Stripe, API v1",
    url: "https://api.stripe.com/v1/{..}",
    paths: Paths::Begin("/v1/"),
    content_type: "application/x-www-form-urlencoded",
    keys: Some(Keys {
        longest: Some(255),
        retention: Some(SignedDuration::from_hours(24)),
        kept: "at least 24 hours",
        stores_errors: Some(true),
        other_body: "an error of type idempotency_error",
        in_flight: "409, idempotency_key_in_use",
        ..Keys::NEW
    }),
    answers: &[
        Answer {
            statuses: (400, 499),
            seen: Seen::Field("/error/type", &["idempotency_error"]),
            means: Means::OtherBody,
        },
        Answer {
            statuses: (409, 409),
            seen: Seen::Field("/error/code", &["idempotency_key_in_use"]),
            means: Means::Later,
        },
    ],
    notes: &[
        "An answer is stored once execution began, a 500 too: a repetition then gets the same error for as long as the key lives, so the effect is parked. See at Stripe what happened before you resend it under a new key.",
        "Bodies are form-encoded, not JSON: `amount=5&currency={{ event.currency }}`. Values are percent-encoded by themselves.",
    ],
    facts: &[
        read(
            "header, 255 characters, at least 24 hours, stored answers (500 included), what is not stored",
            "https://docs.stripe.com/api/idempotent_requests",
        ),
        read(
            "a 4xx after execution began is stored; a changed request wants a new key",
            "https://docs.stripe.com/error-low-level",
        ),
        read(
            "type idempotency_error",
            "https://stripe.dev/stripe-terminal-android",
        ),
        cited(
            "409 with idempotency_key_in_use",
            "https://docs.stripe.com/error-codes",
        ),
        cited(
            "`Idempotent-Replayed: true` marks a stored answer",
            "https://docs.stripe.com/error-low-level",
        ),
    ],
    ..Preset::NEW
};

const STRIPE_V2: Preset = Preset {
    name: "stripe-v2",
    title: "Stripe, API v2",
    url: "https://api.stripe.com/v2/{..}",
    methods: &["POST", "DELETE"],
    paths: Paths::Begin("/v2/"),
    keys: Some(Keys {
        retention: Some(SignedDuration::from_hours(30 * 24)),
        kept: "30 days",
        stores_errors: Some(false),
        ..Keys::NEW
    }),
    notes: &[
        "A repetition never repeats a success. Work that failed, wholly or in part, is taken up again and the new answer returned.",
        "A `Stripe-Version` header belongs into `headers`.",
    ],
    facts: &[
        read(
            "30 days; failed work is taken up again, a success is not repeated",
            "https://docs.stripe.com/error-low-level?locale=en-US",
        ),
        read(
            "the same",
            "https://docs.stripe.com/api/idempotent_requests?api-version=2026-09-30.preview",
        ),
        read("JSON", "https://docs.stripe.com/api-v2-overview"),
        read(
            "keys on POST and DELETE",
            "stripe/stripe-node, src/RequestSender.ts at 0106bc9",
        ),
    ],
    ..Preset::NEW
};

const PAYPAL: Preset = Preset {
    name: "paypal",
    title: "PayPal REST",
    url: "https://api-m.paypal.com/{..}",
    keys: Some(Keys {
        place: Spot::Header("PayPal-Request-Id"),
        longest: Some(38),
        retention: Some(SignedDuration::from_hours(6)),
        kept: "6 hours for orders (72 on request), 45 days for payments",
        other_body: "PAYPAL_REQUEST_ID_PREVIOUSLY_USED or DUPLICATE_REQUEST_ID in some APIs; not documented for orders",
        in_flight: "409, PREVIOUS_REQUEST_IN_PROGRESS",
        ..Keys::NEW
    }),
    answers: &[
        Answer {
            statuses: (400, 499),
            seen: Seen::Field(
                "/details/*/issue",
                &["PAYPAL_REQUEST_ID_PREVIOUSLY_USED", "DUPLICATE_REQUEST_ID"],
            ),
            means: Means::OtherBody,
        },
        Answer {
            statuses: (400, 499),
            seen: Seen::Field(
                "/name",
                &["PAYPAL_REQUEST_ID_PREVIOUSLY_USED", "DUPLICATE_REQUEST_ID"],
            ),
            means: Means::OtherBody,
        },
        Answer {
            statuses: (409, 409),
            seen: Seen::Field("/details/*/issue", &["PREVIOUS_REQUEST_IN_PROGRESS"]),
            means: Means::Later,
        },
    ],
    notes: &[
        "You bring the access token: PayPal wants one that is fetched with your client id and secret and expires. Something of yours must put a fresh one into the secret in time (`oncehook secret set NAME --replace`); while it is expired, the destination pauses and nothing is lost. Where you cannot, let an endpoint of your own call PayPal.",
        "A repetition gets the present state of what the first call made, not its first answer.",
        "6 hours is the shortest window, that of orders. For payments, write idempotency = { retention = \"45d\", longer_than_documented = true }.",
        "Not every API honours the header: look at the reference of the one you call.",
    ],
    facts: &[
        read(
            "header, POST, the latest state is returned, without it requests are duplicated",
            "https://developer.paypal.com/api/rest/reference/idempotency/",
        ),
        read(
            "6 hours, 72 on request, for orders",
            "paypal/PayPal-TypeScript-Server-SDK, doc/controllers/orders.md at 0427f97",
        ),
        cited(
            "38 characters",
            "https://developer.paypal.com/api/rest/reference/idempotency/",
        ),
        cited("45 days for payments v2", "PayPal's generated SDK documents"),
        cited(
            "409 PREVIOUS_REQUEST_IN_PROGRESS",
            "https://schemas.apis.io/schemas/paypal/paypal-409/",
        ),
        read(
            "PAYPAL_REQUEST_ID_PREVIOUSLY_USED",
            "https://developer.paypal.com/api/payment-tokens/v3/errors/paypal_request_id_previously_used",
        ),
        read(
            "DUPLICATE_REQUEST_ID",
            "https://developer.paypal.com/api/payment-experience/v1/errors/duplicate_request_id",
        ),
    ],
    ..Preset::NEW
};
