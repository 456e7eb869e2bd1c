//! Svix and Telnyx, and HubSpot's single-send.

use jiff::SignedDuration;

use super::{Keys, Paths, Preset, Spot, Wait, cited, read};

pub(super) const ALL: &[Preset] = &[SVIX, TELNYX, HUBSPOT_SEND];

const SVIX: Preset = Preset {
    name: "svix",
    title: "Svix",
    url: "https://api.{region}.svix.com/api/v1/app/{app}/msg/",
    keys: Some(Keys {
        retention: Some(SignedDuration::from_hours(12)),
        kept: "up to 12 hours",
        stores_errors: Some(false),
        other_body: "not compared: the first answer comes back and the new body is lost",
        in_flight: "waits up to 5 seconds for the first answer; then it runs (open-source server)",
        ..Keys::NEW
    }),
    gap: SignedDuration::from_secs(6),
    notes: &[
        "A key belongs to the token and the URL: a token changed between two attempts can send twice. Rotate it while nothing is open.",
        "Give the message an `eventId` as well: by it, a person can look the message up before resending.",
        "\"Up to\" 12 hours names no lower bound. Set a shorter idempotency.retention if that is too vague for you.",
    ],
    facts: &[
        read(
            "header, POST, successes only, same token, up to 12 hours",
            "https://docs.svix.com/idempotency",
        ),
        read(
            "scope, waiting, the lock of 5 seconds",
            "svix/svix-webhooks, server/svix-server/src/core/idempotency.rs at ef43606",
        ),
        cited("eventId", "https://github.com/svix/svix-webhooks/issues/1455"),
    ],
    ..Preset::NEW
};

const TELNYX: Preset = Preset {
    name: "telnyx",
    title: "Telnyx",
    url: "https://api.telnyx.com/v2/{..}",
    paths: Paths::NotEnd("/messages"),
    keys: Some(Keys {
        longest: Some(255),
        retention: Some(SignedDuration::from_hours(24)),
        kept: "up to 24 hours",
        stores_errors: Some(false),
        other_body: "422",
        ..Keys::NEW
    }),
    wait: Some(Wait {
        header: "x-ratelimit-reset",
        epoch: false,
    }),
    notes: &[
        "Only for endpoints whose reference declares the header. Of POST /v2/messages that is not confirmed, so the preset refuses it: describe it without a preset, with on_ambiguous = \"park\".",
        "Bodies are compared byte by byte; every attempt sends the same bytes.",
        "A 422 can also be a wrong request: it is dead, or parked if an earlier attempt may have acted.",
    ],
    facts: &[
        read(
            "header, unquoted, [A-Za-z0-9_:-] up to 255, successes only, up to 24 hours, a changed body gets 422",
            "https://developers.telnyx.com/docs/development/api-fundamentals/idempotency",
        ),
        read("bearer", "https://developers.telnyx.com/docs/messaging"),
        read(
            "x-ratelimit-reset in seconds",
            "https://developers.telnyx.com/development/api-fundamentals/reliability/rate-limiting",
        ),
    ],
    ..Preset::NEW
};

const HUBSPOT_SEND: Preset = Preset {
    name: "hubspot-single-send",
    title: "HubSpot single-send mail",
    url: "https://api.hubapi.com/marketing/v4/email/single-send",
    paths: Paths::End(&["/single-send"]),
    keys: Some(Keys {
        place: Spot::Field("/message/sendId"),
        kept: "\"only one email with a given sendId will be sent per account\"; for how long is not said",
        ..Keys::NEW
    }),
    notes: &[
        "For how long a sendId is remembered is not said. You set `idempotency.retention`: how long you accept to repeat a mail whose outcome is unknown.",
        "What a second call with one sendId gets is not documented: a 4xx then parks the effect.",
    ],
    facts: &[read(
        "message.sendId: one mail per account",
        "https://developers.hubspot.com/docs/api-reference/marketing-single-send-v4/guide",
    )],
    ..Preset::NEW
};
