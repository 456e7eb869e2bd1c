//! Secrets as keys, and the comparison of signatures: in constant time, by the libraries that compute them.
//!
//! Knows nothing of headers or of what is signed.

use std::fmt;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose},
};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Sha256, Sha512};

use super::{
    facts::{Facts, KeyForm},
    scheme::{Algorithm, Encoding},
};
use crate::secret::{Secret, SecretError};

/// A piece of what is signed.
#[derive(Debug)]
pub(super) enum Piece {
    /// The request's body.
    Body,
    /// This text.
    Text(String),
}

/// A signature as sent: bytes, and the version it claims where the provider has versions.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) version: Option<&'static str>,
    pub(super) bytes: Vec<u8>,
}

/// A key made from a secret.
pub(super) enum Key {
    Sha256(Hmac<Sha256>),
    Sha512(Hmac<Sha512>),
    /// The private half only where requests are also made with it.
    Ed25519(Box<VerifyingKey>, Option<Box<SigningKey>>),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key([redacted])")
    }
}

/// Secrets are written by people: padded or not, and with bits left over at the end.
const SECRET_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

impl Key {
    /// The key that a secret's text stands for.
    pub(super) fn new(facts: &Facts, secret: &Secret) -> Result<Self, SecretError> {
        let text = secret.expose();
        let unusable = |reason| SecretError::Unusable {
            name: secret.name().to_owned(),
            reason,
        };
        match facts.key {
            KeyForm::Text => Self::hmac(facts.algorithm, text.as_bytes()),
            KeyForm::StandardWebhooks => Self::standard_webhooks(text),
        }
        .map_err(unusable)
    }

    fn hmac(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, &'static str> {
        match algorithm {
            Algorithm::Sha256 => Hmac::new_from_slice(bytes).map(Self::Sha256),
            Algorithm::Sha512 => Hmac::new_from_slice(bytes).map(Self::Sha512),
        }
        .map_err(|_| "not a key for an HMAC")
    }

    /// Standard Webhooks, "Signature scheme": `whsec_` (optional here), `whpk_` and `whsk_`, then base64.
    fn standard_webhooks(text: &str) -> Result<Self, &'static str> {
        let decode = |text: &str| SECRET_BASE64.decode(text).ok();
        if let Some(public) = text.strip_prefix("whpk_") {
            let bytes = decode(public).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            let key = bytes.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
            return key
                .map(|key| Self::Ed25519(Box::new(key), None))
                .ok_or("after whpk_ an Ed25519 public key is expected");
        }
        if let Some(private) = text.strip_prefix("whsk_") {
            let bytes = decode(private).and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
            let key = bytes.and_then(|bytes| SigningKey::from_keypair_bytes(&bytes).ok());
            return key
                .map(|key| Self::Ed25519(Box::new(key.verifying_key()), Some(Box::new(key))))
                .ok_or("after whsk_ an Ed25519 key pair is expected");
        }
        match decode(text.strip_prefix("whsec_").unwrap_or(text)) {
            Some(bytes) if !bytes.is_empty() => Self::hmac(Algorithm::Sha256, &bytes),
            _ => Err("base64 is expected, after whsec_ if it begins so"),
        }
    }

    /// Whether one of the signatures is this key's over the pieces, one after the other.
    pub(super) fn verify(&self, pieces: &[&[u8]], candidates: &[Candidate]) -> bool {
        let mut ours = candidates
            .iter()
            .filter(|candidate| candidate.version.is_none_or(|version| version == self.version()))
            .map(|candidate| candidate.bytes.as_slice());
        match self {
            Self::Sha256(key) => {
                let mac = pieces
                    .iter()
                    .fold(key.clone(), |mac, piece| mac.chain_update(piece));
                ours.any(|bytes| mac.clone().verify_slice(bytes).is_ok())
            }
            Self::Sha512(key) => {
                let mac = pieces
                    .iter()
                    .fold(key.clone(), |mac, piece| mac.chain_update(piece));
                ours.any(|bytes| mac.clone().verify_slice(bytes).is_ok())
            }
            Self::Ed25519(key, _) => {
                let content = pieces.concat();
                ours.any(|bytes| {
                    Signature::from_slice(bytes)
                        .is_ok_and(|signature| key.verify_strict(&content, &signature).is_ok())
                })
            }
        }
    }

    /// The signature over the pieces; none for a public key.
    pub(super) fn sign(&self, pieces: &[&[u8]]) -> Option<Vec<u8>> {
        match self {
            Self::Sha256(key) => {
                let mac = pieces
                    .iter()
                    .fold(key.clone(), |mac, piece| mac.chain_update(piece));
                Some(mac.finalize().into_bytes().to_vec())
            }
            Self::Sha512(key) => {
                let mac = pieces
                    .iter()
                    .fold(key.clone(), |mac, piece| mac.chain_update(piece));
                Some(mac.finalize().into_bytes().to_vec())
            }
            Self::Ed25519(_, private) => private
                .as_ref()
                .map(|private| private.sign(&pieces.concat()).to_bytes().to_vec()),
        }
    }

    /// The version of Standard Webhooks that its signatures have.
    pub(super) const fn version(&self) -> &'static str {
        match self {
            Self::Sha256(_) | Self::Sha512(_) => "v1",
            Self::Ed25519(..) => "v1a",
        }
    }
}

impl Encoding {
    /// The bytes of a signature; none if it is not written in this encoding.
    pub(super) fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => hex::decode(text).ok(),
            Self::Base64 => general_purpose::STANDARD_PAD_INDIFFERENT.decode(text).ok(),
        }
    }

    /// The bytes as providers write them.
    pub(super) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => hex::encode(bytes),
            Self::Base64 => general_purpose::STANDARD.encode(bytes),
        }
    }
}
