//! Work done together: Typeform, Calendly, DocuSign, Asana, Jira, Bitbucket.

use super::{after, handshake, hours, id, ids, kind, or_hash, places, prefixed, scope, template, text, time};
use crate::verify::{
    facts::{About, Answer, Batch, Challenge, Facts, Form, Mark, Provider},
    scheme::{Encoding, TimeUnit},
    signed::{Location, Part},
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "typeform",
        title: "Typeform",
        facts: typeform,
    },
    Provider {
        name: "calendly",
        title: "Calendly",
        facts: calendly,
    },
    Provider {
        name: "docusign",
        title: "DocuSign Connect (HMAC, JSON)",
        facts: docusign,
    },
    Provider {
        name: "asana",
        title: "Asana",
        facts: asana,
    },
    Provider {
        name: "jira",
        title: "Jira Cloud (webhooks with a secret)",
        facts: jira,
    },
    Provider {
        name: "bitbucket",
        title: "Bitbucket Cloud",
        facts: bitbucket,
    },
];

fn typeform() -> Facts {
    Facts {
        form: prefixed("sha256="),
        id: id(&["/event_id"]),
        kind: kind(&[&["/event_type"]], ""),
        occurred_at: places(&["/form_response/submitted_at"]),
        scope: scope(&[&["/form_response/form_id"]]),
        timeout: after(30),
        retried_for: hours(10),
        about: About {
            documents: &[
                "https://www.typeform.com/developers/webhooks/",
                "https://gist.github.com/picsoung/b56e19fbd979c7b30ff50a5e546ffa62",
            ],
            second_hand: true,
            secret: "the webhook's secret, as it stands",
            retries: "after 408, 423, 429 and 503 every 2 or 3 minutes for 10 hours; after others a few times",
            signed_anew: None,
            setup: &[
                "Form > Connect > Webhooks > Add a webhook: {url}",
                "Edit > Secret: enter one of your own and store the same; then turn the webhook on.",
            ],
            notes: &[
                "404 and 410 disable the webhook at once: do not take the source away before the webhook.",
            ],
        },
        ..Facts::plain("Typeform-Signature", Encoding::Base64)
    }
}

fn calendly() -> Facts {
    Facts {
        form: Form::Pairs {
            separator: ',',
            time: "t",
            signature: "v1",
            needed: true,
        },
        signed: template([Part::Timestamp, text("."), Part::Body]),
        time: time("", TimeUnit::Seconds),
        id: [or_hash(&["/payload/uri"]), ids(&["/event"], &[&["/created_at"]])].concat(),
        kind: kind(&[&["/event"]], ""),
        occurred_at: places(&["/created_at"]),
        scope: scope(&[&["/created_by"]]),
        timeout: after(15),
        retried_for: hours(24),
        about: About {
            documents: &[
                "https://developer.calendly.com/api-docs/overview/webhooks/webhook-signatures",
                "https://developer.calendly.com/api-docs/overview/webhooks/webhook-timeouts",
            ],
            secret: "the subscription's signing key, as it stands",
            retries: "for 24 hours, with growing pauses; then the subscription is disabled and has to be made anew",
            signed_anew: None,
            setup: &[
                "POST /webhook_subscriptions of Calendly's API: `url` is {url}, with a `signing_key` of your own.",
                "Store the same key first: Calendly never shows it again, and without one signs nothing.",
            ],
            notes: &[
                "410 deletes the subscription at once.",
                "Calendly does not say that it signs retries anew, so no age is refused unless the source sets \
                 `tolerance`; its sample takes 3 minutes.",
                "An event has no id: its subject, kind and time stand for it.",
            ],
            ..About::default()
        },
        ..Facts::plain("Calendly-Webhook-Signature", Encoding::Hex)
    }
}

/// One header for each key that is set up. A key looks like base64 and is text.
fn docusign() -> Facts {
    Facts {
        signature: (1..=10)
            .map(|number| Location::Header(format!("X-DocuSign-Signature-{number}")))
            .collect(),
        form: Form::Each,
        id: [
            ids(&["/data/envelopeId"], &[&["/event"], &["/data/recipientId"]]),
            or_hash(&["/generatedDateTime"]),
        ]
        .concat(),
        kind: kind(&[&["/event"]], ""),
        occurred_at: places(&["/generatedDateTime"]),
        scope: scope(&[&["/data/accountId"]]),
        about: About {
            documents: &[
                "https://developers.docusign.com/platform/webhooks/connect/setting-up-hmac",
                "https://developers.docusign.com/platform/webhooks/connect/validate",
                "https://github.com/docusign/code-examples-node/blob/0be034e04b27/lib/connect/examples/validateWebhookMessage.js",
            ],
            secret: "a Connect key, as it stands (it is not decoded); any number of them",
            retries: "for days, if \"Require acknowledgement\" is on",
            signed_anew: None,
            setup: &[
                "Admin > Connect > Connect Keys > Add Secret Key: shown once; store it.",
                "Connect > your configuration: URL {url}, format JSON, \"Include HMAC Signature\", \"Require \
                 acknowledgement\", and one message per event.",
            ],
            notes: &[
                "The first ten keys' headers are looked at.",
                "An event has no id: the envelope, the event, the recipient and the time at which it was written \
                 stand for it. These fields' names are known from others, and that a retry \
                 keeps this time is not said: if it does not, the retry is an event of its own.",
            ],
            ..About::default()
        },
        ..Facts::plain("", Encoding::Base64)
    }
}

/// The secret looks like hex and is text. Asana makes it, and hands it over in the answer of its API as well.
fn asana() -> Facts {
    Facts {
        batch: Batch::List {
            at: "/events",
            within: "",
        },
        handshakes: vec![handshake(&[Mark::Empty("/events")], Answer::Empty)],
        challenge: Some(Challenge::Asana),
        id: [
            ids(
                &["/resource/gid"],
                &[&["/action"], &["/parent/gid"], &["/change/field"], &["/user/gid"]],
            ),
            or_hash(&["/created_at"]),
        ]
        .concat(),
        kind: kind(&[&["/resource/resource_type"], &["/action"]], "."),
        occurred_at: places(&["/created_at"]),
        timeout: after(10),
        retried_for: hours(24),
        about: About {
            documents: &[
                "https://developers.asana.com/docs/webhooks-guide",
                "https://developers.asana.com/reference/createwebhook",
                "https://github.com/Asana/devrel-examples/blob/18667c527ab4/python/webhooks/webhook_inspector.py",
            ],
            second_hand: false,
            secret: "the X-Hook-Secret of the webhook, as it stands (it is not decoded); one for each webhook",
            retries: "for 24 hours; what was not taken by then is lost",
            signed_anew: Some(false),
            setup: &[
                "Set `enrol_until` in the source to a quarter of an hour from now, and deploy.",
                "POST /webhooks of Asana's API with `resource` and `target` {url}: Oncehook answers the request with the \
                 secret meanwhile.",
                "Store the X-Hook-Secret of the API's answer, then take `enrol_until` away again.",
            ],
            notes: &[
                "A list without elements is Asana's sign of life.",
                "An event has no id: its resource, action, parent, field, user and time stand for it. These fields' names \
                 are known from others.",
            ],
        },
        ..Facts::plain("X-Hook-Signature", Encoding::LowerHex)
    }
}

/// The webhooks of an app (Connect, OAuth) carry a token instead, and are no part of this.
fn jira() -> Facts {
    Facts {
        form: prefixed("sha256="),
        id: id(&["header:X-Atlassian-Webhook-Identifier"]),
        kind: kind(&[&["/webhookEvent"]], ""),
        occurred_at: places(&["/timestamp"]),
        retried_for: hours(1),
        about: About {
            documents: &[
                "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
                "https://community.developer.atlassian.com/t/new-jira-cloud-webhook-retry-policy/30554",
                "https://trigger.dev/docs/webhooks/providers/jira",
                "https://nango.dev/docs/api-integrations/jira/webhooks",
            ],
            second_hand: true,
            secret: "the webhook's secret, as it stands",
            retries: "after 408, 409, 425, 429, 5xx and none at all; up to 30 minutes late",
            signed_anew: None,
            setup: &[
                "Jira > System > WebHooks > Create a WebHook: URL {url}, then events.",
                "Enter a secret of your own and store the same: without one nothing is signed.",
            ],
            notes: &[
                "The webhooks of Connect and OAuth apps carry a JWT instead of this signature: they are refused.",
            ],
        },
        ..Facts::plain("X-Hub-Signature", Encoding::LowerHex)
    }
}

/// Data Center has the same signature and another id.
fn bitbucket() -> Facts {
    Facts {
        form: prefixed("sha256="),
        id: id(&["header:X-Request-UUID", "header:X-Request-Id"]),
        kind: kind(&[&["header:X-Event-Key"]], ""),
        scope: scope(&[&["/repository/uuid"]]),
        about: About {
            documents: &[
                "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/",
                "https://bitbucket.org/blog/enhanced-webhook-security",
                "https://github.com/hookdeck/webhook-skills/blob/0693eebc9391/skills/bitbucket-webhooks/references/verification.md",
            ],
            second_hand: true,
            secret: "the webhook's secret, as it stands",
            retries: "",
            signed_anew: None,
            setup: &[
                "Repository settings > Webhooks > Add webhook: URL {url}, then triggers.",
                "Enter a secret of your own and store the same: without one nothing is signed.",
            ],
            notes: &["The kind is in a header that is not signed."],
        },
        ..Facts::plain("X-Hub-Signature", Encoding::LowerHex)
    }
}
