//! Talk: Slack, Discord, Zoom, Twitch, Meta and WhatsApp.

use super::{
    FIVE_MINUTES, after, handshake, hours, id, ids, kind, places, prefixed, scope, template, text, time,
};
use crate::verify::{
    facts::{About, Answer, Batch, Challenge, Content, Facts, IdPart, KeyForm, Mark, Proof, Provider},
    scheme::{Encoding, TimeUnit},
    signed::Part,
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "slack",
        title: "Slack",
        facts: slack,
    },
    Provider {
        name: "discord",
        title: "Discord",
        facts: discord,
    },
    Provider {
        name: "zoom",
        title: "Zoom",
        facts: zoom,
    },
    Provider {
        name: "twitch",
        title: "Twitch EventSub",
        facts: twitch,
    },
    Provider {
        name: "meta",
        title: "Meta (WhatsApp, Messenger, Instagram, Pages)",
        facts: meta,
    },
    Provider {
        name: "whatsapp",
        title: "WhatsApp",
        facts: meta,
    },
];

/// Events, slash commands and interactions; commands and interactions are forms.
fn slack() -> Facts {
    Facts {
        form: prefixed("v0="),
        signed: template([text("v0:"), Part::Timestamp, text(":"), Part::Body]),
        time: time("X-Slack-Request-Timestamp", TimeUnit::Seconds),
        tolerance: FIVE_MINUTES,
        content: Content::JsonOrPayload,
        handshakes: vec![handshake(
            &[Mark::Text("/type", "url_verification")],
            Answer::Echo("/challenge"),
        )],
        id: id(&["/event_id", "/trigger_id"]),
        kind: kind(&[&["/type", "/command"], &["/event/type"]], "/"),
        occurred_at: places(&["/event_time"]),
        scope: scope(&[&["/team_id", "/team/id", "/enterprise/id"]]),
        timeout: after(3),
        retried_for: hours(1),
        about: About {
            second_hand: false,
            documents: &[
                "https://docs.slack.dev/authentication/verifying-requests-from-slack",
                "https://docs.slack.dev/apis/events-api/",
                "https://github.com/slackapi/python-slack-sdk",
            ],
            secret: "the app's signing secret, as it stands",
            retries: "3 times: at once, after 1 minute, after 5 minutes",
            signed_anew: Some(true),
            setup: &[
                "api.slack.com/apps > your app > Basic Information: store the signing secret first.",
                "Event Subscriptions > Request URL: {url}; Slack asks it at once.",
                "The same URL serves Slash Commands and Interactivity.",
            ],
            notes: &[],
        },
        ..Facts::plain("X-Slack-Signature", Encoding::Hex)
    }
}

/// Interactions have an id; webhook events have none.
fn discord() -> Facts {
    Facts {
        proof: Proof::Ed25519,
        key: KeyForm::Ed25519,
        signed: template([Part::Timestamp, Part::Body]),
        time: time("X-Signature-Timestamp", TimeUnit::Seconds),
        handshakes: vec![
            handshake(&[Mark::Number("/type", 0)], Answer::NoContent),
            handshake(
                &[Mark::Number("/type", 1), Mark::Absent("/event")],
                Answer::Json("{\"type\":1}"),
            ),
        ],
        id: ids(
            &["/id", "/event/type"],
            &[
                &["/event/timestamp"],
                &["/application_id"],
                &["/event/data/id", "/event/data/user/id", "/event/data/user_id"],
                &["/event/data/guild/id", "/event/data/sku_id"],
            ],
        ),
        kind: kind(&[&["/event/type", "/type"]], ""),
        occurred_at: places(&["/event/timestamp"]),
        scope: vec![],
        success: 204,
        timeout: after(3),
        retried_for: hours(1),
        about: About {
            second_hand: false,
            documents: &[
                "https://docs.discord.com/developers/events/webhook-events",
                "https://docs.discord.com/developers/interactions/overview",
                "https://github.com/discord/discord-interactions-js",
            ],
            secret: "the application's public key, in hex",
            retries: "webhook events: exponential backoff, up to 10 minutes",
            signed_anew: None,
            setup: &[
                "Developer Portal > your application > General Information: store the public key first.",
                "Webhooks > Endpoint: {url}, then switch events on. Discord asks it at once, with wrong signatures too.",
            ],
            notes: &[
                "For interactions set `success = 200` and give the answer as the rule's response.",
                "Webhook events have no id: their kind, time and subject stand for it.",
            ],
        },
        ..Facts::plain("X-Signature-Ed25519", Encoding::Hex)
    }
}

fn zoom() -> Facts {
    Facts {
        form: prefixed("v0="),
        signed: template([text("v0:"), Part::Timestamp, text(":"), Part::Body]),
        time: time("x-zm-request-timestamp", TimeUnit::Seconds),
        handshakes: vec![handshake(
            &[Mark::Text("/event", "endpoint.url_validation")],
            Answer::Token("/payload/plainToken"),
        )],
        id: ids(
            &["/event"],
            &[
                &["/event_ts"],
                &["/payload/account_id"],
                &["/payload/object/uuid", "/payload/object/id"],
                &[
                    "/payload/object/participant/participant_uuid",
                    "/payload/object/participant/user_id",
                    "/payload/object/participant/id",
                ],
            ],
        ),
        kind: kind(&[&["/event"]], ""),
        occurred_at: places(&["/event_ts"]),
        scope: scope(&[&["/payload/account_id"]]),
        timeout: after(3),
        retried_for: hours(2),
        about: About {
            second_hand: false,
            documents: &[
                "https://developers.zoom.us/docs/api/webhooks/",
                "https://developers.zoom.us/changelog/platform/webhook-url-validation.md",
                "https://github.com/zoom/webhook-sample",
            ],
            secret: "the app's secret token, as it stands",
            retries: "3 times: after 5, 20 and 60 minutes",
            signed_anew: None,
            setup: &[
                "Marketplace > Manage > your app > Features > Access: store the secret token first.",
                "Event Subscriptions > Add: event notification endpoint URL {url}, then Validate.",
                "Zoom validates again every 72 hours.",
            ],
            notes: &["Events have no id: event, event_ts, account, object and participant stand for it."],
        },
        ..Facts::plain("x-zm-signature", Encoding::LowerHex)
    }
}

fn twitch() -> Facts {
    Facts {
        form: prefixed("sha256="),
        signed: template([Part::Id, Part::Timestamp, Part::Body]),
        time: time("Twitch-Eventsub-Message-Timestamp", TimeUnit::Rfc3339),
        tolerance: after(600),
        handshakes: vec![handshake(
            &[Mark::Header(
                "Twitch-Eventsub-Message-Type",
                "webhook_callback_verification",
            )],
            Answer::Echo("/challenge"),
        )],
        id: id(&["header:Twitch-Eventsub-Message-Id"]),
        kind: kind(
            &[&["header:Twitch-Eventsub-Subscription-Type", "/subscription/type"]],
            "",
        ),
        occurred_when_signed: true,
        about: About {
            second_hand: false,
            documents: &[
                "https://dev.twitch.tv/docs/eventsub/handling-webhook-events",
                "https://dev.twitch.tv/docs/eventsub/",
            ],
            secret: "the secret that you gave the subscription (10 to 100 characters), as it stands",
            retries: "some times if no answer comes; after too many failures the subscription is revoked",
            signed_anew: None,
            setup: &[
                "Create EventSub Subscription: transport method webhook, callback {url}, secret of your own.",
                "Store the same secret. Twitch asks the callback at once.",
            ],
            notes: &[
                "A revocation is an event of the subscription's kind; the header Twitch-Eventsub-Message-Type \
                      tells it, `/subscription/status` says why.",
            ],
        },
        ..Facts::plain("Twitch-Eventsub-Message-Signature", Encoding::Hex)
    }
}

/// One delivery holds many messages. Each becomes an event with the delivery around it, reduced to that one.
fn meta() -> Facts {
    const MESSAGE: &str = "/entry/0/changes/0/value/messages/0";
    const STATUS: &str = "/entry/0/changes/0/value/statuses/0";
    let within = |start: &str, end: &str| format!("{start}{end}");
    let (message_id, status_id) = (within(MESSAGE, "/id"), within(STATUS, "/id"));
    let (message_type, status) = (within(MESSAGE, "/type"), within(STATUS, "/status"));
    Facts {
        form: prefixed("sha256="),
        challenge: Some(Challenge::Hub),
        batch: Batch::Meta,
        id: vec![
            IdPart::OrHash(places(&[
                &message_id,
                &status_id,
                "/entry/0/messaging/0/message/mid",
                "/entry/0/messaging/0/postback/mid",
                "/entry/0/standby/0/message/mid",
            ])),
            IdPart::Also(places(&[&status])),
        ],
        kind: kind(
            &[
                &["/entry/0/changes/0/field", "/object"],
                &[&message_type, &status],
            ],
            ".",
        ),
        occurred_at: places(&[
            &within(MESSAGE, "/timestamp"),
            &within(STATUS, "/timestamp"),
            "/entry/0/messaging/0/timestamp",
            "/entry/0/standby/0/timestamp",
            "/entry/0/time",
        ]),
        scope: scope(&[&["/entry/0/id"]]),
        about: About {
            second_hand: false,
            documents: &[
                "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
                "https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/create-webhook-endpoint",
            ],
            secret: "the app's secret, as it stands",
            retries: "",
            signed_anew: None,
            setup: &[
                "App Dashboard > App settings > Basic: store the app secret first.",
                "Choose a verify token, store it under a name of its own and give that name as `verify_token`.",
                "Webhooks > Configuration: callback URL {url} and that verify token. Meta asks it at once, by GET.",
            ],
            notes: &[
                "Each message, status or change is an event; its body is the delivery reduced to that one, written anew \
                 with sorted keys.",
                "Changes without an id are known by their hash.",
            ],
        },
        ..Facts::plain("X-Hub-Signature-256", Encoding::Hex)
    }
}
