//! Bodies of `application/x-www-form-urlencoded` as JSON: Slack's commands and interactions, GitHub's other format.
//!
//! Follows the WHATWG URL standard, section 5.1, but refuses what is not UTF-8 instead of replacing it.

use serde_json::{Map, Value};

/// The content type of a form.
pub(super) const TYPE: &str = "application/x-www-form-urlencoded";

/// Whether a content type says that the body is a form.
pub(super) fn is_form(content_type: Option<&str>) -> bool {
    let essence = content_type
        .and_then(|value| value.split(';').next())
        .unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(TYPE)
}

/// The JSON in the field `payload`, or else all fields as strings; none if it is neither text nor JSON.
pub(super) fn parse(body: &[u8]) -> Option<Value> {
    let fields = fields(body)?;
    match fields.get("payload") {
        Some(Value::String(payload)) => serde_json::from_str(payload).ok(),
        _ => Some(fields),
    }
}

/// All fields as strings, the last of each name; none if one is not text, or there is none.
pub(super) fn fields(body: &[u8]) -> Option<Value> {
    let mut fields = Map::new();
    for (name, value) in pairs(body) {
        fields.insert(
            String::from_utf8(name).ok()?,
            String::from_utf8(value).ok()?.into(),
        );
    }
    Some(Value::Object(fields)).filter(|fields| *fields != Value::Object(Map::new()))
}

/// The fields in order of name and value, each once, written one after the other: what Twilio signs.
pub(super) fn sorted(body: &[u8]) -> Vec<u8> {
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = pairs(body).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
        .into_iter()
        .flat_map(|(name, value)| [name, value].concat())
        .collect()
}

/// Text as it is written in a form.
pub(super) fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => encoded.push(char::from(byte)),
            b' ' => encoded.push('+'),
            _ => {
                encoded.push('%');
                encoded.push_str(&hex::encode_upper([byte]));
            }
        }
        encoded
    })
}

/// Text as it was before it was written in a form or query.
pub(super) fn decoded(text: &str) -> Vec<u8> {
    decode(text.as_bytes())
}

fn pairs(body: &[u8]) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    body.split(|byte| *byte == b'&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            (
                decode(&pair[..at]),
                decode(pair.get(at + 1..).unwrap_or_default()),
            )
        })
}

fn decode(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let mut digits = [0_u8; 1];
        let escaped = *first == b'%'
            && after
                .get(..2)
                .is_some_and(|two| hex::decode_to_slice(two, &mut digits).is_ok());
        bytes.push(match first {
            _ if escaped => digits[0],
            b'+' => b' ',
            byte => *byte,
        });
        rest = if escaped { &after[2..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_decoded() {
        assert_eq!(
            parse(b"a=1+2&b=%2Fx%e2%82%ac&c&d=%"),
            Some(json!({"a": "1 2", "b": "/x€", "c": "", "d": "%"}))
        );
        assert_eq!(parse(b"payload=%7B%22a%22%3A+1%7D&x=y"), Some(json!({"a": 1})));
        assert_eq!(parse(b"payload=nothing"), None);
        assert_eq!(parse(b"a=%ff"), None);
        assert_eq!(parse(b""), None);
        assert_eq!(fields(b"payload=1"), Some(json!({"payload": "1"})));
        assert_eq!(sorted(b"b=2&a=+&b=1&b=2"), b"a b1b2");
        assert_eq!(
            fields(format!("a={}", encode("/x \u{20ac}+~")).as_bytes()),
            Some(json!({"a": "/x \u{20ac}+~"}))
        );
    }

    #[test]
    fn content_types_are_told_apart() {
        assert!(is_form(Some("Application/x-www-form-urlencoded; charset=utf-8")));
        assert!(!is_form(Some("application/json")));
        assert!(!is_form(None));
    }
}
