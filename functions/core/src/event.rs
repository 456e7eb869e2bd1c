//! What one verified request says happened. Made by `Source::events`, read by handlers and the ledger.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

/// One event of a provider: the unit that takes effect once.
#[derive(Debug, Clone)]
pub struct Event {
    /// The source's name in oncehook.toml.
    pub source: String,
    /// The first part of the event's identity: the scheme, unless configured, so that renaming a source forgets nothing.
    pub namespace: String,
    /// What makes a provider's id unique: account and mode, shop, team. Empty where ids are unique by themselves.
    pub scope: String,
    /// The provider's id, or `sha256:{hex of the body}` for an event with a [`defect`](Self::defect).
    pub id: String,
    /// The provider's event type, such as `invoice.payment_succeeded`.
    pub kind: String,
    /// When it happened, as the provider says; not when it was delivered.
    pub occurred_at: Option<Timestamp>,
    /// Whose event it is, for fair queues and lists; the scope unless configured.
    pub tenant: String,
    /// Whether the signature covers the id. If not, the ledger guards the body as well.
    pub id_signed: bool,
    /// The request's `Content-Type`.
    pub content_type: Option<String>,
    /// The event's bytes: the request body, or one element of a batch.
    pub body: Bytes,
    /// The body parsed, numbers kept as written. `Null` if there is a defect.
    pub data: Arc<Value>,
    /// Why a genuine request could not be read as an event: not JSON, or without an id. Such an event is kept as failed.
    pub defect: Option<String>,
}

impl Event {
    /// An event whose body was stored, its data read again: JSON, or a form as providers send it. What cannot be read is
    /// a defect; one that the event has stays.
    #[must_use]
    pub fn again(mut self) -> Self {
        if self.defect.is_none() {
            match data(&self.body, self.content_type.as_deref()) {
                Some(data) => self.data = Arc::new(data),
                None => self.defect = Some("the stored body cannot be read again".to_owned()),
            }
        }
        self
    }
}

/// A body as data.
fn data(body: &[u8], content_type: Option<&str>) -> Option<Value> {
    let essence = content_type
        .and_then(|text| text.split(';').next())
        .unwrap_or_default();
    if !essence
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded")
    {
        return serde_json::from_slice(body).ok();
    }
    let fields: serde_json::Map<String, Value> = form_urlencoded::parse(body)
        .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
        .collect();
    match fields.get("payload") {
        Some(Value::String(payload)) => serde_json::from_str(payload).ok(),
        _ => (!fields.is_empty()).then_some(Value::Object(fields)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_forms_are_read_again() {
        let form = Some("application/x-www-form-urlencoded; charset=utf-8");
        let big = br#"{"n":9007199254740993}"#;
        assert_eq!(
            data(big, Some("application/json"))
                .map(|data| data.to_string())
                .as_deref(),
            Some(r#"{"n":9007199254740993}"#)
        );
        assert_eq!(
            data(b"a=1&b=%20x", form),
            Some(serde_json::json!({ "a": "1", "b": " x" }))
        );
        assert_eq!(
            data(b"payload=%7B%22a%22%3A1%7D", form),
            Some(serde_json::json!({ "a": 1 }))
        );
        assert_eq!(data(b"not json", None), None);
    }
}
