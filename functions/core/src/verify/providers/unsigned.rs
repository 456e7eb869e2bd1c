//! Providers that sign nothing and send a secret along: Chargebee, Postmark, Microsoft Graph.

use super::{after, hours, id, ids, kind, or_hash, places, prefixed, scope};
use crate::verify::{
    facts::{About, Batch, Challenge, Facts, Proof, Provider},
    scheme::Encoding,
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "chargebee",
        title: "Chargebee",
        facts: chargebee,
    },
    Provider {
        name: "postmark",
        title: "Postmark",
        facts: postmark,
    },
    Provider {
        name: "microsoft-graph",
        title: "Microsoft Graph (basic notifications)",
        facts: microsoft_graph,
    },
];

/// `Basic`, then base64 of `USER:PASSWORD`.
fn basic() -> Facts {
    Facts {
        form: prefixed("Basic "),
        proof: Proof::SharedSecret,
        ..Facts::plain("Authorization", Encoding::Base64)
    }
}

fn chargebee() -> Facts {
    Facts {
        id: id(&["/id"]),
        kind: kind(&[&["/event_type"]], ""),
        occurred_at: places(&["/occurred_at"]),
        retried_for: hours(80),
        about: About {
            documents: &[
                "https://apidocs.chargebee.com/docs/api/events",
                "https://www.chargebee.com/docs/2.0/webhook_settings.html",
            ],
            secret: "USER:PASSWORD, as entered at Chargebee",
            retries: "with growing pauses; the last one about 3 days and 7 hours after the event",
            signed_anew: None,
            setup: &[
                "Settings > Configure Chargebee > API Keys and Webhooks > Webhooks > Add Webhook: {url}",
                "\"Protect webhook URL with basic authentication\": a user and a long password; store USER:PASSWORD.",
            ],
            notes: &[
                "Nothing is signed: whoever sees one request can make others.",
                "Keep ids (`keys_for`) for four days at least: Chargebee asks for 3 days and 7 hours.",
            ],
            ..About::default()
        },
        ..basic()
    }
}

fn postmark() -> Facts {
    Facts {
        id: or_hash(&["header:X-PM-Webhook-Trace-Id"]),
        kind: kind(&[&["/RecordType"]], ""),
        occurred_at: places(&["/DeliveredAt", "/BouncedAt", "/ReceivedAt", "/ChangedAt"]),
        scope: scope(&[&["/ServerID"], &["/MessageStream"]]),
        retried_for: hours(11),
        about: About {
            documents: &[
                "https://postmarkapp.com/developer/webhooks/webhooks-overview",
                "https://github.com/ActiveCampaign/postmark-skills/blob/1d8f3680d159/postmark-webhooks/SKILL.md",
            ],
            secret: "USER:PASSWORD, as entered at Postmark",
            retries: "6 times within 70 minutes after 5xx, 408, 429 and none at all; inbound mail 10 times within 10.5 \
                      hours",
            signed_anew: None,
            setup: &[
                "Store USER:PASSWORD first: Postmark tries the URL when it is saved.",
                "Server > Message stream > Webhooks > Add webhook: {url}, with basic authentication.",
            ],
            notes: &[
                "Nothing is signed: whoever sees one request can make others.",
                "Postmark drops an event for good after any 4xx but 408 and 429: a wrong password loses events. A \
                 source without a secret answers 503, which does not.",
            ],
            ..About::default()
        },
        ..basic()
    }
}

/// Every element has the secret of its subscription.
fn microsoft_graph() -> Facts {
    Facts {
        signature: places(&["/clientState"]),
        proof: Proof::SharedSecret,
        per_element: true,
        batch: Batch::List {
            at: "/value",
            within: "",
        },
        challenge: Some(Challenge::Graph),
        id: [or_hash(&["/id"]), ids(&["/subscriptionId"], &[])].concat(),
        kind: kind(
            &[
                &["/resourceData/@odata.type"],
                &["/changeType", "/lifecycleEvent"],
            ],
            ".",
        ),
        scope: scope(&[&["/tenantId"]]),
        timeout: after(3),
        retried_for: hours(4),
        about: About {
            documents: &[
                "https://learn.microsoft.com/graph/change-notifications-delivery-webhooks",
                "https://github.com/microsoftgraph/microsoft-graph-docs-contrib/blob/01c641aced94/concepts/change-notifications-delivery-webhooks.md",
            ],
            secret: "the subscription's clientState, as it stands; one for each subscription",
            retries: "for up to 4 hours, with growing pauses, after 5xx and none at all",
            signed_anew: None,
            setup: &[
                "POST /v1.0/subscriptions of Graph's API: notificationUrl and lifecycleNotificationUrl are {url}",
                "Give a long random clientState and store the same. Renew subscriptions before they expire.",
            ],
            notes: &[
                "Nothing is signed: whoever sees one request can make others. Read what changed from Graph's API.",
                "Notifications with resource data (encrypted, with validationTokens) are not decrypted.",
                "If too many answers are slow, Graph drops notifications.",
            ],
            ..About::default()
        },
        ..Facts::plain("", Encoding::Text)
    }
}
