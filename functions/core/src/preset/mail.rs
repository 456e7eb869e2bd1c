//! Mail with keys: Resend, Brevo, SparkPost.

use jiff::SignedDuration;

use super::{Answer, Keys, Login, Means, Paths, Preset, Seen, Spot, UUID, Wait, cited, read};

pub(super) const ALL: &[Preset] = &[RESEND, BREVO, SPARKPOST];

const RESEND: Preset = Preset {
    name: "resend",
    title: "Resend",
    url: "https://api.resend.com/emails",
    paths: Paths::End(&["/emails", "/emails/batch"]),
    keys: Some(Keys {
        longest: Some(256),
        retention: Some(SignedDuration::from_hours(24)),
        kept: "24 hours",
        other_body: "409, invalid_idempotent_request",
        in_flight: "409, concurrent_idempotent_requests",
        ..Keys::NEW
    }),
    answers: &[
        Answer {
            statuses: (409, 409),
            seen: Seen::Field("/name", &["invalid_idempotent_request"]),
            means: Means::OtherBody,
        },
        Answer {
            statuses: (409, 409),
            seen: Seen::Field("/name", &["concurrent_idempotent_requests"]),
            means: Means::Later,
        },
    ],
    notes: &["Whether errors are stored is not documented."],
    facts: &[
        read(
            "endpoints, 256 characters, 24 hours, the same answer without sending, both 409",
            "https://resend.com/docs/dashboard/emails/idempotency-keys",
        ),
        read("bearer", "https://resend.com/docs/api-reference"),
        read(
            "Retry-After in seconds with 429",
            "https://resend.com/docs/api-reference/rate-limit",
        ),
    ],
    ..Preset::NEW
};

const BREVO: Preset = Preset {
    name: "brevo",
    title: "Brevo transactional mail",
    url: "https://api.brevo.com/v3/smtp/email",
    paths: Paths::End(&["/smtp/email"]),
    auth: Login::Header("api-key"),
    keys: Some(Keys {
        place: Spot::Field("/headers/idempotencyKey"),
        shape: UUID,
        longest: Some(36),
        retention: Some(SignedDuration::from_mins(15)),
        kept: "15 minutes in the changelog, 30 in the guide",
        other_body: "duplicate_parameter, as with the same body",
        in_flight: "duplicate_parameter",
        ..Keys::NEW
    }),
    answers: &[Answer {
        statuses: (400, 499),
        seen: Seen::Field("/code", &["duplicate_parameter"]),
        means: Means::Duplicate,
    }],
    wait: Some(Wait {
        header: "x-sib-ratelimit-reset",
        epoch: false,
    }),
    notes: &[
        "A repetition is answered with an error and no message id, even after a success. It counts as delivered, unless an earlier attempt got a server error: then it is parked.",
        "The key lives for 15 minutes only. What is uncertain for longer is parked.",
        "Messages of one batch share a key.",
    ],
    facts: &[
        read(
            "place, UUID, 30 minutes, duplicate_parameter",
            "https://developers.brevo.com/docs/heterogenous-versions-batch-emails",
        ),
        read(
            "15 minutes",
            "https://developers.brevo.com/changelog/email-api-now-supports-idempotency",
        ),
        read(
            "x-sib-ratelimit-reset in seconds",
            "https://developers.brevo.com/docs/limit-headers",
        ),
    ],
    ..Preset::NEW
};

const SPARKPOST: Preset = Preset {
    name: "sparkpost",
    title: "SparkPost transmissions",
    url: "https://api.sparkpost.com/api/v1/transmissions",
    paths: Paths::End(&["/transmissions"]),
    auth: Login::Header("Authorization"),
    keys: Some(Keys {
        longest: Some(255),
        retention: Some(SignedDuration::from_hours(24)),
        kept: "24 hours",
        ..Keys::NEW
    }),
    answers: &[Answer {
        statuses: (420, 420),
        seen: Seen::Status,
        means: Means::Throttled,
    }],
    notes: &[
        "The key was in SparkPost's document when it was first read and could not be found a second time: confirm it on the live page before you rely on it.",
        "The API key stands in `Authorization` as it is, without Bearer.",
    ],
    facts: &[
        cited(
            "header, 255 characters of [A-Za-z0-9._-], 24 hours, `X-Idempotent-Replayed: true`",
            "read on 2026-11-30; the page was not found again",
        ),
        read(
            "hosts, the raw key in Authorization, 420: no messages are sent",
            "SparkPost/developers.sparkpost.com, content/api/index.apib at 16bfd44",
        ),
    ],
    ..Preset::NEW
};
