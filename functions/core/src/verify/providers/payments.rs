//! Payments: Stripe, Paddle, Square, Razorpay, Coinbase Commerce, Plaid.

use super::{FIVE_MINUTES, after, hours, id, kind, places, scope, template, text, time};
use crate::verify::{
    facts::{About, Facts, Form, IdPart, KeyForm, Proof, Provider, ScopePart},
    scheme::{Encoding, TimeUnit},
    signed::Part,
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "stripe",
        title: "Stripe",
        facts: stripe,
    },
    Provider {
        name: "paddle-billing",
        title: "Paddle Billing",
        facts: paddle,
    },
    Provider {
        name: "square",
        title: "Square",
        facts: square,
    },
    Provider {
        name: "razorpay",
        title: "Razorpay",
        facts: razorpay,
    },
    Provider {
        name: "coinbase-commerce",
        title: "Coinbase Commerce",
        facts: coinbase,
    },
    Provider {
        name: "plaid",
        title: "Plaid",
        facts: plaid,
    },
];

/// Snapshot events (v1), thin events (v2) and events of connected accounts.
fn stripe() -> Facts {
    Facts {
        form: Form::Pairs {
            separator: ',',
            time: "t",
            signature: "v1",
            needed: false,
        },
        signed: template([Part::Timestamp, text("."), Part::Body]),
        time: time("", TimeUnit::Seconds),
        tolerance: FIVE_MINUTES,
        id: id(&["/id"]),
        kind: kind(&[&["/type"]], ""),
        occurred_at: places(&["/created"]),
        // `context` is what `account` is called in a v2.core.event.
        scope: vec![
            ScopePart {
                places: places(&["/account", "/context"]),
                names: None,
            },
            ScopePart {
                places: places(&["/livemode"]),
                names: Some(("live", "test")),
            },
        ],
        retried_for: hours(72),
        about: About {
            second_hand: false,
            documents: &[
                "https://docs.stripe.com/webhooks#verify-manually",
                "https://github.com/stripe/stripe-node/blob/master/src/Webhooks.ts",
            ],
            secret: "the endpoint's signing secret, `whsec_..`, as it stands",
            retries: "live mode: exponential backoff, up to 3 days; sandbox: 3 times over a few hours",
            signed_anew: Some(true),
            setup: &[
                "Workbench > Webhooks > Create an event destination.",
                "Choose your account, or connected accounts for Connect; snapshot or thin events.",
                "Endpoint URL: {url}",
                "Reveal the signing secret of the destination and store it.",
            ],
            notes: &["Events come in any order; `newer_by` keeps an old one from overwriting a new one."],
        },
        ..Facts::plain("Stripe-Signature", Encoding::Hex)
    }
}

fn paddle() -> Facts {
    Facts {
        form: Form::Pairs {
            separator: ';',
            time: "ts",
            signature: "h1",
            needed: true,
        },
        signed: template([Part::Timestamp, text(":"), Part::Body]),
        time: time("", TimeUnit::Seconds),
        tolerance: after(5),
        id: id(&["/event_id"]),
        kind: kind(&[&["/event_type"]], ""),
        occurred_at: places(&["/occurred_at"]),
        timeout: after(5),
        retried_for: hours(72),
        about: About {
            second_hand: false,
            documents: &[
                "https://developer.paddle.com/webhooks/about/signature-verification",
                "https://developer.paddle.com/webhooks/about/respond-to-webhooks",
                "https://github.com/PaddleHQ/paddle-node-sdk",
            ],
            secret: "the destination's secret key, `pdl_ntfset_..`, as it stands",
            retries: "live: 60 times within 3 days; sandbox: 3 times within 15 minutes",
            signed_anew: None,
            setup: &[
                "Developer tools > Notifications > New destination, type URL.",
                "URL: {url}",
                "Copy the secret key of the destination and store it.",
            ],
            notes: &[
                "Paddle's own libraries take a signature of 5 seconds at most; set `tolerance` if your clock or network \
                 needs more.",
                "Only status 200 counts as received.",
            ],
        },
        ..Facts::plain("Paddle-Signature", Encoding::Hex)
    }
}

fn square() -> Facts {
    Facts {
        signed: template([Part::Url, Part::Body]),
        id: id(&["/event_id"]),
        kind: kind(&[&["/type"]], ""),
        occurred_at: places(&["/created_at"]),
        scope: scope(&[&["/merchant_id"]]),
        retried_for: hours(24),
        about: About {
            second_hand: false,
            documents: &[
                "https://developer.squareup.com/docs/webhooks/step3validate",
                "https://developer.squareup.com/docs/webhooks/troubleshooting",
            ],
            secret: "the subscription's signature key, as it stands",
            retries: "up to 24 hours",
            signed_anew: None,
            setup: &[
                "Developer Console > your application > Webhooks > Subscriptions > Add subscription.",
                "Notification URL: {url}, and the same text as `public_url` in oncehook.toml.",
                "Copy the signature key from the subscription's details and store it.",
            ],
            notes: &["The older header x-square-signature (SHA-1) is not looked at."],
        },
        ..Facts::plain("x-square-hmacsha256-signature", Encoding::Base64)
    }
}

fn razorpay() -> Facts {
    Facts {
        id: id(&["header:X-Razorpay-Event-Id"]),
        kind: kind(&[&["/event"]], ""),
        occurred_at: places(&["/created_at"]),
        scope: scope(&[&["/account_id"]]),
        retried_for: hours(24),
        about: About {
            second_hand: false,
            documents: &[
                "https://razorpay.com/docs/webhooks/validate-test/",
                "https://razorpay.com/docs/webhooks/best-practices",
                "https://github.com/razorpay/razorpay-node",
            ],
            secret: "the secret that you gave the webhook, as it stands",
            retries: "exponential backoff for 24 hours, then the webhook is disabled",
            signed_anew: Some(false),
            setup: &[
                "Dashboard > Account & Settings > Webhooks > Add New Webhook.",
                "Webhook URL: {url}",
                "Enter a secret of your own and store the same.",
            ],
            notes: &[
                "After a change of secret, retries of older events are still signed with the old one: keep both.",
            ],
        },
        ..Facts::plain("X-Razorpay-Signature", Encoding::Hex)
    }
}

fn coinbase() -> Facts {
    Facts {
        // `/id` is that of the delivery.
        id: id(&["/event/id"]),
        kind: kind(&[&["/event/type"]], ""),
        occurred_at: places(&["/event/created_at"]),
        retried_for: hours(72),
        about: About {
            second_hand: false,
            documents: &[
                "https://docs.cdp.coinbase.com/commerce/api-arcitecture/webhooks-overview",
                "https://github.com/coinbase/coinbase-commerce-node",
            ],
            secret: "the webhook shared secret, as it stands",
            retries: "exponential backoff, at most an hour apart, for three days",
            signed_anew: None,
            setup: &[
                "Settings > Notifications > Webhook subscriptions > Add an endpoint.",
                "Endpoint: {url}",
                "Show the shared secret and store it.",
            ],
            notes: &[],
        },
        ..Facts::plain("X-CC-Webhook-Signature", Encoding::Hex)
    }
}

/// The token vouches for the body by its hash. Webhooks have no id: the time of signing tells one from the next, since
/// two of them may be equal in all else and mean two things.
fn plaid() -> Facts {
    let mut parts = super::ids(&["/webhook_type"], &[&["/webhook_code"], &["/item_id"]]);
    parts.extend([IdPart::SignedAt, IdPart::Hash]);
    Facts {
        form: Form::Jwt,
        proof: Proof::P256 { der: false },
        key: KeyForm::Credentials,
        signed: template([]),
        time: time("", TimeUnit::Seconds),
        tolerance: FIVE_MINUTES,
        empty_body: false,
        id: parts,
        kind: kind(&[&["/webhook_type"], &["/webhook_code"]], "."),
        occurred_when_signed: true,
        scope: scope(&[&["/environment"]]),
        about: About {
            second_hand: false,
            documents: &["https://plaid.com/docs/api/webhooks/webhook-verification/"],
            secret: "CLIENT_ID:SECRET of the API (CLIENT_ID:SECRET:sandbox for the Sandbox), with which Plaid's public keys are fetched; or one such key as JWK",
            retries: "",
            signed_anew: None,
            setup: &[
                "Give {url} as `webhook` when you create a Link token or an Item.",
                "Store CLIENT_ID:SECRET of the same environment.",
            ],
            notes: &[
                "The hash is of the bytes as sent; Plaid sends JSON with two spaces of indentation.",
                "A repeated delivery that is signed anew counts as new. Most webhooks only say that there is something \
                 to fetch.",
            ],
        },
        ..Facts::plain("Plaid-Verification", Encoding::Text)
    }
}
