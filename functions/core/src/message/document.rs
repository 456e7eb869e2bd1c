//! The kinds of AWS as text and JSON: for docs/destinations.md and `oncehook destinations`.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// What is known of a service that can be a destination.
#[derive(Debug, Clone, Copy)]
pub struct Service {
    /// `kind` in oncehook.toml.
    pub name: &'static str,
    /// As AWS calls it.
    pub title: &'static str,
    /// Where the idempotency key travels.
    pub key: &'static str,
    /// How long it is recognised by the service itself.
    pub kept: &'static str,
    /// What a lost answer comes to, unless a receiver promises to recognise the key.
    pub promise: &'static str,
    notes: &'static [&'static str],
    /// What was read where.
    facts: &'static [(&'static str, &'static str)],
}

const HEAD: &str = "
## Queues, functions and buses

`kind = \"sqs\"`, `\"lambda\"` or `\"eventbridge\"` in `[destination.X]`. Drain's own role signs the call; `oncehook check` says which
lines its policy needs. The idempotency key always travels with the message. Except for five minutes in a FIFO queue nothing
on the way recognises it, so delivery is **at least once**: a lost answer parks the effect, or sends it again with
`on_ambiguous = \"resend\"`. A receiver that keeps the keys which it has seen may promise that with `idempotency = { retention =
\"..\" }`, for how long: then a lost answer is sent again with the same key within that time, and acts once.

Missing rights, and a queue, function or bus that is not there, pause the destination for all its items, cost no attempt, and say
what to do. What the service would never take (too large, not JSON) is a failed plan before anything is sent.

| kind | service | key | recognised | a lost answer |
|---|---|---|---|---|
";

const ALL: [Service; 3] = [
    Service {
        name: "sqs",
        title: "Amazon SQS",
        key: "attribute `idempotency-key`; in a FIFO queue also `MessageDeduplicationId`",
        kept: "5 minutes in a FIFO queue, received and deleted messages included; not at all in a standard queue",
        promise: "FIFO: again with the same key; standard: parked, at least once",
        notes: &[
            "A body is sent as it is, byte for byte. What is no text, or has characters that XML does not allow, goes as base64 with \
             the attribute `encoding` = `base64`. The attribute `content-type` holds the type.",
            "At most 1,048,576 bytes with attributes; a queue can have a lower `MaximumMessageSize`, which refuses: dead.",
            "`group` of an effect is the message group, in FIFO and in fair queues; a text that SQS does not take is sent as its \
             SHA-256. Without it each message of a FIFO queue is a group of its own: effects have no order among them anyway.",
            "A FIFO queue's window is short: an effect whose answer was lost and which could not be repeated within about 230 s is \
             parked.",
            "A queue encrypted with a KMS key of your own needs kms:GenerateDataKey and kms:Decrypt for drain's role.",
        ],
        facts: &[
            (
                "size, characters, deduplication for 5 minutes, message groups",
                "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html",
            ),
            (
                "the errors of SendMessage",
                "the service's model in botocore 1.43.106",
            ),
        ],
    },
    Service {
        name: "lambda",
        title: "AWS Lambda",
        key: "`client_context.custom.idempotency_key`; in a rendered object also `/idempotency_key`",
        kept: "not at all",
        promise: "parked: at least once",
        notes: &[
            "The function is invoked and waited for (`RequestResponse`): set `timeout` to at least what it takes, 60 s at most. For \
             longer work put a queue between.",
            "An event's exact bytes are the payload if they are JSON; else it is `{\"content_type\": .., \"text\": ..}`, or `base64` \
             where they are no text.",
            "A function that fails (`X-Amz-Function-Error`) has run and may have acted. Errors by name are from before it ran.",
            "At most 6 MB.",
            "`function` is a name, `NAME:ALIAS` or an ARN; without it, it is the destination's own name.",
        ],
        facts: &[
            (
                "6 MB, synchronous invocation, client context, errors that keep a function from running",
                "https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html",
            ),
            (
                "the errors of Invoke and their statuses",
                "the service's model in botocore 1.43.106",
            ),
        ],
    },
    Service {
        name: "eventbridge",
        title: "Amazon EventBridge",
        key: "`detail.idempotency_key`",
        kept: "not at all; rules also deliver to their targets at least once",
        promise: "parked: at least once",
        notes: &[
            "A rendered body must be a JSON object: it is the detail, with the key added.",
            "An event's exact bytes stand in the detail beside the key: under `event` if they are JSON, else under `text` or `base64`. \
             A pattern matches on `detail.event`.",
            "`DetailType` is the event's type, `Source` is `source` of the destination (`oncehook`), `bus` is a name or an ARN \
             (`default`).",
            "At most 1,000,000 bytes: the document says \"less than 1MB\". Whole numbers beyond 64 bits are refused: dead.",
            "An answer of 200 can refuse the event in its body; that is looked at.",
        ],
        facts: &[
            (
                "less than 1 MB, numbers",
                "https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html, in the model of botocore 1.43.106",
            ),
            (
                "Detail is a JSON object, DetailType has 128 characters",
                "https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html",
            ),
            (
                "which codes of a failed entry can be tried again",
                "https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsResultEntry.html",
            ),
        ],
    },
];

/// All of them in Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut text = HEAD.to_owned();
    for service in &ALL {
        let Service {
            name,
            title,
            key,
            kept,
            promise,
            ..
        } = service;
        let _infallible = writeln!(
            text,
            "| [`{name}`](#{name}) | {title} | {key} | {kept} | {promise} |"
        );
    }
    for service in &ALL {
        let _infallible = write!(text, "\n### {}\n\n{}", service.name, service.section());
    }
    text
}

impl Service {
    /// All of them.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ALL.iter()
    }

    /// All that is known of it, in Markdown.
    #[must_use]
    pub fn section(&self) -> String {
        let mut text = format!(
            "{}.\n\n- Key: {}.\n- Recognised: {}.\n- A lost answer: {}.\n",
            self.title, self.key, self.kept, self.promise
        );
        for note in self.notes {
            let _infallible = writeln!(text, "- {note}");
        }
        text.push_str("\nRead in:\n\n");
        for (what, source) in self.facts {
            let _infallible = writeln!(text, "- {what}: {source}");
        }
        text
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let facts = self
            .facts
            .iter()
            .map(|(what, source)| json!({ "what": what, "source": source }));
        json!({
            "name": self.name, "title": self.title, "key": self.key, "recognised": self.kept, "lost_answer": self.promise,
            "notes": self.notes, "facts": facts.collect::<Vec<_>>(),
        })
    }
}
