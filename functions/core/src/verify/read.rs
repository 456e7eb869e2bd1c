//! From a genuine request to its event, by the places that the scheme's facts name.
//!
//! Never refuses: a genuine request that cannot be read is an event with a defect, kept for a person.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Source, Verified, facts::Handshake, form, signed::Location};
use crate::{event::Event, request::SignedRequest};

/// The longest id, kind or scope, in bytes: three times as much when escaped, two of them fit a DynamoDB key.
const MAX_PART: usize = 256;

/// What a genuine request is.
#[derive(Debug, Clone)]
pub enum Received {
    /// A question about the endpoint itself, with its answer.
    Handshake(Reply),
    /// What happened.
    Events(Vec<Event>),
}

/// An answer as the provider documents it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl Source {
    /// The events of a genuine request, or the answer to a handshake.
    #[must_use]
    pub fn events(&self, verified: Verified) -> Received {
        let Verified {
            request, signed_at, ..
        } = verified;
        let content_type = request.header("content-type");
        let parsed = if self.facts.forms && form::is_form(content_type.as_deref()) {
            form::parse(&request.body).ok_or("the body is not a form with text or JSON in it".to_owned())
        } else {
            serde_json::from_slice(&request.body).map_err(|error| format!("the body is not JSON: {error}"))
        };
        if let (Some(handshake), Ok(data)) = (&self.facts.handshake, &parsed)
            && let Some(reply) = handshake.answer(data)
        {
            return Received::Handshake(reply);
        }
        let (data, not_json) = match parsed {
            Ok(data) => (data, None),
            Err(defect) => (Value::Null, Some(defect)),
        };
        let place = Places {
            request: &request,
            data: &data,
        };
        let id = place.text(&self.facts.id);
        let [kind, scope] = [self.kind(&place), self.scope(&place)].map(bounded);
        let occurred_at = place.time(&self.facts.occurred_at);
        let defect = not_json.or_else(|| match &id {
            None => Some(format!("no id at {}", names(&self.facts.id))),
            Some(id) if id.len() > MAX_PART => Some(format!("the id has more than {MAX_PART} bytes")),
            Some(_) => None,
        });
        // An id of the body's hash is covered by the signature, as the body is.
        let (id, id_signed) = match id.filter(|_| defect.is_none()) {
            Some(id) => (id, self.facts.signs_id()),
            None => (hash(&request.body), true),
        };
        Received::Events(vec![Event {
            source: self.name.clone(),
            namespace: self.namespace.clone(),
            tenant: scope.clone(),
            scope,
            id,
            kind,
            occurred_at: occurred_at.or(signed_at.filter(|_| self.facts.occurred_when_signed)),
            id_signed,
            content_type,
            data: Arc::new(if defect.is_some() { Value::Null } else { data }),
            body: request.body,
            defect,
        }])
    }

    fn kind(&self, place: &Places<'_>) -> String {
        let (parts, joint) = &self.facts.kind;
        parts
            .iter()
            .filter_map(|places| place.text(places))
            .collect::<Vec<_>>()
            .join(joint)
    }

    fn scope(&self, place: &Places<'_>) -> String {
        let parts = self.facts.scope.iter().map(|part| {
            let value = part.places.iter().find_map(|location| place.value(location));
            match (value.as_ref(), part.names) {
                (Some(Value::Bool(flag)), Some((yes, no))) => (if *flag { yes } else { no }).to_owned(),
                _ => value.as_ref().and_then(as_text).unwrap_or_default(),
            }
        });
        parts.collect::<Vec<_>>().join(":")
    }
}

impl Handshake {
    fn answer(&self, data: &Value) -> Option<Reply> {
        let marked = data.pointer(self.mark).and_then(Value::as_str) == Some(self.is);
        let echo = data
            .pointer(self.echo)
            .and_then(Value::as_str)
            .filter(|_| marked)?;
        Some(Reply {
            status: 200,
            content_type: "text/plain",
            body: echo.to_owned(),
        })
    }
}

/// A request and its body as JSON.
struct Places<'a> {
    request: &'a SignedRequest,
    data: &'a Value,
}

impl Places<'_> {
    fn value(&self, location: &Location) -> Option<Value> {
        match location {
            Location::Header(name) => self.request.header(name).map(Value::String),
            Location::Pointer(pointer) => self
                .data
                .pointer(pointer)
                .filter(|value| !value.is_null())
                .cloned(),
        }
    }

    /// The first that holds text or a number.
    fn text(&self, locations: &[Location]) -> Option<String> {
        locations
            .iter()
            .find_map(|location| self.value(location).as_ref().and_then(as_text))
    }

    /// The first that holds a time.
    fn time(&self, locations: &[Location]) -> Option<Timestamp> {
        locations.iter().find_map(|location| {
            self.text(std::slice::from_ref(location))
                .and_then(|text| time(&text))
        })
    }
}

fn hash(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// A kind or scope as it is, or its hash if it is longer than any provider's.
fn bounded(part: String) -> String {
    if part.len() > MAX_PART {
        hash(part.as_bytes())
    } else {
        part
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// RFC 3339, or a whole number since 1970: milliseconds if as seconds it would be after the year 5138.
fn time(text: &str) -> Option<Timestamp> {
    match text.parse::<i64>() {
        Ok(number) if number.unsigned_abs() >= 100_000_000_000 => Timestamp::from_millisecond(number).ok(),
        Ok(number) => Timestamp::from_second(number).ok(),
        Err(_) => text.parse().ok(),
    }
}

fn names(locations: &[Location]) -> String {
    let name = |location: &Location| match location {
        Location::Header(name) => format!("header {name}"),
        Location::Pointer(pointer) => pointer.clone(),
    };
    locations.iter().map(name).collect::<Vec<_>>().join(" or ")
}
