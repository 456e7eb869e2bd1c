//! Which requests are genuine. One engine for all providers; what differs between them is data, in `providers`.
//!
//! Works on the raw bytes only. Reads no clock, fetches no keys, and does not look at networks, body sizes or
//! whether an event was seen before. Nothing of a request is in an error but the cause.

mod batch;
mod certificate;
mod describe;
mod error;
mod facts;
mod fields;
mod form;
mod handshake;
mod header;
mod jwt;
mod key;
mod limits;
mod providers;
mod read;
mod sample;
mod scheme;
mod sign;
mod signed;
mod url;
mod view;
mod xml;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use self::{
    facts::{Facts, KeyForm},
    header::Found,
    key::Key,
    view::View,
};
use crate::{
    config::SourceConfig,
    request::SignedRequest,
    secret::{Secret, SecretError},
};

pub use self::{
    describe::Description,
    error::VerifyError,
    facts::Provider,
    handshake::enrolment,
    jwt::body_hash,
    providers::LeftOut,
    read::{Received, Reply},
    scheme::{Algorithm, Encoding, GenericScheme, GenericTimestamp, Scheme, TimeUnit},
    sign::{SignError, sign_standard_webhook},
    signed::Location,
    signed::SignedTemplate,
};

/// One provider's endpoint with its secrets.
#[derive(Debug)]
pub struct Source {
    name: String,
    namespace: String,
    facts: Facts,
    keys: Vec<Key>,
    tolerance: Option<SignedDuration>,
    public_url: Option<String>,
    max_body: usize,
    body_guard: bool,
    verify_token: Option<Secret>,
}

/// A genuine request. Only [`Source::verify`] makes one.
#[derive(Debug)]
pub struct Verified {
    request: SignedRequest,
    signed_at: Option<Timestamp>,
    secret: usize,
}

/// What has to be fetched from a provider before a request can be verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// The public key of this id, from the provider's API.
    Key(String),
    /// The certificate at this URL, which is one of the provider's.
    Certificate(String),
}

/// A public key that a provider has handed out.
#[derive(Debug)]
pub struct PublicKey(Key);

impl PublicKey {
    /// A key from the JSON of a JWK: P-256 only. None if it is anything else.
    #[must_use]
    pub fn from_jwk(jwk: &Value) -> Option<Self> {
        Key::jwk(jwk).map(Self)
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
            .map(|secret| Key::read(&facts, secret))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            name: config.name.clone(),
            namespace: config.namespace.clone(),
            tolerance: config.tolerance.or(facts.tolerance),
            public_url: config.public_url.clone(),
            max_body: config.max_body,
            body_guard: config.body_guard,
            verify_token: None,
            facts,
            keys,
        })
    }

    /// Answers the unsigned set-up request of Meta for those who know this token.
    #[must_use]
    pub fn with_verify_token(mut self, token: Secret) -> Self {
        self.verify_token = Some(token);
        self
    }

    /// Its name in oncehook.toml.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key of a certificate (PEM) that [`wanted`](Self::wanted) asked for; none if it is not the provider's, or not in
    /// force.
    #[must_use]
    pub fn certified(&self, pem: &[u8], now: Timestamp) -> Option<PublicKey> {
        match &self.facts.key {
            KeyForm::Named(issued) => Key::certified(issued, &self.facts, pem, now).map(PublicKey),
            _ => None,
        }
    }

    /// What has to be fetched before this request can be verified; none if nothing has to.
    ///
    /// # Errors
    /// When the request does not say, or cannot be genuine under any key.
    pub fn wanted(&self, request: &SignedRequest) -> Result<Option<Wanted>, VerifyError> {
        if !self.keys.iter().any(Key::is_fetched) {
            return Ok(None);
        }
        if let KeyForm::Named(issued) = &self.facts.key {
            limits::headers(request)?;
            let data = match self.facts.reads_body() {
                true => read::body(self.facts.content, request, true)
                    .map_err(|_| VerifyError::MalformedPayload)?,
                false => Value::Null,
            };
            let view = View::new(request, &data);
            let found = Found::read(&self.facts, &view)?;
            // Signatures for others are no reason to fetch anything.
            let known = |key: &Key| found.signatures.iter().any(|one| key.takes(one));
            if !self.keys.iter().any(known) {
                return Err(VerifyError::Mismatch);
            }
            return issued.url(&view).map(|url| Some(Wanted::Certificate(url)));
        }
        let view = View::new(request, &Value::Null);
        let token = view
            .strict(&self.facts.signature)?
            .ok_or(VerifyError::MissingSignature)?;
        // The hash costs nothing and keeps others from making us ask for keys.
        jwt::found(&token, &request.body)?;
        jwt::key_id(&token).map(|id| Some(Wanted::Key(id)))
    }

    /// Whether the request is genuine and fresh. The signature is checked before its age, so "too old" is
    /// said of genuine requests only. A time exactly at the tolerance is fresh.
    ///
    /// # Errors
    /// The first cause not to believe it.
    pub fn verify(&self, request: SignedRequest, now: Timestamp) -> Result<Verified, VerifyError> {
        self.verify_with(request, now, None)
    }

    /// As [`verify`](Self::verify), with the public key that [`wanted`](Self::wanted) asked for.
    ///
    /// # Errors
    /// The first cause not to believe it.
    pub fn verify_with(
        &self,
        mut request: SignedRequest,
        now: Timestamp,
        fetched: Option<&PublicKey>,
    ) -> Result<Verified, VerifyError> {
        limits::headers(&request)?;
        if self.keys.is_empty() {
            return Err(VerifyError::NoSecret);
        }
        if request.body.is_empty() && !self.facts.empty_body {
            return Err(VerifyError::EmptyBody);
        }
        // Providers sign what they then compress; whoever signs the compressed bytes is believed as well.
        let expanded = limits::expanded(&request, self.max_body)?;
        let result = match &expanded {
            Some(expanded) => match self.check(expanded, now, fetched) {
                Err(VerifyError::Mismatch) => self.check(&request, now, fetched),
                result => result,
            },
            None => self.check(&request, now, fetched),
        };
        let (secret, signed_at) = result?;
        if let Some(expanded) = expanded {
            request = expanded;
        }
        Ok(Verified {
            request,
            signed_at,
            secret,
        })
    }

    /// The position of the secret and the time of signing of a request that is genuine and fresh.
    fn check(
        &self,
        request: &SignedRequest,
        now: Timestamp,
        fetched: Option<&PublicKey>,
    ) -> Result<(usize, Option<Timestamp>), VerifyError> {
        let body = if self.facts.reads_body() {
            read::body(self.facts.content, request, true).map_err(|_| VerifyError::MalformedPayload)?
        } else {
            Value::Null
        };
        let parts: Vec<&Value> = if self.facts.per_element {
            batch::values(self.facts.batch, &body)
        } else {
            vec![&body]
        };
        let mut result = Err(VerifyError::MissingSignature);
        for part in parts {
            let view = View {
                public_url: self.public_url.as_deref(),
                ..View::new(request, part)
            };
            let found = Found::read(&self.facts, &view)?;
            let matches = |key: &Key| match fetched {
                Some(PublicKey(public)) if key.is_fetched() => {
                    public.verify_for(key, &request.body, &found.pieces, &found.signatures)
                }
                _ => key.verify(&request.body, &found.pieces, &found.signatures),
            };
            let secret = match self.keys.iter().position(matches) {
                Some(secret) => secret,
                None if fetched.is_none() && self.keys.iter().all(Key::is_fetched) => {
                    return Err(VerifyError::NoKey);
                }
                None => return Err(VerifyError::Mismatch),
            };
            let signed_at = self.signed_at(request, found.time, now)?;
            // Of several, the oldest secret that is still needed.
            result = match result {
                Ok((other, time)) => Ok((secret.max(other), signed_at.or(time))),
                Err(_) => Ok((secret, signed_at)),
            };
        }
        result
    }

    /// The time of signing, if it is fresh enough. Without a tolerance it is not looked at where the provider's own
    /// text is all that is signed.
    fn signed_at(
        &self,
        request: &SignedRequest,
        found: Option<header::SignedTime>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, VerifyError> {
        let late = self.facts.time.as_ref().filter(|time| time.late);
        let time = match late {
            None => found,
            Some(_) if self.tolerance.is_none() => None,
            Some(time) => {
                let in_body = time
                    .places
                    .iter()
                    .any(|place| matches!(place, Location::Pointer(_)));
                let body = if in_body {
                    read::body(self.facts.content, request, true).unwrap_or_default()
                } else {
                    Value::Null
                };
                Found::late_time(&self.facts, &View::new(request, &body))?
            }
        };
        time.map(|time| time.fresh(now, self.tolerance)).transpose()
    }
}
