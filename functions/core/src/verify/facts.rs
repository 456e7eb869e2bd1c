//! The columns of the table of facts: all that the engine, the command line and the docs are told about a provider.
//!
//! The rows are in `providers`.

use jiff::SignedDuration;
use serde_json::Value;

use super::{
    VerifyError,
    certificate::Issued,
    providers,
    scheme::{Algorithm, Encoding, Scheme, TimeUnit},
    signed::{Location, Part, SignedTemplate},
    view::{View, as_text},
};

/// What a request has to fulfil beyond its signature.
pub(super) type Rule = fn(&View<'_>) -> Result<(), VerifyError>;

/// A scheme of the table.
#[derive(Debug, Clone, Copy)]
pub struct Provider {
    /// Its name in oncehook.toml.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// All that is known of it.
    pub(super) facts: fn() -> Facts,
}

/// What a provider does. Lists of names and places are alternatives: the first that is present counts.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// Where the signature is: headers, or places in the body.
    pub(super) signature: Vec<Location>,
    /// How it is built.
    pub(super) form: Form,
    /// How a signature is written.
    pub(super) encoding: Encoding,
    /// How it is made.
    pub(super) proof: Proof,
    /// What a secret's text stands for.
    pub(super) key: KeyForm,
    /// What is signed.
    pub(super) signed: SignedTemplate,
    /// In which spellings the URL may have been signed.
    pub(super) url: UrlForms,
    /// A rule beyond the signature, looked at before it.
    pub(super) rule: Option<Rule>,
    /// Whether every element of a batch has a signature of its own.
    pub(super) per_element: bool,
    /// Where the time of signing is.
    pub(super) time: Option<Time>,
    /// How far that time may be from now, either way; none where the provider gives none.
    pub(super) tolerance: Option<SignedDuration>,
    /// Whether a request without a body can be genuine.
    pub(super) empty_body: bool,
    /// What bodies are.
    pub(super) content: Content,
    /// Signed requests that are answered and are no event.
    pub(super) handshakes: Vec<Handshake>,
    /// An unsigned GET request that is answered.
    pub(super) challenge: Option<Challenge>,
    /// How one request holds many events.
    pub(super) batch: Batch,
    /// The parts of the event's id, joined by colons.
    pub(super) id: Vec<IdPart>,
    /// Where the value is that the provider uses for one event only.
    pub(super) token: Option<&'static str>,
    /// The parts of the event's kind and what joins them.
    pub(super) kind: (Vec<Vec<Location>>, &'static str),
    /// When the event happened.
    pub(super) occurred_at: Vec<Location>,
    /// Whether the time of signing stands in where `occurred_at` has nothing.
    pub(super) occurred_when_signed: bool,
    /// The parts of the scope, joined by colons.
    pub(super) scope: Vec<ScopePart>,
    /// The status that the provider wants.
    pub(super) success: u16,
    /// How long the provider waits for an answer.
    pub(super) timeout: Option<SignedDuration>,
    /// How long after an event its last delivery by itself comes, rounded up; none where the provider does not say.
    pub(super) retried_for: Option<SignedDuration>,
    /// What people want to know.
    pub(super) about: About,
}

/// What the documentation says and the engine does not need.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct About {
    /// Where the facts are from.
    pub(super) documents: &'static [&'static str],
    /// Whether how it signs is known from others than the provider alone.
    pub(super) second_hand: bool,
    /// What the secret is.
    pub(super) secret: &'static str,
    /// How the provider tries again.
    pub(super) retries: &'static str,
    /// Whether a repeated delivery is signed anew; none if nobody says so.
    pub(super) signed_anew: Option<bool>,
    /// What is done in the provider's dashboard. `{url}` is the endpoint.
    pub(super) setup: &'static [&'static str],
    /// What else is worth knowing.
    pub(super) notes: &'static [&'static str],
}

/// How the signature is built.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// A prefix and a signature; several of them with a separator between.
    Plain {
        prefix: String,
        separator: Option<String>,
    },
    /// `t=TIME,v1=SIGNATURE,..`: Stripe, and others with names and separators of their own.
    Pairs {
        separator: char,
        time: &'static str,
        signature: &'static str,
        /// Whether a header without any such signature is malformed. Stripe's may have others.
        needed: bool,
    },
    /// `TIME,SIGNATURE,..`: Recurly.
    Timed { separator: char },
    /// A signature in each of the headers: DocuSign.
    Each,
    /// `VERSION,SIGNATURE ..`: Standard Webhooks.
    Versioned,
    /// `PUBLIC KEY|SIGNATURE&..`: Braintree.
    Labelled,
    /// A JSON Web Token that holds the body's hash: Plaid.
    Jwt,
    /// A signature for the one who is named there: AWS SNS.
    For(Location),
}

/// How a signature is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// An HMAC.
    Hmac(Algorithm),
    /// SHA-256 of the secret followed by what is signed.
    Hash,
    /// Ed25519.
    Ed25519,
    /// ECDSA on P-256 with SHA-256: in DER, or as two numbers of 32 bytes.
    P256 { der: bool },
    /// RSA (PKCS #1 v1.5) with one of these hashes.
    Rsa { sha1: bool, sha256: bool },
    /// None: the secret itself is sent.
    SharedSecret,
}

/// What a secret's text stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyForm {
    /// Its own bytes.
    Text,
    /// Bytes in hex.
    Hex,
    /// base64 after `whsec_` (optional), or an Ed25519 key after `whpk_` or `whsk_`.
    StandardWebhooks,
    /// An Ed25519 public key: hex, base64 or PEM.
    Ed25519,
    /// A P-256 public key: base64 of its SPKI, PEM or JWK.
    P256,
    /// `PUBLIC KEY|PRIVATE KEY` of Braintree.
    Pair,
    /// An RSA public key: PEM.
    Rsa,
    /// A name, whose messages are signed under the provider's certificate. After a line feed the certificate itself, or
    /// its key, may follow: then none is fetched.
    Named(Issued),
    /// What the provider's API takes in return for its public keys; or such a key, as for P-256.
    Credentials,
}

/// In which spellings the public URL is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UrlForms {
    /// As it is.
    Plain,
    /// With and without the port, the query's apostrophes as they are and escaped.
    Twilio,
    /// As it is, and with some escapes undone.
    HubSpot,
}

/// What bodies are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// JSON.
    Json,
    /// JSON, or a form: its field `payload`, or all fields.
    JsonOrPayload,
    /// JSON, or a form with all its fields.
    JsonOrForm,
    /// A form with XML in base64 in its field `bt_payload`.
    Braintree,
}

/// Where the time of signing is.
#[derive(Debug, Clone)]
pub(super) struct Time {
    /// Headers or places in the body; none if it is within the signature.
    pub(super) places: Vec<Location>,
    /// Its unit.
    pub(super) unit: TimeUnit,
    /// Whether it is read after the signature was found to match.
    pub(super) late: bool,
}

/// A part of the id.
#[derive(Debug, Clone)]
pub(super) enum IdPart {
    /// The first of these; without any there is no id.
    Needed(Vec<Location>),
    /// The first of these, or nothing.
    Also(Vec<Location>),
    /// The first of these, or the hash of the event's bytes.
    OrHash(Vec<Location>),
    /// The time of signing, in seconds.
    SignedAt,
    /// The hash of the event's bytes.
    Hash,
}

/// How one request holds many events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Batch {
    /// One.
    No,
    /// Those of a list: JSON Pointer to the list, and to the event within an element. A body that has no such list
    /// is one event.
    List { at: &'static str, within: &'static str },
    /// `entry[].changes[]` and `entry[].messaging[]` of Meta, each with its surroundings.
    Meta,
}

/// A signed request about the endpoint itself.
#[derive(Debug, Clone)]
pub(super) struct Handshake {
    /// What it is told by.
    pub(super) marks: Vec<Mark>,
    /// What it is answered with.
    pub(super) answer: Answer,
}

/// What tells a handshake.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mark {
    /// Text at a JSON Pointer.
    Text(&'static str, &'static str),
    /// A number at a JSON Pointer.
    Number(&'static str, u64),
    /// Nothing at a JSON Pointer.
    Absent(&'static str),
    /// A list without elements at a JSON Pointer.
    Empty(&'static str),
    /// A header.
    Header(&'static str, &'static str),
}

/// How a handshake is answered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// The text at a JSON Pointer.
    Echo(&'static str),
    /// This JSON.
    Json(&'static str),
    /// 200 without a body.
    Empty,
    /// 204.
    NoContent,
    /// Zoom: the token at the JSON Pointer, and its HMAC.
    Token(&'static str),
    /// 200 once the URL at the JSON Pointer was visited, which has to be on a host of the provider's certificates.
    Visit(&'static str),
}

/// An unsigned request about the endpoint itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Challenge {
    /// `hub.challenge`, for those who know the verify token.
    Hub,
    /// `bt_challenge`, answered with its signature.
    Braintree,
    /// `validationToken` in a POST request, echoed: Microsoft Graph.
    Graph,
    /// `X-Hook-Secret` in a POST request, given back in a header while the source may be enrolled: Asana.
    Asana,
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
            Scheme::Known(provider) => (provider.facts)(),
            Scheme::Generic(generic) => providers::generic(generic),
        }
    }

    /// An HMAC-SHA-256 of the body in one header, keyed with the secret's text, and nothing known about events.
    pub(super) fn plain(header: &str, encoding: Encoding) -> Self {
        Self {
            signature: vec![Location::Header(header.to_owned())],
            form: Form::Plain {
                prefix: String::new(),
                separator: None,
            },
            encoding,
            proof: Proof::Hmac(Algorithm::Sha256),
            key: KeyForm::Text,
            signed: SignedTemplate {
                parts: vec![Part::Body],
            },
            url: UrlForms::Plain,
            rule: None,
            per_element: false,
            time: None,
            tolerance: None,
            empty_body: true,
            content: Content::Json,
            handshakes: vec![],
            challenge: None,
            batch: Batch::No,
            id: vec![],
            token: None,
            kind: (vec![], ""),
            occurred_at: vec![],
            occurred_when_signed: false,
            scope: vec![],
            success: 200,
            timeout: None,
            retried_for: None,
            about: About::default(),
        }
    }

    /// Whether the signature covers the event's id.
    pub(super) fn signs_id(&self) -> bool {
        let body = self.signs_body();
        let signed = |place: &Location| match place {
            Location::Pointer(pointer) => body || self.signed.parts.contains(&Part::Pointer(pointer.clone())),
            Location::Header(name) => self.signed.has_header(name),
        };
        self.signed.has(&Part::Id)
            || self.id.iter().all(|part| match part {
                IdPart::Needed(places) | IdPart::Also(places) | IdPart::OrHash(places) => {
                    places.iter().all(signed)
                }
                IdPart::SignedAt => true,
                IdPart::Hash => body,
            })
    }

    /// Whether the signature covers the body.
    pub(super) fn signs_body(&self) -> bool {
        let signed = [Part::Body, Part::Form, Part::Sns, Part::Php]
            .iter()
            .any(|part| self.signed.has(part));
        let wrapped = matches!(self.form, Form::Jwt) || self.content == Content::Braintree;
        self.proof != Proof::SharedSecret && (signed || wrapped)
    }

    /// Whether old requests can be told: the signature covers a time, and there is a limit to its age.
    pub(super) fn is_fresh(&self) -> bool {
        let signed = self.time.as_ref().is_some_and(|time| {
            let in_body = time
                .places
                .iter()
                .any(|place| matches!(place, Location::Pointer(_)));
            self.signed.has_timestamp() || matches!(self.form, Form::Jwt) || (in_body && self.signs_body())
        });
        signed && self.tolerance.is_some()
    }

    /// Whether the body has to be read before the signature can be checked.
    pub(super) fn reads_body(&self) -> bool {
        let pointer = |place: &Location| matches!(place, Location::Pointer(_));
        self.per_element
            || self.signature.iter().any(pointer)
            || self
                .signed
                .parts
                .iter()
                .any(|part| matches!(part, Part::Pointer(_) | Part::Sns))
    }

    /// The value in a body that the provider uses for one event only, if it has such and one is there.
    pub(super) fn token_in(&self, data: &Value) -> Option<String> {
        as_text(data.pointer(self.token?)?)
    }

    /// The headers with the id.
    pub(super) fn id_headers(&self) -> impl Iterator<Item = &Location> {
        let places = self.id.iter().flat_map(|part| match part {
            IdPart::Needed(places) | IdPart::Also(places) | IdPart::OrHash(places) => places.as_slice(),
            IdPart::SignedAt | IdPart::Hash => &[],
        });
        places.filter(|place| matches!(place, Location::Header(_)))
    }

    /// Whether the URL is signed.
    pub(super) fn signs_url(&self) -> bool {
        self.signed.has(&Part::Url)
    }
}
