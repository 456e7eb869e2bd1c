//! Requests as a provider would sign them, for trying a source out, and signatures on the user's own deliveries.
//!
//! Makes headers only; the body is the caller's, and so is what the scheme reads from it.

use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;

use super::{
    Source,
    facts::{Facts, Form},
    key::Key,
    scheme::{Scheme, TimeUnit},
    signed::{Location, Part},
};
use crate::secret::{Secret, SecretError};

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
}

impl Source {
    /// The headers that the provider would send with this body: signature, time, and id and kind where the
    /// scheme has them in headers. `extra` are further headers, some of which may be signed. Signed with the
    /// first secret.
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
        let facts = &self.facts;
        let key = self.keys.first().ok_or(SignError::NoSecret)?;
        let mut headers = extra.clone();
        let (kinds, joint) = &facts.kind;
        // Of a kind in parts, such as `issues.opened`, only the first is a header.
        let first_kind = if kinds.len() > 1 {
            kind.split(joint).next().unwrap_or_default()
        } else {
            kind
        };
        for (places, value) in [(Some(&facts.id), id), (kinds.first(), first_kind)] {
            if let Some(Location::Header(name)) = places.and_then(|places| places.first()) {
                set(&mut headers, name, value)?;
            }
        }
        let time = match facts.time.as_ref().map(|time| time.unit) {
            Some(TimeUnit::Milliseconds) => at.as_millisecond().to_string(),
            _ => at.as_second().to_string(),
        };
        if let Some(name) = facts.time.as_ref().and_then(|time| time.headers.first()) {
            set(&mut headers, name, &time)?;
        }
        let mut pieces: Vec<&[u8]> = Vec::new();
        for part in &facts.signed.parts {
            pieces.push(match part {
                Part::Body => body,
                Part::Timestamp => time.as_bytes(),
                Part::Id => id.as_bytes(),
                Part::Text(text) => text.as_bytes(),
                Part::Header(name) => headers
                    .get(name)
                    .ok_or_else(|| SignError::MissingHeader(name.clone()))?
                    .as_bytes(),
            });
        }
        let signature = facts
            .encoding
            .encode(&key.sign(&pieces).ok_or(SignError::PublicKey)?);
        let value = match &facts.form {
            Form::Pairs => format!("t={time},v1={signature}"),
            Form::Versioned => format!("{},{signature}", key.version()),
            Form::Plain { prefix, .. } => format!("{prefix}{signature}"),
        };
        if let Some(name) = facts.signature.first() {
            set(&mut headers, name, &value)?;
        }
        Ok(headers)
    }
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
    let facts = Facts::of(&Scheme::StandardWebhooks);
    let key = Key::new(&facts, secret)?;
    let time = at.as_second().to_string();
    let pieces: [&[u8]; 5] = [id.as_bytes(), b".", time.as_bytes(), b".", body];
    let signature = key.sign(&pieces).ok_or_else(|| SecretError::Unusable {
        name: secret.name().to_owned(),
        reason: "a public key cannot sign",
    })?;
    let signature = format!("{},{}", key.version(), facts.encoding.encode(&signature));
    Ok([
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", time),
        ("webhook-signature", signature),
    ])
}

fn set(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), SignError> {
    let bad = |text: &str| SignError::BadValue(text.to_owned());
    let name = HeaderName::try_from(name).map_err(|_| bad(name))?;
    headers.insert(name, HeaderValue::try_from(value).map_err(|_| bad(value))?);
    Ok(())
}
