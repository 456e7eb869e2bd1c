//! Mail without keys: SES, SendGrid, Postmark, Mailgun.

use super::{Login, Preset, Wait, cited, read};

pub(super) const ALL: &[Preset] = &[SENDGRID, POSTMARK, MAILGUN, SES];

const SENDGRID: Preset = Preset {
    name: "sendgrid",
    title: "SendGrid",
    url: "https://api.sendgrid.com/v3/mail/send",
    wait: Some(Wait {
        header: "x-ratelimit-reset",
        epoch: true,
    }),
    notes: &["Before you resend a parked mail, look for it: POST /v3/logs finds by recipient and subject."],
    facts: &[
        read(
            "hosts, bearer, what logs can be searched by",
            "https://www.twilio.com/docs/sendgrid/api-reference/email-logs/filter-all-messages",
        ),
        read(
            "X-RateLimit-Reset in epoch seconds with 429",
            "https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/rate-limits",
        ),
    ],
    ..Preset::NEW
};

const POSTMARK: Preset = Preset {
    name: "postmark",
    title: "Postmark",
    url: "https://api.postmarkapp.com/email",
    auth: Login::Header("X-Postmark-Server-Token"),
    notes: &[
        "Put the event's id into the mail's `Metadata`: \"Metadata\": {\"event\": {{ meta.id | tojson }}}. Before you resend a parked mail, look for it: GET /messages/outbound?count=1&offset=0&metadata_event=ID. How soon a mail can be found is not documented, so this is for a person and not done by itself.",
    ],
    facts: &[
        read(
            "Metadata, searched by one field",
            "https://postmarkapp.com/support/article/1125-custom-metadata-faq",
        ),
        read(
            "the list of outbound messages, the token's header",
            "https://postmarkapp.com/developer/api/messages-api",
        ),
    ],
    ..Preset::NEW
};

const MAILGUN: Preset = Preset {
    name: "mailgun",
    title: "Mailgun",
    url: "https://api.mailgun.net/v3/{domain}/messages",
    auth: Login::Basic("api"),
    content_type: "application/x-www-form-urlencoded",
    notes: &[
        "A 5xx can still have sent the mail: it is parked. Before you resend, look at the domain's events, which come with delay.",
        "Bodies are form-encoded: `to={{ event.to }}&text=..`. Values are percent-encoded by themselves.",
    ],
    facts: &[
        read(
            "hosts, basic authentication as `api`",
            "https://documentation.mailgun.com/docs/mailgun/api-reference/api-overview",
        ),
        cited("a 5xx that was sent all the same", "https://feedback.mailgun.com"),
    ],
    ..Preset::NEW
};

const SES: Preset = Preset {
    name: "ses",
    title: "Amazon SES",
    url: "https://email.{region}.amazonaws.com/v2/email/outbound-emails",
    barred: Some(
        "every request needs an AWS signature (SigV4), which Oncehook does not make: let an endpoint of your own send the mail (sign = \"standard-webhooks\") and remember webhook-id",
    ),
    notes: &[
        "SendEmail takes no token that would make a repetition safe. In your endpoint, turn the SDK's own retries off (one attempt): they can send twice.",
    ],
    facts: &[read(
        "what is over the limit is dropped, not sent",
        "https://docs.aws.amazon.com/ses/latest/dg/manage-sending-quotas-errors.html",
    )],
    ..Preset::NEW
};
