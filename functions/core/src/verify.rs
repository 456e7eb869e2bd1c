//! Which requests are genuine. One engine for all providers; what differs between them is data, in `providers`.
//!
//! Works on the raw bytes only. Reads no clock, fetches no keys, and does not look at networks, body sizes or
//! whether an event was seen before. Nothing of a request is in an error but the cause.

mod facts;
mod form;
mod header;
mod key;
mod providers;
mod read;
mod scheme;
mod sign;
mod signed;

use jiff::{SignedDuration, Timestamp};

use self::{
    facts::Facts,
    header::Found,
    key::{Key, Piece},
};
use crate::{
    config::SourceConfig,
    request::SignedRequest,
    secret::{Secret, SecretError},
};

pub use self::{
    read::{Received, Reply},
    scheme::{Algorithm, Encoding, GenericScheme, GenericTimestamp, Scheme, TimeUnit},
    sign::{SignError, sign_standard_webhook},
    signed::{Location, SignedTemplate},
};

/// One provider's endpoint with its secrets.
#[derive(Debug)]
pub struct Source {
    name: String,
    namespace: String,
    facts: Facts,
    keys: Vec<Key>,
    tolerance: SignedDuration,
}

/// A genuine request. Only [`Source::verify`] makes one.
#[derive(Debug)]
pub struct Verified {
    request: SignedRequest,
    signed_at: Option<Timestamp>,
    secret: usize,
}

/// Why a request is not believed. For logs; the sender learns nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// No signature header, or an empty one.
    #[error("the request has no signature")]
    MissingSignature,
    /// The signature header, or one that is signed with it, is not built as the provider builds it.
    #[error("the signature header is malformed")]
    MalformedHeader,
    /// The id is signed and absent.
    #[error("the request has no id")]
    MissingId,
    /// A header that is signed is absent.
    #[error("a header that is signed is missing")]
    MissingHeader,
    /// The time of signing is absent.
    #[error("the request has no timestamp")]
    MissingTimestamp,
    /// The time of signing is not a whole number.
    #[error("the timestamp is not a number")]
    BadTimestamp,
    /// Genuine once: signed longer ago than the tolerance.
    #[error("the timestamp is too old")]
    TooOld,
    /// Genuine, but signed for later than the tolerance allows.
    #[error("the timestamp is in the future")]
    InFuture,
    /// No signature matches under any secret.
    #[error("no signature matches")]
    Mismatch,
    /// The provider never sends an empty body.
    #[error("the body is empty")]
    EmptyBody,
    /// The source has no secret to verify with.
    #[error("the source has no secret")]
    NoSecret,
}

impl VerifyError {
    /// The cause for logs and metrics, in snake case.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::MissingSignature => "missing_signature",
            Self::MalformedHeader | Self::BadTimestamp => "malformed_header",
            Self::MissingId => "missing_id",
            Self::MissingHeader => "missing_header",
            Self::MissingTimestamp => "missing_timestamp",
            Self::TooOld => "timestamp_too_old",
            Self::InFuture => "timestamp_in_future",
            Self::Mismatch => "signature_mismatch",
            Self::EmptyBody => "empty_body",
            Self::NoSecret => "no_secret",
        }
    }
}

impl Verified {
    /// The request, believed.
    #[must_use]
    pub const fn request(&self) -> &SignedRequest {
        &self.request
    }

    /// When it was signed, where the signature says it.
    #[must_use]
    pub const fn signed_at(&self) -> Option<Timestamp> {
        self.signed_at
    }

    /// The position, among the source's secrets, of the one that matched: tells when an old one can go.
    #[must_use]
    pub const fn secret(&self) -> usize {
        self.secret
    }
}

impl Source {
    /// A source that believes requests signed with any of the secrets, tried in order. Without secrets it
    /// believes none.
    ///
    /// # Errors
    /// When a secret is not what the scheme expects, such as base64.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "secrets are handed over: the caller should not keep them"
    )]
    pub fn new(config: &SourceConfig, secrets: Vec<Secret>) -> Result<Self, SecretError> {
        let facts = Facts::of(&config.scheme);
        let keys = secrets
            .iter()
            .map(|secret| Key::new(&facts, secret))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            name: config.name.clone(),
            namespace: config.namespace.clone(),
            tolerance: config.tolerance.unwrap_or(facts.tolerance),
            facts,
            keys,
        })
    }

    /// Its name in oncehook.toml.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the request is genuine and fresh. The signature is checked before its age, so "too old" is
    /// said of genuine requests only. A time exactly at the tolerance is fresh.
    ///
    /// # Errors
    /// The first cause not to believe it.
    pub fn verify(&self, request: SignedRequest, now: Timestamp) -> Result<Verified, VerifyError> {
        if self.keys.is_empty() {
            return Err(VerifyError::NoSecret);
        }
        if request.body.is_empty() && !self.facts.empty_body {
            return Err(VerifyError::EmptyBody);
        }
        let found = Found::read(&self.facts, &request)?;
        let pieces: Vec<&[u8]> = found
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Body => &*request.body,
                Piece::Text(text) => text.as_bytes(),
            })
            .collect();
        let matches = |key: &Key| key.verify(&pieces, &found.signatures);
        let secret = self.keys.iter().position(matches).ok_or(VerifyError::Mismatch)?;
        let signed_at = match found.time {
            Some(time) => Some(time.fresh(now, self.tolerance)?),
            None => None,
        };
        Ok(Verified {
            request,
            signed_at,
            secret,
        })
    }
}
