//! Other APIs without keys: Twilio Messages, Slack, HubSpot's CRM, GitHub.

use super::{Answer, Login, Means, Preset, Seen, Wait, cited, read};

pub(super) const ALL: &[Preset] = &[TWILIO, SLACK, HUBSPOT, GITHUB];

const TWILIO: Preset = Preset {
    name: "twilio",
    title: "Twilio Messages",
    url: "https://api.twilio.com/2010-04-01/Accounts/{sid}/Messages.json",
    auth: Login::BasicPair,
    content_type: "application/x-www-form-urlencoded",
    notes: &[
        "The secret is `account sid:token` or `key:secret`.",
        "Before you resend a parked message, list those of the day by To and From: it only suggests a duplicate.",
        "Bodies are form-encoded: `to={{ event.to }}&text=..`. Values are percent-encoded by themselves.",
    ],
    facts: &[
        read(
            "429 (20429) was not processed",
            "https://www.twilio.com/docs/api/errors/20429",
        ),
        read(
            "the list is filtered by To, From and DateSent; sending takes no reference",
            "twilio-php 7.3.0, ReadMessageOptions",
        ),
    ],
    ..Preset::NEW
};

const SLACK: Preset = Preset {
    name: "slack",
    title: "Slack chat.postMessage",
    url: "https://slack.com/api/chat.postMessage",
    answers: &[
        Answer {
            statuses: (200, 299),
            seen: Seen::Field("/error", &["fatal_error", "internal_error"]),
            means: Means::Uncertain,
        },
        Answer {
            statuses: (200, 299),
            seen: Seen::Field("/ok", &["false"]),
            means: Means::Refused,
        },
    ],
    notes: &[
        "Slack answers 200 with `ok: false` when it refuses: the body decides, and one that cannot be read is uncertain.",
        "`client_msg_id` is not a documented argument, so nothing relies on it.",
        "Incoming webhooks (hooks.slack.com) are not described: their URL is a secret, and URLs stand in oncehook.toml and in the table.",
        "One message a second and channel: keep `concurrency` low.",
    ],
    facts: &[
        cited(
            "always read `ok`; fatal_error and internal_error may have acted",
            "a copy of https://docs.slack.dev/reference/methods/chat.postMessage",
        ),
        cited(
            "de-duplication by client_msg_id is not offered",
            "https://github.com/slackapi/slack-api-specs/issues/10",
        ),
        read(
            "one message a second and channel",
            "https://api.slack.com/docs/rate-limits",
        ),
    ],
    ..Preset::NEW
};

const HUBSPOT: Preset = Preset {
    name: "hubspot",
    title: "HubSpot CRM",
    url: "https://api.hubapi.com/crm/v3/objects/{type}/batch/upsert",
    methods: &["POST", "PUT", "PATCH"],
    notes: &[
        "Upsert by a unique property (`idProperty` and `id` of each input), and a repetition changes nothing: then on_ambiguous = \"resend\" is right. For notes, tasks and other objects without a unique property it is not.",
        "Mail is another preset: hubspot-single-send.",
    ],
    facts: &[
        read(
            "batch upsert by a unique property",
            "https://developers.hubspot.com/docs/api-reference/legacy/crm/objects/contacts/batch/upsert-contacts",
        ),
        read(
            "an address is a contact's unique identifier",
            "https://developers.hubspot.com/docs-beta/crm/contacts",
        ),
    ],
    ..Preset::NEW
};

const GITHUB: Preset = Preset {
    name: "github",
    title: "GitHub",
    url: "https://api.github.com/repos/{owner}/{repo}/{..}",
    methods: &["POST", "PUT", "PATCH", "DELETE"],
    auth: Login::Bearer,
    answers: &[
        Answer {
            statuses: (403, 403),
            seen: Seen::Header("x-ratelimit-remaining", "0"),
            means: Means::Throttled,
        },
        Answer {
            statuses: (403, 403),
            seen: Seen::AnyHeader("retry-after"),
            means: Means::Throttled,
        },
    ],
    wait: Some(Wait {
        header: "x-ratelimit-reset",
        epoch: true,
    }),
    notes: &[
        "A check run keeps an `external_id`: give it the event's id, and look for it among the runs of the commit before you resend a parked one.",
        "Comments and dispatches can be doubled: put the event's id into them, so that a person can tell.",
    ],
    facts: &[
        read(
            "external_id of a check run",
            "https://docs.github.com/en/enterprise-server@3.6/rest/checks/runs",
        ),
        read(
            "403 and 429: x-ratelimit-remaining, x-ratelimit-reset in epoch seconds, retry-after",
            "github/docs, content/rest/using-the-rest-api/rate-limits-for-the-rest-api.md at 21143d5",
        ),
    ],
    ..Preset::NEW
};
