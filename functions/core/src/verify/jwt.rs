//! JSON Web Tokens that vouch for a body by its hash: Plaid.
//!
//! ES256 only, named in the token's header; any other algorithm is refused before a key is looked at. Fetches no keys.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::{
    VerifyError,
    header::{Found, SignedTime},
    key::{Candidate, Piece},
    scheme::TimeUnit,
};

/// Far above what Plaid sends.
const MAX_LENGTH: usize = 4096;

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: String,
}

#[derive(Deserialize)]
struct Claims {
    iat: i64,
    request_body_sha256: String,
}

/// The id of the key that a token says it is signed with.
pub(super) fn key_id(token: &str) -> Result<String, VerifyError> {
    Ok(header(token)?.kid)
}

/// What is to be checked of a token.
pub(super) fn found(token: &str, body: &[u8]) -> Result<Found, VerifyError> {
    header(token)?;
    let (content, signature) = token.rsplit_once('.').ok_or(VerifyError::MalformedHeader)?;
    let (_, claims) = content.split_once('.').ok_or(VerifyError::MalformedHeader)?;
    let claims: Claims = part(claims)?;
    let bytes = URL_SAFE_NO_PAD
        .decode(signature)
        .map_err(|_| VerifyError::MalformedSignature)?;
    body_hash(body, &claims.request_body_sha256)?;
    Ok(Found {
        signatures: vec![Candidate { label: None, bytes }],
        pieces: vec![Piece::Bytes(content.as_bytes().to_vec())],
        time: SignedTime::read(&claims.iat.to_string(), TimeUnit::Seconds),
    })
}

/// Whether a body is the one of a hash in hex, as tokens of Plaid and URLs of Twilio name it.
///
/// # Errors
/// [`VerifyError::BodyHashMismatch`] if not.
pub fn body_hash(body: &[u8], hash: &str) -> Result<(), VerifyError> {
    let named = hex::decode(hash).map_err(|_| VerifyError::BodyHashMismatch)?;
    if bool::from(Sha256::digest(body).as_slice().ct_eq(&named)) {
        Ok(())
    } else {
        Err(VerifyError::BodyHashMismatch)
    }
}

/// A token's header and claims for this body; what is signed of it.
pub(super) fn content(key_id: &str, second: i64, body: &[u8]) -> String {
    let header = serde_json::json!({"alg": "ES256", "kid": key_id, "typ": "JWT"});
    let claims = serde_json::json!({
        "iat": second, "request_body_sha256": hex::encode(Sha256::digest(body)),
    });
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

fn header(token: &str) -> Result<Header, VerifyError> {
    if token.len() > MAX_LENGTH || token.bytes().filter(|byte| *byte == b'.').count() != 2 {
        return Err(VerifyError::MalformedHeader);
    }
    let first = token.split('.').next().unwrap_or_default();
    let header: Header = part(first)?;
    if header.alg == "ES256" {
        Ok(header)
    } else {
        Err(VerifyError::MalformedHeader)
    }
}

fn part<T: for<'a> Deserialize<'a>>(part: &str) -> Result<T, VerifyError> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok();
    bytes
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .ok_or(VerifyError::MalformedHeader)
}
