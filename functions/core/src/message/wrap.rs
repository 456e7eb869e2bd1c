//! How bytes become what a function or a bus takes, which is JSON only: as they are where they can be, wrapped else.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::de::IgnoredAny;

use super::{Body, quoted};
use crate::preset::put;

/// Where the key goes in a rendered body and in a detail.
const KEY: &str = "/idempotency_key";

/// Whether SQS keeps a character: what XML 1.0 allows.
pub(super) fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// What a function is invoked with. An event's bytes stay as they are if they are JSON; a rendered object gets the key.
pub(super) fn payload(body: Body<'_>, key: &str) -> Result<Vec<u8>, String> {
    match (json(body.bytes), body.received) {
        (Some(text), true) => Ok(text.as_bytes().to_vec()),
        (Some(text), false) if text.trim_start().starts_with('{') => {
            put(text, KEY, key).map(String::into_bytes)
        }
        (Some(text), false) => Ok(text.as_bytes().to_vec()),
        (None, _) => Ok(wrapped(body, None).into_bytes()),
    }
}

/// The detail of an event on a bus, always an object with the key: a rendered object with the key added, or the event's
/// exact bytes under `event`, `text` or `base64`.
pub(super) fn detail(body: Body<'_>, key: &str) -> Result<String, String> {
    if body.received {
        return Ok(wrapped(body, Some(key)));
    }
    let text = json(body.bytes).filter(|text| text.trim_start().starts_with('{'));
    let text = text.ok_or("the body of an event on a bus must be a JSON object")?;
    put(text, KEY, key)
}

fn wrapped(body: Body<'_>, key: Option<&str>) -> String {
    let mut members = Vec::new();
    members.extend(key.map(|key| format!("\"idempotency_key\":{}", quoted(key))));
    members.extend(
        body.content_type
            .map(|text| format!("\"content_type\":{}", quoted(text))),
    );
    members.push(match (json(body.bytes), std::str::from_utf8(body.bytes)) {
        (Some(text), _) => format!("\"event\":{text}"),
        (None, Ok(text)) => format!("\"text\":{}", quoted(text)),
        (None, Err(_)) => format!("\"base64\":\"{}\"", BASE64_STANDARD.encode(body.bytes)),
    });
    format!("{{{}}}", members.join(","))
}

/// The bytes as text, if they are JSON.
fn json(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    serde_json::from_str::<IgnoredAny>(text).ok().map(|_| text)
}
