//! A plausible body of any scheme, with id, kind, time and scope where the scheme's facts say that they are.
//!
//! For trying a source out: no mock of any provider, and nothing that verification uses.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    facts::{Batch, Content, Facts, IdPart},
    form,
    scheme::Scheme,
    signed::Location,
};

impl Scheme {
    /// The content type and the body of an event.
    #[must_use]
    pub fn sample(&self, kind: &str, id: &str, at: Timestamp) -> (&'static str, Vec<u8>) {
        let facts = Facts::of(self);
        let mut event = json!({});
        let ids = facts.id.iter().filter_map(|part| match part {
            IdPart::Needed(places) | IdPart::OrHash(places) => Some(places),
            _ => None,
        });
        for places in ids {
            put(&mut event, places, json!(id));
        }
        let (kinds, joint) = &facts.kind;
        let words: Vec<&str> = match kinds.len() {
            0 | 1 => vec![kind],
            count => kind.splitn(count, joint).collect(),
        };
        for (places, word) in kinds.iter().zip(words) {
            put(&mut event, places, json!(word));
        }
        put(&mut event, &facts.occurred_at, json!(at.to_string()));
        for (index, part) in facts.scope.iter().enumerate() {
            let value = match part.names {
                Some(_) => json!(false),
                None => json!(format!("acct_{}", 1001 + index)),
            };
            put(&mut event, &part.places, value);
        }
        if self.name() == "adyen" {
            event["amount"] = json!({"value": 5000, "currency": "EUR"});
            event["success"] = json!("true");
        }
        if self.name() == "mailgun" {
            event["signature"] = json!({"token": hex::encode(id)});
        }
        let body = match facts.batch {
            Batch::List { at, within } => {
                let mut element = json!({});
                put(&mut element, &[Location::Pointer(within.to_owned())], event);
                let mut whole = json!({});
                put(&mut whole, &[Location::Pointer(at.to_owned())], json!([element]));
                whole
            }
            _ => event,
        };
        match facts.content {
            Content::JsonOrForm => (form::TYPE, fields(&body).into_bytes()),
            Content::Braintree => (
                form::TYPE,
                format!("<notification>{}</notification>", xml(&body)).into_bytes(),
            ),
            _ => ("application/json", body.to_string().into_bytes()),
        }
    }
}

/// Puts a value at the first of the places that is in the body, making lists and objects on the way.
fn put(body: &mut Value, places: &[Location], value: Value) {
    let Some(pointer) = places.iter().find_map(|place| match place {
        Location::Pointer(pointer) => Some(pointer),
        Location::Header(_) => None,
    }) else {
        return;
    };
    let mut place = body;
    for name in pointer.split('/').skip(1) {
        place = if name == "0" {
            if !place.is_array() {
                *place = json!([{}]);
            }
            &mut place[0]
        } else {
            if !place.is_object() {
                *place = json!({});
            }
            &mut place[name.replace("~1", "/").replace("~0", "~")]
        };
    }
    *place = value;
}

fn fields(body: &Value) -> String {
    let empty = Map::new();
    let fields = body.as_object().unwrap_or(&empty).iter();
    let field = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}={}", form::encode(name), form::encode(&text))
    };
    fields.map(field).collect::<Vec<_>>().join("&")
}

fn xml(value: &Value) -> String {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| format!("<{name}>{}</{name}>", xml(value)))
            .collect(),
        Value::String(text) => text.replace('&', "&amp;").replace('<', "&lt;"),
        other => other.to_string(),
    }
}
