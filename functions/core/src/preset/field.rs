//! Puts an idempotency key into a JSON body.
//!
//! It is done at each attempt and not kept: the stored body has no key, so a person can send it again under a new one.
//! The same body and key always make the same bytes.

use serde_json::{Map, Value};

/// The body with the key at this JSON Pointer. Objects on the way are made if they are missing.
///
/// # Errors
/// When the body is no JSON object, something else is on the way, or the place is taken.
pub fn put(body: &str, pointer: &str, key: &str) -> Result<String, String> {
    let mut document: Value = serde_json::from_str(body)
        .map_err(|error| format!("the body is not JSON, so it cannot carry a key ({error})"))?;
    let mut place = &mut document;
    let mut steps = pointer
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .peekable();
    while let Some(step) = steps.next() {
        let Value::Object(members) = place else {
            return Err(format!("the body has no object where `{pointer}` needs one"));
        };
        if steps.peek().is_none() {
            if members.contains_key(&step) {
                return Err(format!(
                    "the body has something at `{pointer}` already: leave it out, the key goes there"
                ));
            }
            members.insert(step, Value::from(key));
            break;
        }
        place = members.entry(step).or_insert_with(|| Value::Object(Map::new()));
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_put_where_it_belongs_and_numbers_stay_as_written() {
        let put = |body, pointer| put(body, pointer, "k");
        assert_eq!(
            put(
                r#"{"amount": 1.10, "n": 12345678901234567890123}"#,
                "/idempotency_key"
            )
            .unwrap(),
            r#"{"amount":1.10,"idempotency_key":"k","n":12345678901234567890123}"#
        );
        assert_eq!(
            put("{}", "/headers/idempotencyKey").unwrap(),
            r#"{"headers":{"idempotencyKey":"k"}}"#
        );
        assert_eq!(put(r#"{"a/b":{}}"#, "/a~1b/c").unwrap(), r#"{"a/b":{"c":"k"}}"#);
        for (body, pointer, part) in [
            ("[]", "/k", "no object"),
            ("{\"a\":1}", "/a/k", "no object"),
            ("{\"k\":null}", "/k", "already"),
            ("a=b", "/k", "not JSON"),
        ] {
            assert!(put(body, pointer).unwrap_err().contains(part), "{body} {pointer}");
        }
    }
}
