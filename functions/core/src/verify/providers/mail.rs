//! Mail and telephony: SendGrid, Mailgun, Twilio.

use super::{FIVE_MINUTES, after, at, hours, id, ids, kind, places, scope, template};
use crate::verify::{
    VerifyError,
    facts::{About, Batch, Content, Facts, KeyForm, Proof, Provider, Time, UrlForms},
    jwt,
    scheme::{Algorithm, Encoding, TimeUnit},
    signed::Part,
    url,
    view::View,
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "sendgrid",
        title: "SendGrid",
        facts: sendgrid,
    },
    Provider {
        name: "mailgun",
        title: "Mailgun",
        facts: mailgun,
    },
    Provider {
        name: "twilio",
        title: "Twilio",
        facts: twilio,
    },
];

/// The time is only text to SendGrid's own libraries: it is signed, and read where a tolerance is set.
fn sendgrid() -> Facts {
    Facts {
        proof: Proof::P256 { der: true },
        key: KeyForm::P256,
        signed: template([Part::Timestamp, Part::Body]),
        time: Some(Time {
            places: places(&["header:X-Twilio-Email-Event-Webhook-Timestamp"]),
            unit: TimeUnit::Seconds,
            late: true,
        }),
        batch: Batch::List { at: "", within: "" },
        id: id(&["/sg_event_id"]),
        kind: kind(&[&["/event"]], ""),
        occurred_at: places(&["/timestamp"]),
        about: About {
            second_hand: false,
            documents: &[
                "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
                "https://github.com/sendgrid/sendgrid-nodejs/tree/main/packages/eventwebhook",
            ],
            secret: "the webhook's public key: base64 as shown, or PEM",
            retries: "",
            signed_anew: None,
            setup: &[
                "Settings > Mail Settings > Event Webhooks > Create new webhook.",
                "Post URL: {url}; enable Signed Event Webhook and save.",
                "Copy the verification key and store it.",
            ],
            notes: &["The body ends with CRLF, which is signed: nothing on the way may trim it."],
        },
        ..Facts::plain("X-Twilio-Email-Event-Webhook-Signature", Encoding::Base64)
    }
}

/// Signs a time and a random token, and nothing of the event.
fn mailgun() -> Facts {
    Facts {
        signature: places(&["/signature/signature"]),
        signed: template([at("/signature/timestamp"), at("/signature/token")]),
        rule: Some(mailgun_token),
        time: Some(Time {
            places: places(&["/signature/timestamp"]),
            unit: TimeUnit::Seconds,
            late: false,
        }),
        tolerance: FIVE_MINUTES,
        id: id(&["/event-data/id"]),
        token: Some("/signature/token"),
        kind: kind(&[&["/event-data/event"]], ""),
        occurred_at: places(&["/event-data/timestamp"]),
        retried_for: hours(8),
        about: About {
            second_hand: false,
            documents: &[
                "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
                "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-retries",
            ],
            secret: "the HTTP webhook signing key, as it stands",
            retries: "after 5, 10 and 15 minutes, 1, 2 and 4 hours",
            signed_anew: None,
            setup: &[
                "Sending > Webhooks > Add webhook: {url}",
                "API Security > HTTP webhook signing key: store it.",
            ],
            notes: &[
                "The event is not signed, only a time and a token. As Mailgun asks, a token serves once: an event whose \
                 token came before with another event or body is held, without effects. Who sees a request before it \
                 arrives can still change it. Check what matters with Mailgun's API.",
            ],
        },
        ..Facts::plain("", Encoding::Hex)
    }
}

fn mailgun_token(view: &View<'_>) -> Result<(), VerifyError> {
    let token = view.text(&places(&["/signature/token"]));
    token.map(drop).ok_or(VerifyError::MalformedPayload)
}

/// Signs the URL with the form's fields, or the URL with the body's hash in it.
fn twilio() -> Facts {
    Facts {
        proof: Proof::Hmac(Algorithm::Sha1),
        signed: template([Part::Url, Part::Form]),
        url: UrlForms::Twilio,
        rule: Some(twilio_body),
        content: Content::JsonOrForm,
        id: ids(
            &[
                "/MessageSid",
                "/CallSid",
                "/RecordingSid",
                "/ConferenceSid",
                "/SmsSid",
                "/FaxSid",
                "/RoomSid",
                "/Sid",
                "/id",
            ],
            &[
                &[
                    "/MessageStatus",
                    "/CallStatus",
                    "/RecordingStatus",
                    "/StatusCallbackEvent",
                    "/SmsStatus",
                    "/EventType",
                ],
                &["/SequenceNumber"],
            ],
        ),
        kind: kind(
            &[&[
                "/EventType",
                "/StatusCallbackEvent",
                "/MessageStatus",
                "/CallStatus",
                "/RecordingStatus",
                "/SmsStatus",
                "/type",
            ]],
            "",
        ),
        occurred_at: places(&["/Timestamp"]),
        scope: scope(&[&["/AccountSid"]]),
        timeout: after(15),
        about: About {
            second_hand: false,
            documents: &[
                "https://www.twilio.com/docs/usage/security#validating-requests",
                "https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides",
                "https://github.com/twilio/twilio-node/blob/main/src/webhooks/webhooks.ts",
            ],
            secret: "the account's auth token, as it stands",
            retries: "",
            signed_anew: None,
            setup: &[
                "Give {url} as webhook or status callback of the number, service or call.",
                "The same text as `public_url` in oncehook.toml.",
                "Console > Account > API keys & tokens: store the auth token (primary and secondary during a rotation).",
            ],
            notes: &[
                "Callbacks have no id: the resource, its status and the sequence number stand for it.",
                "The URL is tried with and without its port, and with apostrophes escaped or not.",
            ],
        },
        ..Facts::plain("X-Twilio-Signature", Encoding::Base64)
    }
}

/// A body that is no form has to be the one whose hash the signed URL names.
fn twilio_body(view: &View<'_>) -> Result<(), VerifyError> {
    let body = &view.request.body;
    if body.is_empty() || view.is_form() {
        return Ok(());
    }
    let urls = view.urls(UrlForms::Plain);
    let hash = urls.first().and_then(|url| url::parameter(url, "bodySHA256"));
    jwt::body_hash(body, hash.ok_or(VerifyError::MissingBodyHash)?)
}
