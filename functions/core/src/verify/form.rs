//! Bodies of `application/x-www-form-urlencoded` as JSON: Slack's commands and interactions, GitHub's other format.
//!
//! Follows the WHATWG URL standard, section 5.1, but refuses what is not UTF-8 instead of replacing it.

use serde_json::{Map, Value};

/// Whether a content type says that the body is a form.
pub(super) fn is_form(content_type: Option<&str>) -> bool {
    let essence = content_type
        .and_then(|value| value.split(';').next())
        .unwrap_or_default();
    essence
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// The JSON in the field `payload`, or else all fields as strings; none if it is neither text nor JSON.
pub(super) fn parse(body: &[u8]) -> Option<Value> {
    let mut fields = Map::new();
    for pair in body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        let (name, value) = (&pair[..at], pair.get(at + 1..).unwrap_or_default());
        fields.insert(decode(name)?, Value::String(decode(value)?));
    }
    match fields.get("payload") {
        Some(Value::String(payload)) => serde_json::from_str(payload).ok(),
        _ if fields.is_empty() => None,
        _ => Some(Value::Object(fields)),
    }
}

fn decode(text: &[u8]) -> Option<String> {
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
    String::from_utf8(bytes).ok()
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
    }

    #[test]
    fn content_types_are_told_apart() {
        assert!(is_form(Some("Application/x-www-form-urlencoded; charset=utf-8")));
        assert!(!is_form(Some("application/json")));
        assert!(!is_form(None));
    }
}
