//! From a genuine request to its event, by the places that the scheme's facts name.
//!
//! Never refuses: a genuine request that cannot be read is an event with a defect, kept for a person.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::{Timestamp, civil, tz::TimeZone};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    Source, Verified,
    batch::{self, Element},
    describe::names,
    facts::{Content, IdPart},
    form,
    signed::Location,
    view::{View, as_text},
    xml,
};
use crate::{event::Event, request::SignedRequest};

/// The longest id, kind or scope, in bytes: three times as much when escaped, two of them fit a DynamoDB key.
const MAX_PART: usize = 256;

/// What a genuine request is.
#[derive(Debug, Clone)]
pub enum Received {
    /// A question about the endpoint itself, with its answer.
    Handshake(Reply),
    /// A question that is answered by visiting this URL first, on a host of the provider: AWS SNS's confirmation of a
    /// subscription. If that fails, the provider is to come again.
    Confirm {
        /// What to get.
        url: String,
        /// The answer once that was successful.
        reply: Reply,
    },
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
    /// One more header.
    pub header: Option<(&'static str, String)>,
}

impl Source {
    /// The events of a genuine request, or the answer to a handshake.
    #[must_use]
    pub fn events(&self, verified: Verified) -> Received {
        let Verified {
            request,
            signed_at,
            secret,
        } = verified;
        let (data, defect) = match body(self.facts.content, &request, false) {
            Ok(data) => (data, None),
            Err(defect) => (Value::Null, Some(defect)),
        };
        if let Some(received) = self.handshake(&View::new(&request, &data), secret) {
            return received;
        }
        let elements = match &defect {
            None => batch::elements(self.facts.batch, &request.body, &data),
            Some(_) => None,
        };
        let one = |element, defect| self.event(&request, element, signed_at, defect);
        Received::Events(match elements {
            Some(elements) => elements.into_iter().map(|element| one(element, None)).collect(),
            None => {
                let body = request.body.clone();
                vec![one(Element { body, data }, defect)]
            }
        })
    }

    fn event(
        &self,
        request: &SignedRequest,
        element: Element,
        signed_at: Option<Timestamp>,
        not_read: Option<String>,
    ) -> Event {
        let view = View::new(request, &element.data);
        let id = self.id(&view, &element.body, signed_at);
        let [kind, scope] = [self.kind(&view), self.scope(&view)].map(bounded);
        let occurred_at = time_at(&view, &self.facts.occurred_at);
        let defect = not_read.or_else(|| match &id {
            Err(defect) => Some(defect.clone()),
            Ok(id) if id.len() > MAX_PART => Some(format!("the id has more than {MAX_PART} bytes")),
            Ok(_) => None,
        });
        // An id of the body's hash is covered by the signature, as the body is.
        let (id, id_signed) = match id {
            Ok(id) if defect.is_none() => (id, self.facts.signs_id()),
            _ => (hash(&element.body), self.facts.signs_body()),
        };
        let token = self.facts.token_in(&element.data);
        let data = if defect.is_some() {
            Value::Null
        } else {
            element.data
        };
        Event {
            source: self.name.clone(),
            namespace: self.namespace.clone(),
            tenant: scope.clone(),
            scope,
            id,
            kind,
            occurred_at: occurred_at.or(signed_at.filter(|_| self.facts.occurred_when_signed)),
            id_signed,
            guard_body: self.body_guard && !id_signed,
            token,
            content_type: request.header("content-type"),
            data: Arc::new(data),
            body: element.body,
            defect,
        }
    }

    /// The id: one value as it is, or several joined by colons with those in them escaped.
    fn id(&self, view: &View<'_>, body: &[u8], signed_at: Option<Timestamp>) -> Result<String, String> {
        let mut parts = Vec::with_capacity(self.facts.id.len());
        for part in &self.facts.id {
            parts.push(match part {
                IdPart::Needed(places) => view
                    .text(places)
                    .ok_or_else(|| format!("no id at {}", names(places)))?,
                IdPart::Also(places) => view.text(places).unwrap_or_default(),
                IdPart::OrHash(places) => view.text(places).unwrap_or_else(|| hash(body)),
                IdPart::SignedAt => signed_at.map(|at| at.as_second().to_string()).unwrap_or_default(),
                IdPart::Hash => hash(body),
            });
        }
        if let [one] = parts.as_mut_slice() {
            return Ok(std::mem::take(one));
        }
        while parts.last().is_some_and(String::is_empty) {
            parts.pop();
        }
        let escaped: Vec<String> = parts
            .iter()
            .map(|part| part.replace('%', "%25").replace(':', "%3A"))
            .collect();
        match escaped.join(":") {
            id if id.is_empty() => Err("no id".to_owned()),
            // Several long parts are as good as their hash.
            id if id.len() > MAX_PART => Ok(hash(id.as_bytes())),
            id => Ok(id),
        }
    }

    fn kind(&self, view: &View<'_>) -> String {
        let (parts, joint) = &self.facts.kind;
        parts
            .iter()
            .filter_map(|places| view.text(places))
            .collect::<Vec<_>>()
            .join(joint)
    }

    fn scope(&self, view: &View<'_>) -> String {
        let parts = self.facts.scope.iter().map(|part| {
            let value = part.places.iter().find_map(|location| view.value(location));
            match (value.as_ref(), part.names) {
                (Some(Value::Bool(flag)), Some((yes, no))) => (if *flag { yes } else { no }).to_owned(),
                _ => value.as_ref().and_then(as_text).unwrap_or_default(),
            }
        });
        parts.collect::<Vec<_>>().join(":")
    }
}

/// The body as JSON. `outer` leaves what is within a field as it is.
pub(super) fn body(content: Content, request: &SignedRequest, outer: bool) -> Result<Value, String> {
    data(
        content,
        &request.body,
        request.header("content-type").as_deref(),
        outer,
    )
}

pub(super) fn data(
    content: Content,
    body: &[u8],
    content_type: Option<&str>,
    outer: bool,
) -> Result<Value, String> {
    let no_form = || "the body is not a form with text or JSON in it".to_owned();
    let is_form = form::is_form(content_type);
    match content {
        Content::JsonOrPayload if is_form => form::parse(body).ok_or_else(no_form),
        Content::JsonOrForm if is_form => form::fields(body).ok_or_else(no_form),
        Content::Braintree => {
            let fields = form::fields(body).ok_or_else(no_form)?;
            if outer {
                return Ok(fields);
            }
            let payload = fields["bt_payload"].as_str().unwrap_or_default();
            let compact: String = payload.split_ascii_whitespace().collect();
            let bytes = BASE64_STANDARD.decode(compact).ok();
            bytes
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .and_then(|text| xml::parse(&text))
                .ok_or_else(|| "bt_payload is not XML in base64".to_owned())
        }
        _ => {
            let bytes = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
            serde_json::from_slice(bytes).map_err(|error| format!("the body is not JSON: {error}"))
        }
    }
}

/// The first of the places that holds a time.
fn time_at(view: &View<'_>, locations: &[Location]) -> Option<Timestamp> {
    locations
        .iter()
        .find_map(|location| time(&view.text(std::slice::from_ref(location))?))
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

/// RFC 3339 (in UTC if it has no offset), or a number since 1970: milliseconds if as seconds it would be after the
/// year 5138.
fn time(text: &str) -> Option<Timestamp> {
    if let Ok(number) = text.parse::<i64>() {
        return if number.unsigned_abs() >= 100_000_000_000 {
            Timestamp::from_millisecond(number).ok()
        } else {
            Timestamp::from_second(number).ok()
        };
    }
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    if let Ok(local) = text.parse::<civil::DateTime>() {
        return TimeZone::UTC.to_timestamp(local).ok();
    }
    fraction(text)
}

/// Seconds with decimal places: exact, which a float would not be.
fn fraction(text: &str) -> Option<Timestamp> {
    let (seconds, decimals) = text.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(seconds) || !digits(decimals) {
        return None;
    }
    let nanos: String = decimals.chars().chain("000000000".chars()).take(9).collect();
    Timestamp::new(seconds.parse().ok()?, nanos.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_providers_write_them() {
        let at = |second, nano| Some(Timestamp::new(second, nano).unwrap());
        assert_eq!(time("1521243339.873676"), at(1_521_243_339, 873_676_000));
        assert_eq!(time("1700000000"), at(1_700_000_000, 0));
        assert_eq!(time("1700000000123"), at(1_700_000_000, 123_000_000));
        assert_eq!(time("2023-11-14T22:13:20"), at(1_700_000_000, 0));
        assert_eq!(time("2023-11-14T23:13:20+01:00"), at(1_700_000_000, 0));
        for bad in ["", "1.", ".5", "-1.5", "1.5e3", "soon", "99999999999999999999.5"] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }
}
