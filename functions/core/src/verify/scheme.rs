//! The names of the schemes, and the one that is made in oncehook.toml (`scheme = "hmac"`).
//!
//! What a scheme means is in `providers`; TOML is read by `config`.

use jiff::SignedDuration;

use super::{
    facts::Facts,
    signed::{Location, SignedTemplate},
};

/// How a provider signs and where it puts what an event is made of.
#[derive(Debug, Clone)]
pub enum Scheme {
    /// <https://docs.stripe.com/webhooks#verify-manually>
    Stripe,
    /// <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
    StandardWebhooks,
    /// <https://docs.svix.com/receiving/verifying-payloads/how-manual>; Clerk, Resend and others.
    Svix,
    /// <https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries>
    GitHub,
    /// <https://shopify.dev/docs/apps/build/webhooks/subscribe/https#step-5-verify-the-webhook>
    Shopify,
    /// <https://docs.slack.dev/authentication/verifying-requests-from-slack>
    Slack,
    /// Described in oncehook.toml.
    Generic(Box<GenericScheme>),
}

impl Scheme {
    /// Every name that `scheme = ".."` accepts.
    pub const NAMES: &[&str] = &[
        "stripe",
        "standard-webhooks",
        "svix",
        "github",
        "shopify",
        "slack",
        "hmac",
    ];

    /// A scheme that needs no further description: any of [`NAMES`](Self::NAMES) but `hmac`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "stripe" => Self::Stripe,
            "standard-webhooks" => Self::StandardWebhooks,
            "svix" => Self::Svix,
            "github" => Self::GitHub,
            "shopify" => Self::Shopify,
            "slack" => Self::Slack,
            _ => return None,
        })
    }

    /// Its name in oncehook.toml.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Stripe => "stripe",
            Self::StandardWebhooks => "standard-webhooks",
            Self::Svix => "svix",
            Self::GitHub => "github",
            Self::Shopify => "shopify",
            Self::Slack => "slack",
            Self::Generic(_) => "hmac",
        }
    }

    /// Whether its signatures carry a time, so that old requests cannot be sent again by someone else.
    #[must_use]
    pub fn signs_time(&self) -> bool {
        let facts = Facts::of(self);
        facts.time.is_some() && facts.signed.has_timestamp()
    }

    /// How long the provider waits for an answer, where it says so.
    #[must_use]
    pub fn timeout(&self) -> Option<SignedDuration> {
        Facts::of(self).timeout
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
}

/// How a signature is written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Hex digits of either case.
    Hex,
    /// The standard alphabet of RFC 4648, padded or not.
    Base64,
}

/// The hash of an HMAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
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
        for name in Scheme::NAMES.iter().filter(|name| **name != "hmac") {
            assert_eq!(Scheme::from_name(name).map(|scheme| scheme.name()), Some(*name));
        }
    }
}
