//! Adyen, Checkout.com and Amazon Pay.

use jiff::SignedDuration;

use super::{Answer, HEX, Keys, Login, Means, Preset, Seen, Spot, UUID, cited, read};

pub(super) const ALL: &[Preset] = &[ADYEN, CHECKOUT, AMAZON_PAY];

const ADYEN: Preset = Preset {
    name: "adyen",
    title: "Adyen",
    url: "https://{prefix}-checkout-live.adyenpayments.com/checkout/{version}/{..}",
    auth: Login::Header("x-api-key"),
    keys: Some(Keys {
        shape: UUID,
        longest: Some(64),
        retention: Some(SignedDuration::from_hours(7 * 24)),
        kept: "at least 7 days",
        in_flight: "422 or 409 with errorCode 704; the header `transient-error: true` says that the same key may be tried again",
        ..Keys::NEW
    }),
    answers: &[
        Answer {
            statuses: (400, 599),
            seen: Seen::Header("transient-error", "true"),
            means: Means::Later,
        },
        Answer {
            statuses: (400, 499),
            seen: Seen::Field("/errorCode", &["704"]),
            means: Means::Later,
        },
    ],
    notes: &[
        "Keys are not compared between regions: keep one endpoint for one delivery.",
        "What a changed request under a known key gets is not documented.",
    ],
    facts: &[
        read(
            "header, POST, 64 characters, the first answer without doing it again",
            "https://docs.adyen.com/development-resources/api-idempotency",
        ),
        cited(
            "at least 7 days, 422 or 409 with 704, transient-error",
            "a copy of https://docs.adyen.com/development-resources/api-idempotency",
        ),
        cited("hosts and x-api-key", "a copy of the same page"),
    ],
    ..Preset::NEW
};

const CHECKOUT: Preset = Preset {
    name: "checkout",
    title: "Checkout.com",
    url: "https://{prefix}.api.checkout.com/payments",
    keys: Some(Keys {
        place: Spot::Header("Cko-Idempotency-Key"),
        shape: UUID,
        retention: Some(SignedDuration::from_hours(24)),
        kept: "24 hours",
        stores_errors: Some(false),
        in_flight: "409",
        ..Keys::NEW
    }),
    answers: &[Answer {
        statuses: (500, 599),
        seen: Seen::Status,
        means: Means::Unprotected,
    }],
    gap: SignedDuration::from_secs(30),
    notes: &[
        "Only 2xx answers are remembered. A payment that went through and was answered with 5xx is tried again under the same key: so a 5xx parks the effect. Look the payment up by its reference.",
        "For /payment-contexts, /payments with its authorizations, cancellations, captures, refunds and voids, and /transfers.",
        "The document asks for 30 seconds before a repetition; they are kept.",
    ],
    facts: &[
        read(
            "header, endpoints, 24 hours, 2xx only, 30 seconds, UUID advised",
            "https://www.checkout.com/docs/payments/manage-payments/idempotency",
        ),
        read(
            "the same",
            "https://checkout.com/docs/payments/manage-payments/retry-a-payment",
        ),
        read(
            "409 while the first is under way",
            "https://support.checkout.com/hc/en-us/articles/24570669653010",
        ),
    ],
    ..Preset::NEW
};

const AMAZON_PAY: Preset = Preset {
    name: "amazon-pay",
    title: "Amazon Pay, API v2",
    url: "https://pay-api.amazon.com/live/v2/{..}",
    barred: Some(
        "every request needs an RSA-PSS signature over its headers, its time and its body, which Oncehook does not make: let an endpoint of your own call it (sign = \"standard-webhooks\"), with webhook-id as the key",
    ),
    keys: Some(Keys {
        place: Spot::Header("x-amz-pay-idempotency-key"),
        shape: HEX,
        longest: Some(32),
        retention: Some(SignedDuration::from_hours(3650 * 24)),
        kept: "indefinitely",
        other_body: "400, DuplicateIdempotencyKey",
        ..Keys::NEW
    }),
    answers: &[Answer {
        statuses: (400, 400),
        seen: Seen::Field("/reasonCode", &["DuplicateIdempotencyKey"]),
        means: Means::OtherBody,
    }],
    notes: &["32 hex digits fit; a UUID with hyphens is too long."],
    facts: &[
        read(
            "POST, 32 characters of [A-Za-z0-9_-], kept indefinitely, the saved result is returned",
            "https://developer.amazon.com/docs/amazon-pay-api-v2/idempotency.html",
        ),
        read(
            "400 DuplicateIdempotencyKey",
            "https://developer.amazon.com/docs/amazon-pay-api-v2/error-handling.html",
        ),
        read(
            "the signature covers the key's header",
            "https://developer.amazon.com/docs/amazon-pay-api-v2/signing-requests.html",
        ),
    ],
    ..Preset::NEW
};
