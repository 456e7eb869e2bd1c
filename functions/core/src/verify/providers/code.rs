//! Code and its work: GitHub, GitLab with a secret token, Linear.

use super::{after, handshake, hours, id, ids, kind, places, prefixed, scope};
use crate::verify::{
    facts::{About, Answer, Content, Facts, Mark, Proof, Provider, Time},
    scheme::{Encoding, TimeUnit},
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "github",
        title: "GitHub",
        facts: github,
    },
    Provider {
        name: "gitlab-token",
        title: "GitLab (secret token)",
        facts: gitlab_token,
    },
    Provider {
        name: "linear",
        title: "Linear",
        facts: linear,
    },
];

/// Signs the body alone: neither the delivery id nor a time.
fn github() -> Facts {
    Facts {
        form: prefixed("sha256="),
        content: Content::JsonOrPayload,
        handshakes: vec![handshake(
            &[Mark::Header("X-GitHub-Event", "ping")],
            Answer::Empty,
        )],
        id: id(&["header:X-GitHub-Delivery"]),
        kind: kind(&[&["header:X-GitHub-Event"], &["/action"]], "."),
        timeout: after(10),
        about: About {
            second_hand: false,
            documents: &[
                "https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries",
                "https://docs.github.com/webhooks/using-webhooks/best-practices-for-using-webhooks",
            ],
            secret: "the webhook's secret, as it stands",
            retries: "none by itself; a person or the API redelivers",
            signed_anew: Some(false),
            setup: &[
                "Settings > Webhooks > Add webhook, in the repository, organization or app.",
                "Payload URL: {url}; content type application/json.",
                "Enter a secret of your own and store the same.",
            ],
            notes: &["A redelivery keeps the delivery's id. The older header with SHA-1 is not looked at."],
        },
        ..Facts::plain("X-Hub-Signature-256", Encoding::Hex)
    }
}

/// The header is the secret itself.
fn gitlab_token() -> Facts {
    Facts {
        proof: Proof::SharedSecret,
        id: ids(
            &["header:Idempotency-Key", "header:X-Gitlab-Event-UUID"],
            &[&["header:X-Gitlab-Webhook-UUID"]],
        ),
        kind: kind(&[&["/object_kind", "/event_name", "header:X-Gitlab-Event"]], ""),
        timeout: after(10),
        about: About {
            second_hand: false,
            documents: &["https://docs.gitlab.com/user/project/integrations/webhooks/"],
            secret: "the webhook's secret token, as it stands",
            retries: "none by itself; repeated failures disable the webhook",
            signed_anew: None,
            setup: &[
                "Settings > Webhooks > Add new webhook, in the project or group.",
                "URL: {url}",
                "Enter a secret token of your own and store the same.",
            ],
            notes: &[
                "The secret is sent along and nothing is signed: whoever sees one request can make others. Use a \
                 signing token and the scheme `gitlab` where your GitLab has them.",
            ],
        },
        ..Facts::plain("X-Gitlab-Token", Encoding::Text)
    }
}

/// The time is in the signed body; that in the header Linear-Timestamp is not signed and not looked at.
fn linear() -> Facts {
    Facts {
        time: Some(Time {
            places: places(&["/webhookTimestamp"]),
            unit: TimeUnit::Milliseconds,
            late: true,
        }),
        tolerance: after(60),
        id: id(&["header:Linear-Delivery"]),
        kind: kind(&[&["/type"], &["/action"]], "."),
        occurred_at: places(&["/createdAt"]),
        scope: scope(&[&["/organizationId"]]),
        timeout: after(5),
        retried_for: hours(8),
        about: About {
            second_hand: false,
            documents: &[
                "https://linear.app/developers/webhooks",
                "https://github.com/linear/linear/blob/master/packages/sdk/src/webhooks/client.ts",
            ],
            secret: "the webhook's signing secret, as it stands",
            retries: "after 1 minute, 1 hour and 6 hours",
            signed_anew: None,
            setup: &[
                "Settings > API > Webhooks > New webhook.",
                "URL: {url}",
                "Copy the signing secret and store it.",
            ],
            notes: &[
                "If retries are refused as too old, set a longer `tolerance`: Linear does not say that it renews \
                      the time.",
            ],
        },
        ..Facts::plain("Linear-Signature", Encoding::Hex)
    }
}
