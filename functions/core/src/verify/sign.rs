//! Requests as a provider would make them, for trying a source out, and signatures on the user's own deliveries.
//!
//! Sends nothing. The event is the caller's; only what belongs to the signature is put beside or into it.

use base64::{Engine as _, prelude::BASE64_STANDARD, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header::CONTENT_TYPE};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    Source,
    facts::{Batch, Content, Facts, Form, IdPart, KeyForm},
    form, header, jwt,
    key::{Key, Piece},
    providers, read,
    scheme::{Encoding, Scheme, TimeUnit},
    signed::{Location, Part},
    url,
    view::View,
};
use crate::{
    request::SignedRequest,
    secret::{Secret, SecretError},
};

/// What the key of a token made here is called.
const KEY_ID: &str = "oncehook-development";

/// Why a request cannot be signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The source has no secret.
    #[error("the source has no secret to sign with")]
    NoSecret,
    /// A public key verifies and cannot sign.
    #[error("a public key cannot sign")]
    PublicKey,
    /// A header that is signed is not among the extra ones.
    #[error("header `{0}` is signed and has no value")]
    MissingHeader(String),
    /// Something that is not a header's value, such as an id with a line break.
    #[error("`{0}` cannot be the value of a header")]
    BadValue(String),
    /// The signature or its time goes into the body, which has to be a JSON object.
    #[error("this scheme puts its signature or time into the body, which must be a JSON object")]
    NotAnObject,
}

impl Source {
    /// The headers that the provider would send with this body: signature, time, and id and kind where the
    /// scheme has them in headers. `extra` are further headers, some of which may be signed. Signed with the
    /// first secret. For schemes that leave body and URL as they are; [`make`](Self::make) serves all.
    ///
    /// # Errors
    /// When there is no secret that can sign, or the scheme needs a header that is not given.
    pub fn sign(
        &self,
        id: &str,
        kind: &str,
        body: &[u8],
        at: Timestamp,
        extra: &HeaderMap,
    ) -> Result<HeaderMap, SignError> {
        let request = SignedRequest {
            method: Method::POST,
            path_and_query: "/".to_owned(),
            headers: extra.clone(),
            body: bytes::Bytes::copy_from_slice(body),
            source_ip: None,
        };
        Ok(self.make(request, id, kind, at)?.headers)
    }

    /// The request as the provider would make it of this one: with its signature, time, id and kind wherever the
    /// scheme has them. Signed with the first secret.
    ///
    /// # Errors
    /// When there is no secret that can sign, or the request lacks what the scheme needs.
    pub fn make(
        &self,
        mut request: SignedRequest,
        id: &str,
        kind: &str,
        at: Timestamp,
    ) -> Result<SignedRequest, SignError> {
        let facts = &self.facts;
        let key = self.keys.first().ok_or(SignError::NoSecret)?;
        self.name_event(&mut request, id, kind)?;
        let time = time_text(facts, at);
        if facts.content == Content::Braintree {
            wrap(&mut request);
        }
        if facts.signed.has(&Part::Form) {
            name_body(&mut request);
        }
        let mut data = match read::body(facts.content, &request, true) {
            Ok(data) => data,
            Err(_) if writes_body(facts) => return Err(SignError::NotAnObject),
            Err(_) => Value::Null,
        };
        match facts.time.as_ref().and_then(|time| time.places.first()) {
            Some(Location::Header(name)) => set(&mut request.headers, name, &time)?,
            Some(Location::Pointer(pointer)) => {
                // Where the time is signed by itself it is text; else it is a number like others.
                let value = match facts.signed.has(&Part::Pointer(pointer.clone())) {
                    true => json!(time),
                    false => json!(time.parse::<i64>().unwrap_or_default()),
                };
                put(&mut data, pointer, value).ok_or(SignError::NotAnObject)?;
                request.body = data.to_string().into();
            }
            None => {}
        }
        let places = if facts.per_element {
            elements(facts.batch, &data)
        } else {
            vec![String::new()]
        };
        for place in places {
            let part = data.pointer(&place).unwrap_or(&Value::Null);
            let view = View {
                public_url: self.public_url.as_deref(),
                ..View::new(&request, part)
            };
            let value = signature(facts, key, &view, &time, at)?;
            match facts.signature.first() {
                Some(Location::Header(name)) => set(&mut request.headers, name, &value)?,
                Some(Location::Pointer(pointer)) if facts.content == Content::Braintree => {
                    let field = format!("{}={}&", pointer.trim_start_matches('/'), form::encode(&value));
                    request.body = [field.as_bytes(), &request.body].concat().into();
                }
                Some(Location::Pointer(pointer)) => {
                    put(&mut data, &format!("{place}{pointer}"), json!(value))
                        .ok_or(SignError::NotAnObject)?;
                    request.body = data.to_string().into();
                }
                None => {}
            }
        }
        Ok(request)
    }

    /// Sets the headers with the event's id and kind, where the scheme has such.
    fn name_event(&self, request: &mut SignedRequest, id: &str, kind: &str) -> Result<(), SignError> {
        let (kinds, joint) = &self.facts.kind;
        // Of a kind in parts, such as `issues.opened`, only the first is a header.
        let first_kind = if kinds.len() > 1 {
            kind.split(joint).next().unwrap_or_default()
        } else {
            kind
        };
        let id_places = match self.facts.id.first() {
            Some(IdPart::Needed(places)) => Some(places),
            _ => None,
        };
        for (places, value) in [(id_places, id), (kinds.first(), first_kind)] {
            if let Some(Location::Header(name)) = places.and_then(|places| places.first()) {
                set(&mut request.headers, name, value)?;
            }
        }
        Ok(())
    }
}

/// The value that holds the signature.
fn signature(
    facts: &Facts,
    key: &Key,
    view: &View<'_>,
    time: &str,
    at: Timestamp,
) -> Result<String, SignError> {
    let body = &view.request.body;
    if matches!(facts.form, Form::Jwt) {
        let content = jwt::content(KEY_ID, at.as_second(), body);
        let pieces = [Piece::Bytes(content.clone().into_bytes())];
        let signature = key.sign(body, &pieces).ok_or(SignError::PublicKey)?;
        return Ok(format!("{content}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)));
    }
    let headers: Vec<Location> = facts.id_headers().cloned().collect();
    let id = view.text(&headers);
    let pieces = header::pieces(facts, view, Some(time), id.as_deref().or(Some("")))
        .map_err(|_| SignError::MissingHeader(missing(facts, view)))?;
    let signature = facts
        .encoding
        .encode(&key.sign(body, &pieces).ok_or(SignError::PublicKey)?);
    Ok(match &facts.form {
        Form::Pairs {
            separator,
            time: name,
            signature: other,
            ..
        } => format!("{name}={time}{separator}{other}={signature}"),
        Form::Timed { separator } => format!("{time}{separator}{signature}"),
        Form::Versioned => format!("{},{signature}", key.label()),
        Form::Labelled => format!("{}|{signature}", key.label()),
        Form::Plain { prefix, .. } => format!("{prefix}{signature}"),
        Form::Each | Form::For(_) | Form::Jwt => signature,
    })
}

/// The header that is signed and not there.
fn missing(facts: &Facts, view: &View<'_>) -> String {
    let header = facts.signed.parts.iter().find_map(|part| match part {
        Part::Header(name) if !view.request.headers.contains_key(name) => Some(name.clone()),
        _ => None,
    });
    header.unwrap_or_default()
}

fn time_text(facts: &Facts, at: Timestamp) -> String {
    match facts.time.as_ref().map(|time| time.unit) {
        Some(TimeUnit::Milliseconds) => at.as_millisecond().to_string(),
        Some(TimeUnit::Rfc3339) => at.to_string(),
        _ => at.as_second().to_string(),
    }
}

/// Whether the signature or its time is put into a JSON body.
fn writes_body(facts: &Facts) -> bool {
    let times = facts.time.iter().flat_map(|time| &time.places);
    let mut places = facts.signature.iter().chain(times);
    places.any(|place| matches!(place, Location::Pointer(_)))
}

/// Where the elements of a batch are that are signed one by one.
fn elements(batch: Batch, data: &Value) -> Vec<String> {
    let Batch::List { at, within } = batch else {
        return vec![String::new()];
    };
    match data.pointer(at).and_then(Value::as_array) {
        Some(items) => (0..items.len())
            .map(|index| format!("{at}/{index}{within}"))
            .collect(),
        None => vec![String::new()],
    }
}

/// A body as Braintree sends it: base64 in lines of 60, in a form.
fn wrap(request: &mut SignedRequest) {
    let encoded = BASE64_STANDARD.encode(&request.body);
    let mut payload = String::new();
    for (index, character) in encoded.chars().enumerate() {
        if index > 0 && index % 60 == 0 {
            payload.push('\n');
        }
        payload.push(character);
    }
    payload.push('\n');
    request.body = format!("bt_payload={}", form::encode(&payload)).into();
    let form = HeaderValue::from_static(form::TYPE);
    request.headers.insert(CONTENT_TYPE, form);
}

/// Names the hash of a body that is no form in the URL, as Twilio does.
fn name_body(request: &mut SignedRequest) {
    let is_form = form::is_form(request.header("content-type").as_deref());
    if is_form || request.body.is_empty() || url::parameter(&request.path_and_query, "bodySHA256").is_some() {
        return;
    }
    let joint = if request.path_and_query.contains('?') {
        '&'
    } else {
        '?'
    };
    let hash = Encoding::Hex.encode(&Sha256::digest(&request.body));
    request
        .path_and_query
        .push_str(&format!("{joint}bodySHA256={hash}"));
}

/// Puts a value at a JSON Pointer, making the objects on the way. None where a list or a value is in the way.
fn put(data: &mut Value, pointer: &str, value: Value) -> Option<()> {
    let (mut place, path) = (data, pointer.split('/').skip(1));
    for name in path {
        let name = name.replace("~1", "/").replace("~0", "~");
        place = match place {
            Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?)?,
            Value::Object(fields) => fields.entry(name).or_insert_with(|| json!({})),
            _ => return None,
        };
    }
    *place = value;
    Some(())
}

/// The three headers of Standard Webhooks for a delivery of the user's own. The id is what the receiver
/// recognises repetitions by.
///
/// # Errors
/// When the secret is not base64 after `whsec_`, nor an Ed25519 key pair after `whsk_`.
pub fn sign_standard_webhook(
    secret: &Secret,
    id: &str,
    at: Timestamp,
    body: &[u8],
) -> Result<[(&'static str, String); 3], SecretError> {
    let facts = providers::standard_webhooks(&["webhook"]);
    let key = Key::read(&facts, secret)?;
    let time = at.as_second().to_string();
    let pieces = [Piece::Bytes(format!("{id}.{time}.").into_bytes()), Piece::Body];
    let signature = key.sign(body, &pieces).ok_or_else(|| SecretError::Unusable {
        name: secret.name().to_owned(),
        reason: "a public key cannot sign",
    })?;
    let signature = format!("{},{}", key.label(), facts.encoding.encode(&signature));
    Ok([
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", time),
        ("webhook-signature", signature),
    ])
}

impl Scheme {
    /// Whether its secret is what the provider hands out public keys for.
    #[must_use]
    pub fn fetches_keys(&self) -> bool {
        Facts::of(self).key == KeyForm::Credentials
    }

    /// Whether any text serves as a secret, or base64 after `whsec_` does.
    #[must_use]
    pub fn takes_text(&self) -> bool {
        matches!(Facts::of(self).key, KeyForm::Text | KeyForm::StandardWebhooks)
    }

    /// The text of a secret of the form that this scheme takes, made of 32 bytes: for development and tests. Where
    /// the provider has key pairs it is a private key, which signs as well.
    #[must_use]
    pub fn secret_of(&self, seed: &[u8; 32]) -> String {
        Key::text(&Facts::of(self), seed)
    }
}

fn set(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), SignError> {
    let bad = |text: &str| SignError::BadValue(text.to_owned());
    let name = HeaderName::try_from(name).map_err(|_| bad(name))?;
    headers.insert(name, HeaderValue::try_from(value).map_err(|_| bad(value))?);
    Ok(())
}
