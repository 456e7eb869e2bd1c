//! Billing and books: Lemon Squeezy, Recurly, Xero.

use super::{FIVE_MINUTES, after, handshake, hours, ids, kind, or_hash, places, scope, template, text, time};
use crate::verify::{
    facts::{About, Answer, Batch, Facts, Form, IdPart, Mark, Provider},
    scheme::{Encoding, TimeUnit},
    signed::Part,
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "lemon-squeezy",
        title: "Lemon Squeezy",
        facts: lemon_squeezy,
    },
    Provider {
        name: "recurly",
        title: "Recurly (JSON)",
        facts: recurly,
    },
    Provider {
        name: "xero",
        title: "Xero",
        facts: xero,
    },
];

/// `/data/id` is the resource's, so it is only a part of the id.
fn lemon_squeezy() -> Facts {
    Facts {
        id: [
            ids(&["/meta/event_name"], &[&["/data/type"], &["/data/id"]]),
            or_hash(&["/data/attributes/updated_at"]),
        ]
        .concat(),
        kind: kind(&[&["/meta/event_name"]], ""),
        occurred_at: places(&["/data/attributes/updated_at"]),
        scope: scope(&[&["/data/attributes/store_id"]]),
        retried_for: hours(1),
        about: About {
            documents: &[
                "https://docs.lemonsqueezy.com/help/webhooks/signing-requests",
                "https://docs.lemonsqueezy.com/help/webhooks/webhook-requests",
                "https://github.com/lmsqueezy/laravel/blob/0ca551671d1d/src/Http/Middleware/VerifyWebhookSignature.php",
            ],
            secret: "the webhook's signing secret (6 to 40 characters), as it stands",
            retries: "3 times, after about 5, 25 and 125 seconds",
            signed_anew: None,
            setup: &[
                "Store > Settings > Webhooks > add one: callback URL {url}",
                "Enter a signing secret of your own and store the same; choose the events.",
            ],
            notes: &[
                "An event has no id: its name, resource and time of change stand for it, or its hash where it has \
                 no such time.",
                "Any answer but 200 is tried again three times within minutes, and then given up.",
            ],
            ..About::default()
        },
        ..Facts::plain("X-Signature", Encoding::Hex)
    }
}

/// `MILLISECONDS,SIGNATURE,..`; the secret looks like hex and is text.
fn recurly() -> Facts {
    Facts {
        form: Form::Timed { separator: ',' },
        signed: template([Part::Timestamp, text("."), Part::Body]),
        time: time("", TimeUnit::Milliseconds),
        tolerance: FIVE_MINUTES,
        id: ids(&["/id"], &[&["/object_type"], &["/event_type"], &["/event_time"]]),
        kind: kind(&[&["/object_type"], &["/event_type"]], "."),
        occurred_at: places(&["/event_time"]),
        scope: scope(&[&["/site_id"]]),
        about: About {
            documents: &[
                "https://docs.recurly.com/recurly-subscriptions/docs/signature-verification",
                "https://docs.recurly.com/recurly-subscriptions/docs/automatic-retries",
                "https://github.com/recurly/recurly-client-ruby/blob/5233e1b071f8/lib/recurly/webhooks.rb",
            ],
            secret: "the endpoint's secret key, as it stands (it is not decoded)",
            retries: "up to 10 times, with growing pauses",
            signed_anew: None,
            setup: &[
                "Integrations > Webhooks > add an endpoint: {url}, format JSON.",
                "Copy the endpoint's secret key and store it.",
            ],
            notes: &[
                "Only JSON notifications are signed: those in XML are refused.",
                "/id is the object's: what happened to it, and when, are the rest of the event's id.",
            ],
            ..About::default()
        },
        ..Facts::plain("recurly-signature", Encoding::LowerHex)
    }
}

/// The key looks like base64 and is text. Xero tries the endpoint with good and bad signatures: 200 and 401.
fn xero() -> Facts {
    Facts {
        batch: Batch::List {
            at: "/events",
            within: "",
        },
        handshakes: vec![handshake(&[Mark::Empty("/events")], Answer::Empty)],
        id: [
            ids(
                &["/resourceId"],
                &[&["/tenantId"], &["/eventCategory"], &["/eventType"]],
            ),
            vec![IdPart::OrHash(places(&["/eventDateUtc"]))],
        ]
        .concat(),
        kind: kind(&[&["/eventCategory"], &["/eventType"]], "."),
        occurred_at: places(&["/eventDateUtc"]),
        scope: scope(&[&["/tenantId"]]),
        timeout: after(5),
        retried_for: hours(24),
        about: About {
            documents: &[
                "https://developer.xero.com/documentation/webhooks/configuring-your-server",
                "https://github.com/XeroAPI/XeroWebhooksReceiver",
            ],
            secret: "the app's webhook key, as it stands (it is not decoded)",
            retries: "less and less often for 24 hours; then the webhook is disabled",
            signed_anew: Some(false),
            setup: &[
                "developer.xero.com > My Apps > your app > Webhooks: delivery URL {url}, then categories.",
                "Copy the webhook key and store it first; then \"Send intent to receive\".",
            ],
            notes: &[
                "The intent to receive is a series of requests without events, some of them wrongly signed: they are \
                 answered with 200 and 401, as Xero wants it.",
            ],
            ..About::default()
        },
        ..Facts::plain("x-xero-signature", Encoding::Base64)
    }
}
