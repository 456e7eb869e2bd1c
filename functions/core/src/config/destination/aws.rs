//! Reads `[destination.NAME]` where `kind` is a service of AWS.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::{
    super::{
        Auth, DestinationConfig, Idempotency, KeyPlace,
        kind::{FIFO_RETENTION, Kind, event_source},
        reader::Reader,
        units,
    },
    Tried, header_value,
};
use crate::outbox::KeyShape;

/// What belongs to HTTP, and why it has no place here.
const HTTP_ONLY: [(&str, &str); 7] = [
    ("preset", "presets are for HTTP APIs"),
    ("url", "the target has a key of its own"),
    ("method", "the kind says which call is made"),
    ("headers", "there are none"),
    ("secret", "drain's own role signs the call"),
    ("auth", "drain's own role signs the call"),
    ("sign", "drain's own role signs the call"),
];

/// `kind` as it is written; what belongs to it is read later.
pub(super) fn kind(reader: &Reader<'_>) -> Kind {
    let words = [
        ("http", Kind::Http),
        ("sqs", Kind::Sqs { fifo: false }),
        ("lambda", Kind::Lambda),
        (
            "eventbridge",
            Kind::EventBridge {
                source: "oncehook".to_owned(),
            },
        ),
    ];
    let names: Vec<(&str, usize)> = words
        .iter()
        .enumerate()
        .map(|(at, (name, _))| (*name, at))
        .collect();
    let chosen = reader.word("kind", &names).unwrap_or_default();
    words
        .into_iter()
        .nth(chosen)
        .map(|(_, kind)| kind)
        .unwrap_or_default()
}

/// A destination of one of these kinds.
pub(super) fn destination(name: &str, mut kind: Kind, reader: Reader<'_>) -> Option<DestinationConfig> {
    for (key, why) in HTTP_ONLY {
        if reader.get(key).is_some() {
            reader.wrong(format_args!(
                "`{key}` does not belong to kind = \"{}\": {why}; remove it",
                kind.name()
            ));
        }
    }
    match &mut kind {
        Kind::Sqs { fifo } => *fifo = is_fifo(&reader),
        Kind::EventBridge { source } => {
            if let Some(given) = reader.parsed("source", event_source) {
                *source = given.value;
            }
        }
        Kind::Lambda | Kind::Http => {}
    }
    let target = reader
        .parsed(kind.target(), |text| kind.check(text))
        .map(|found| found.value);
    let content_type = content_type(&kind, &reader);
    let idempotency = idempotency(&kind, &reader);
    let tried = Tried::read(&reader, idempotency.as_ref());
    reader.finish();
    Some(DestinationConfig {
        name: name.to_owned(),
        preset: None,
        // Without one: a function has the destination's name, and every account has a bus called default.
        url: target.unwrap_or_else(|| match kind {
            Kind::Lambda => name.to_owned(),
            Kind::EventBridge { .. } => "default".to_owned(),
            Kind::Sqs { .. } | Kind::Http => String::new(),
        }),
        method: match kind {
            Kind::Sqs { .. } => "SendMessage",
            Kind::Lambda => "Invoke",
            Kind::EventBridge { .. } => "PutEvents",
            Kind::Http => "POST",
        }
        .to_owned(),
        kind,
        content_type,
        headers: BTreeMap::new(),
        auth: Auth::None,
        secret: None,
        idempotency,
        on_ambiguous: tried.on_ambiguous,
        timeout: tried.timeout,
        give_up_after: tried.give_up_after,
        concurrency: tried.concurrency,
    })
}

/// As `fifo` says, else as the queue's name does. Whether both agree is found with the name.
fn is_fifo(reader: &Reader<'_>) -> bool {
    let named = reader.get("queue").and_then(|item| item.get_ref().as_str());
    reader
        .boolean("fifo")
        .unwrap_or_else(|| named.is_some_and(|name| name.ends_with(".fifo")))
}

/// Functions and buses take JSON only.
fn content_type(kind: &Kind, reader: &Reader<'_>) -> String {
    let json = "application/json".to_owned();
    match kind {
        Kind::Sqs { .. } => reader
            .parsed("content_type", header_value)
            .map_or(json, |found| found.value),
        _ => {
            if reader.get("content_type").is_some() {
                reader.wrong("`content_type` is JSON here, always: remove it");
            }
            json
        }
    }
}

/// What the service itself recognises, or what the receiver promises to.
fn idempotency(kind: &Kind, reader: &Reader<'_>) -> Option<Idempotency> {
    let table = reader.table("idempotency");
    let given = table.and_then(|table| {
        table.need("retention");
        let retention = table.duration("retention", "1m", "3650d");
        table.finish();
        retention
    });
    let own = (*kind == Kind::Sqs { fifo: true }).then_some(FIFO_RETENTION);
    if let (Some(given), Some(own)) = (given, own)
        && given < own
    {
        reader.wrong(format_args!(
            "`idempotency.retention` ({}) is shorter than what a FIFO queue recognises by itself ({}): remove it",
            units::show(given),
            units::show(own)
        ));
    }
    let retention: SignedDuration = given.or(own)?;
    Some(Idempotency {
        place: KeyPlace::Message,
        shape: KeyShape::DEFAULT,
        retention,
        quoted: false,
        // Neither the service nor the receiver answers from memory.
        stores_errors: false,
        needs: None,
    })
}
