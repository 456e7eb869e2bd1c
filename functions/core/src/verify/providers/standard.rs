//! Standard Webhooks, and those who send by it: Svix, Clerk, Resend, OpenAI, GitLab with a signing token.

use jiff::SignedDuration;

use super::{FIVE_MINUTES, after, hours, id, kind, places, template, text};
use crate::verify::{
    facts::{About, Facts, Form, KeyForm, Provider, Time},
    scheme::{Encoding, TimeUnit},
    signed::{Location, Part},
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "standard-webhooks",
        title: "Standard Webhooks",
        facts: || standard_webhooks(&["webhook"]),
    },
    Provider {
        name: "svix",
        title: "Svix",
        facts: || Facts {
            retried_for: SVIX_RETRIES,
            about: SVIX,
            ..standard_webhooks(&["svix", "webhook"])
        },
    },
    Provider {
        name: "clerk",
        title: "Clerk",
        facts: || Facts {
            retried_for: SVIX_RETRIES,
            about: About {
                second_hand: false,
                documents: &[
                    "https://clerk.com/docs/reference/backend/verify-webhook",
                    "https://docs.svix.com/receiving/verifying-payloads/how-manual",
                ],
                setup: &[
                    "Dashboard > Configure > Webhooks > Add Endpoint.",
                    "Endpoint URL: {url}",
                    "Copy the signing secret, `whsec_..`, and store it.",
                ],
                ..SVIX
            },
            ..standard_webhooks(&["svix", "webhook"])
        },
    },
    Provider {
        name: "resend",
        title: "Resend",
        facts: || Facts {
            occurred_at: places(&["/created_at"]),
            retried_for: SVIX_RETRIES,
            about: About {
                second_hand: false,
                documents: &[
                    "https://resend.com/docs/webhooks/verify-webhooks-requests",
                    "https://resend.com/docs/webhooks/retries-and-replays",
                ],
                setup: &[
                    "Webhooks > Add Webhook.",
                    "Endpoint URL: {url}",
                    "Copy the signing secret, `whsec_..`, and store it.",
                ],
                ..SVIX
            },
            ..standard_webhooks(&["svix", "webhook"])
        },
    },
    Provider {
        name: "openai",
        title: "OpenAI",
        facts: || Facts {
            occurred_at: places(&["/created_at"]),
            about: About {
                second_hand: false,
                documents: &[
                    "https://platform.openai.com/docs/guides/webhooks",
                    "https://github.com/openai/openai-node/blob/master/src/resources/webhooks",
                ],
                retries: "",
                setup: &[
                    "Settings > your project > Webhooks > Create.",
                    "URL: {url}",
                    "Copy the signing secret, `whsec_..`, and store it.",
                ],
                ..STANDARD
            },
            ..standard_webhooks(&["webhook"])
        },
    },
    Provider {
        name: "gitlab",
        title: "GitLab (signing token)",
        facts: || Facts {
            kind: kind(&[&["/object_kind", "/event_name", "header:X-Gitlab-Event"]], ""),
            occurred_at: vec![],
            timeout: after(10),
            about: About {
                second_hand: false,
                documents: &[
                    "https://docs.gitlab.com/user/project/integrations/webhooks/",
                    "https://gitlab.com/gitlab-org/gitlab/-/merge_requests/230944",
                ],
                secret: "the webhook's signing token, `whsec_..`",
                retries: "none by itself; repeated failures disable the webhook",
                signed_anew: Some(true),
                setup: &[
                    "Settings > Webhooks > Add new webhook, in the project or group.",
                    "URL: {url}",
                    "Generate a signing token and store it.",
                ],
                notes: &["Without a signing token, use the scheme `gitlab-token`: it proves much less."],
            },
            ..standard_webhooks(&["webhook"])
        },
    },
];

const STANDARD: About = About {
    second_hand: false,
    documents: &[
        "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    ],
    secret: "`whsec_` and base64 for v1; the public key `whpk_` and base64 for v1a",
    retries: "as the sender decides; the specification recommends ten times within some days",
    signed_anew: Some(true),
    setup: &[
        "Give the sender this URL: {url}",
        "Store the signing secret, `whsec_..`, or the public key, `whpk_..`.",
    ],
    notes: &[],
};

/// 27 hours and 35 minutes after the first.
const SVIX_RETRIES: Option<SignedDuration> = hours(28);

const SVIX: About = About {
    second_hand: false,
    documents: &[
        "https://docs.svix.com/receiving/verifying-payloads/how-manual",
        "https://docs.svix.com/retries",
    ],
    secret: "the endpoint's signing secret, `whsec_..`",
    retries: "after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h; an endpoint that fails for 5 days is disabled",
    setup: &[
        "Add an endpoint with this URL: {url}",
        "Copy its signing secret, `whsec_..`, and store it.",
    ],
    ..STANDARD
};

/// Headers `NAME-id`, `NAME-timestamp` and `NAME-signature`. The time is that of the attempt.
pub(in crate::verify) fn standard_webhooks(names: &[&str]) -> Facts {
    let headers = |end: &str| -> Vec<Location> {
        names
            .iter()
            .map(|name| Location::Header(format!("{name}-{end}")))
            .collect()
    };
    let ids: Vec<String> = names.iter().map(|name| format!("header:{name}-id")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    Facts {
        signature: headers("signature"),
        form: Form::Versioned,
        signed: template([Part::Id, text("."), Part::Timestamp, text("."), Part::Body]),
        time: Some(Time {
            places: headers("timestamp"),
            unit: TimeUnit::Seconds,
            late: false,
        }),
        tolerance: FIVE_MINUTES,
        key: KeyForm::StandardWebhooks,
        id: id(&ids),
        kind: kind(&[&["/type", "/event_type", "/eventType"]], ""),
        occurred_at: places(&["/timestamp"]),
        occurred_when_signed: true,
        timeout: after(15),
        about: STANDARD,
        ..Facts::plain("", Encoding::Base64)
    }
}
