//! Square and Shopify: keys in the body.

use jiff::SignedDuration;

use super::{Answer, Keys, Login, Means, Paths, Preset, Seen, Spot, UUID, cited, read};

pub(super) const ALL: &[Preset] = &[SQUARE, SHOPIFY];

const SQUARE: Preset = Preset {
    name: "square",
    title: "Square",
    url: "https://connect.squareup.com/v2/payments",
    keys: Some(Keys {
        place: Spot::Field("/idempotency_key"),
        longest: Some(45),
        kept: "not published",
        other_body: "400, IDEMPOTENCY_KEY_REUSED",
        ..Keys::NEW
    }),
    answers: &[Answer {
        statuses: (400, 499),
        seen: Seen::Field("/errors/*/code", &["IDEMPOTENCY_KEY_REUSED"]),
        means: Means::OtherBody,
    }],
    notes: &[
        "Square does not publish how long it keeps keys. You set `idempotency.retention`: how long you accept to repeat a payment whose outcome is unknown. After it, it is parked.",
        "45 characters is the limit of CreatePayment; it varies by endpoint, and 32 fit all that are known.",
        "A payment whose outcome is unknown can be cancelled with CancelPaymentByIdempotencyKey.",
    ],
    facts: &[
        read(
            "body field, the first successful answer is returned, a changed request is an error",
            "https://developer.squareup.com/docs/build-basics/common-api-patterns/idempotency",
        ),
        read(
            "the retention is not published",
            "https://developer.squareup.com/forums/t/28303",
        ),
        cited("45 characters for CreatePayment", "Square's SDK documents"),
        cited(
            "400 IDEMPOTENCY_KEY_REUSED",
            "https://developer.squareup.com/docs/build-basics/general-considerations/using-rest-api",
        ),
        read(
            "CancelPaymentByIdempotencyKey",
            "https://github.com/square/square-mcp-server/issues/31",
        ),
    ],
    ..Preset::NEW
};

const SHOPIFY: Preset = Preset {
    name: "shopify",
    title: "Shopify Admin GraphQL",
    url: "https://{shop}.myshopify.com/admin/api/{version}/graphql.json",
    paths: Paths::End(&["/graphql.json"]),
    auth: Login::Header("X-Shopify-Access-Token"),
    keys: Some(Keys {
        place: Spot::Field("/variables/idempotencyKey"),
        shape: UUID,
        retention: Some(SignedDuration::from_hours(24)),
        kept: "24 hours",
        stores_errors: Some(false),
        needs: Some(("/query", "$idempotencyKey")),
        other_body: "userErrors with IDEMPOTENCY_KEY_PARAMETER_MISMATCH",
        in_flight: "userErrors with IDEMPOTENCY_CONCURRENT_REQUEST",
        ..Keys::NEW
    }),
    answers: &[
        Answer {
            statuses: (200, 499),
            seen: Seen::Field(
                "/data/*/userErrors/*/code",
                &["IDEMPOTENCY_KEY_PARAMETER_MISMATCH"],
            ),
            means: Means::OtherBody,
        },
        Answer {
            statuses: (200, 499),
            seen: Seen::Field("/data/*/userErrors/*/code", &["IDEMPOTENCY_CONCURRENT_REQUEST"]),
            means: Means::Later,
        },
        Answer {
            statuses: (200, 499),
            seen: Seen::Field(
                "/data/*/userErrors/*/code",
                &["IDEMPOTENCY_PREVIOUS_ATTEMPT_FAILED"],
            ),
            means: Means::Unprotected,
        },
        Answer {
            statuses: (200, 499),
            seen: Seen::Field("/errors/*/extensions/code", &["THROTTLED"]),
            means: Means::Throttled,
        },
        Answer {
            statuses: (200, 299),
            seen: Seen::AnyField("/data/*/userErrors/*"),
            means: Means::Refused,
        },
        Answer {
            statuses: (200, 299),
            seen: Seen::AnyField("/errors"),
            means: Means::Uncertain,
        },
    ],
    notes: &[
        "Write the mutation so that it takes the key: `mutation($idempotencyKey: String!, ..) { refundCreate(..) @idempotent(key: $idempotencyKey) { .. userErrors { code message } } }`. The delivery puts the key into `variables`. A query without `$idempotencyKey` is refused when it is rendered, because Shopify would not look at the key.",
        "Ask for `userErrors { code message }`: without it, a failure looks like a success.",
        "Only mutations that have the directive take it. It is mandatory for refunds and inventory since 2026-04.",
        "What IDEMPOTENCY_PREVIOUS_ATTEMPT_FAILED says about the first attempt is disputed: parked.",
    ],
    facts: &[
        read(
            "the directive, the original result, UUID advised, mandatory",
            "https://shopify.dev/changelog/posts/making-idempotency-mandatory-for-inventory-adjustments-and-refund-mutations",
        ),
        cited(
            "24 hours",
            "https://shopify.dev/docs/api/usage/implementing-idempotency",
        ),
        cited("the codes of userErrors", "copies of the GraphQL schema"),
        read(
            "THROTTLED in errors[].extensions.code",
            "https://shopify.dev/docs/apps/build/apis/graphql-admin/rate-limits.md",
        ),
        read("X-Shopify-Access-Token", "https://www.shopify.dev/api/admin"),
    ],
    ..Preset::NEW
};
