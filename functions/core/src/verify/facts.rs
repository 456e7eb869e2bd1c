//! The columns of the table of facts: all that the engine can be told about a provider.
//!
//! The rows are in `providers`.

use jiff::SignedDuration;

use super::{
    providers,
    scheme::{Algorithm, Encoding, Scheme, TimeUnit},
    signed::{Location, Part, SignedTemplate},
};

/// What a provider does. Lists of names and places are alternatives: the first that is present counts.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// Headers with the signature.
    pub(super) signature: Vec<String>,
    /// How that header is built.
    pub(super) form: Form,
    /// How a signature is written.
    pub(super) encoding: Encoding,
    /// The hash of the HMAC.
    pub(super) algorithm: Algorithm,
    /// What is signed.
    pub(super) signed: SignedTemplate,
    /// Where the time of signing is.
    pub(super) time: Option<Time>,
    /// How far that time may be from now, either way.
    pub(super) tolerance: SignedDuration,
    /// What a secret's text stands for.
    pub(super) key: KeyForm,
    /// Whether a request without a body can be genuine.
    pub(super) empty_body: bool,
    /// Whether bodies may be form-encoded.
    pub(super) forms: bool,
    /// A request that is answered and is no event.
    pub(super) handshake: Option<Handshake>,
    /// The event's id.
    pub(super) id: Vec<Location>,
    /// The parts of the event's kind and what joins them.
    pub(super) kind: (Vec<Vec<Location>>, &'static str),
    /// When the event happened.
    pub(super) occurred_at: Vec<Location>,
    /// Whether the time of signing stands in where `occurred_at` has nothing.
    pub(super) occurred_when_signed: bool,
    /// The parts of the scope, joined by colons.
    pub(super) scope: Vec<ScopePart>,
    /// How long the provider waits for an answer.
    pub(super) timeout: Option<SignedDuration>,
}

/// How the signature header is built.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// A prefix and a signature; several of them with a separator between.
    Plain {
        prefix: String,
        separator: Option<String>,
    },
    /// `t=TIME,v1=SIGNATURE,..`: Stripe.
    Pairs,
    /// `VERSION,SIGNATURE ..`: Standard Webhooks.
    Versioned,
}

/// Where the time of signing is.
#[derive(Debug, Clone)]
pub(super) struct Time {
    /// Headers; none if it is within the signature header.
    pub(super) headers: Vec<String>,
    /// Its unit.
    pub(super) unit: TimeUnit,
}

/// What a secret's text stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyForm {
    /// Its own bytes.
    Text,
    /// base64 after `whsec_` (optional), or an Ed25519 key after `whpk_` or `whsk_`.
    StandardWebhooks,
}

/// A request that asks for an echo.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handshake {
    /// JSON Pointer to what marks it.
    pub(super) mark: &'static str,
    /// The mark.
    pub(super) is: &'static str,
    /// JSON Pointer to what is echoed.
    pub(super) echo: &'static str,
}

/// A part of the scope.
#[derive(Debug, Clone)]
pub(super) struct ScopePart {
    /// Where it is.
    pub(super) places: Vec<Location>,
    /// What true and false are called.
    pub(super) names: Option<(&'static str, &'static str)>,
}

impl Facts {
    /// The facts of a scheme.
    pub(super) fn of(scheme: &Scheme) -> Self {
        match scheme {
            Scheme::Stripe => providers::stripe(),
            Scheme::StandardWebhooks => providers::standard_webhooks(&["webhook"]),
            Scheme::Svix => providers::standard_webhooks(&["svix", "webhook"]),
            Scheme::GitHub => providers::github(),
            Scheme::Shopify => providers::shopify(),
            Scheme::Slack => providers::slack(),
            Scheme::Generic(generic) => providers::generic(generic),
        }
    }

    /// An HMAC-SHA-256 of the body in one header, keyed with the secret's text, and nothing known about events.
    pub(super) fn plain(header: &str, encoding: Encoding) -> Self {
        Self {
            signature: vec![header.to_owned()],
            form: Form::Plain {
                prefix: String::new(),
                separator: None,
            },
            encoding,
            algorithm: Algorithm::Sha256,
            signed: SignedTemplate {
                parts: vec![Part::Body],
            },
            time: None,
            tolerance: SignedDuration::from_mins(5),
            key: KeyForm::Text,
            empty_body: true,
            forms: false,
            handshake: None,
            id: vec![],
            kind: (vec![], ""),
            occurred_at: vec![],
            occurred_when_signed: false,
            scope: vec![],
            timeout: None,
        }
    }

    /// Whether the signature covers the event's id.
    pub(super) fn signs_id(&self) -> bool {
        self.signed.has(&Part::Id)
            || self.id.iter().all(|place| match place {
                Location::Pointer(_) => true,
                Location::Header(name) => self.signed.has_header(name),
            })
    }
}
