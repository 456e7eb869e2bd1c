//! The names of the schemes, and the one that is made in oncehook.toml (`scheme = "hmac"`).
//!
//! What a scheme means is in `providers`; TOML is read by `config`.

use jiff::SignedDuration;

use super::{
    facts::{Challenge, Facts, Provider},
    providers,
    signed::{Location, SignedTemplate},
};
use crate::request::SignedRequest;

/// How a provider signs and where it puts what an event is made of.
#[derive(Debug, Clone)]
pub enum Scheme {
    /// One of the table.
    Known(&'static Provider),
    /// Described in oncehook.toml.
    Generic(Box<GenericScheme>),
}

impl Scheme {
    /// Every name that `scheme = ".."` accepts: those of the table, in its order, and `hmac`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        providers::all().map(|provider| provider.name).chain(["hmac"])
    }

    /// The body of an event as data, numbers kept as written.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn data(&self, body: &[u8], content_type: Option<&str>) -> Result<serde_json::Value, String> {
        super::read::data(Facts::of(self).content, body, content_type, false)
    }

    /// The value in an event's data that the provider uses for that event only, where its scheme has such.
    #[must_use]
    pub fn token(&self, data: &serde_json::Value) -> Option<String> {
        Facts::of(self).token_in(data)
    }

    /// A scheme that needs no further description: any of [`names`](Self::names) but `hmac`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let known = if name == "hubspot-v3" { "hubspot" } else { name };
        providers::all()
            .find(|provider| provider.name == known)
            .map(Self::Known)
    }

    /// Its name in oncehook.toml.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Known(provider) => provider.name,
            Self::Generic(_) => "hmac",
        }
    }

    /// Whether its signatures carry a time, so that old requests cannot be sent again by someone else.
    #[must_use]
    pub fn signs_time(&self) -> bool {
        Facts::of(self).is_fresh()
    }

    /// Whether the signature covers the event's id.
    #[must_use]
    pub fn signs_id(&self) -> bool {
        Facts::of(self).signs_id()
    }

    /// Whether the URL is signed, so that it must be known.
    #[must_use]
    pub fn signs_url(&self) -> bool {
        Facts::of(self).signs_url()
    }

    /// Whether it has a set-up request for which a token of the user's own is needed.
    #[must_use]
    pub fn takes_verify_token(&self) -> bool {
        Facts::of(self).challenge == Some(Challenge::Hub)
    }

    /// Whether the provider hands the secret over by a request, for which a time has to be named.
    #[must_use]
    pub fn is_enrolled(&self) -> bool {
        Facts::of(self).challenge == Some(Challenge::Asana)
    }

    /// Whether a request is an unsigned one about the endpoint, to be answered by
    /// [`challenge`](super::Source::challenge).
    #[must_use]
    pub fn takes_challenge(&self, request: &SignedRequest) -> bool {
        Facts::of(self)
            .challenge
            .is_some_and(|challenge| challenge.is_asked_by(request))
    }

    /// The headers that hold its signature, or the secret itself: to be shown to nobody.
    #[must_use]
    pub fn signature_headers(&self) -> Vec<String> {
        let header = |location| match location {
            Location::Header(name) => Some(name),
            Location::Pointer(_) => None,
        };
        Facts::of(self).signature.into_iter().filter_map(header).collect()
    }

    /// The status that the provider wants.
    #[must_use]
    pub fn success(&self) -> u16 {
        Facts::of(self).success
    }

    /// How long the provider waits for an answer, where it says so.
    #[must_use]
    pub fn timeout(&self) -> Option<SignedDuration> {
        Facts::of(self).timeout
    }

    /// How long after an event the provider delivers it again by itself, where it says so.
    #[must_use]
    pub fn retried_for(&self) -> Option<SignedDuration> {
        Facts::of(self).retried_for
    }
}

/// An HMAC over the raw body and perhaps more, in one header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenericScheme {
    /// The header with the signature.
    pub header: String,
    /// What stands before each signature, such as `sha256=`; may be empty.
    pub prefix: String,
    /// How the signature is written.
    pub encoding: Encoding,
    /// The hash of the HMAC.
    pub algorithm: Algorithm,
    /// What is signed.
    pub signed: SignedTemplate,
    /// The time of the request, if the provider sends one.
    pub timestamp: Option<GenericTimestamp>,
    /// What stands between several signatures in the header; one signature only if absent.
    pub separator: Option<String>,
    /// Where the event's id is.
    pub id: Location,
    /// Where the event type is.
    pub kind: Option<Location>,
    /// Where the time of the event is: RFC 3339, or epoch seconds or milliseconds.
    pub occurred_at: Option<Location>,
    /// Where that is what makes ids unique, such as an account.
    pub scope: Option<Location>,
}

impl GenericScheme {
    /// Whether its parts fit together: a timestamp that is not signed protects from nothing.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn check(&self) -> Result<(), String> {
        match (&self.timestamp, self.signed.has_timestamp()) {
            (Some(time), false) if !self.signed.has_header(&time.header) => Err(format!(
                "header `{}` has the timestamp, but {{timestamp}} is not in what is signed",
                time.header
            )),
            (None, true) => Err("{timestamp} is signed, but no header is named that has it".to_owned()),
            _ => Ok(()),
        }
    }
}

/// A header with the time at which a request was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenericTimestamp {
    /// The header.
    pub header: String,
    /// Its unit.
    pub unit: TimeUnit,
}

/// The unit of an epoch time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// `s`.
    Seconds,
    /// `ms`.
    Milliseconds,
    /// RFC 3339: not an epoch time at all, and only some providers'.
    Rfc3339,
}

/// How a signature is written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Hex digits of either case.
    Hex,
    /// Hex digits of lower case.
    LowerHex,
    /// The standard alphabet of RFC 4648, padded or not.
    Base64,
    /// The text itself.
    Text,
}

/// The hash of an HMAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// HMAC-SHA-1.
    Sha1,
    /// HMAC-SHA-256.
    Sha256,
    /// HMAC-SHA-512.
    Sha512,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_scheme() {
        for name in Scheme::names().filter(|name| *name != "hmac") {
            assert_eq!(Scheme::from_name(name).map(|scheme| scheme.name()), Some(name));
        }
        let names: std::collections::BTreeSet<&str> = Scheme::names().collect();
        assert_eq!(names.len(), Scheme::names().count());
    }
}
