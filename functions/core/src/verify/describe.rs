//! What is known of a scheme, in words: for `oncehook sources` and the table of the docs. All of it is derived from
//! the facts that verification uses.

use serde::Serialize;

use super::{
    facts::{Answer, Batch, Challenge, Facts, Form, IdPart, KeyForm, Mark, Proof, UrlForms},
    providers::{self, LeftOut},
    scheme::{Algorithm, Encoding, Scheme},
    signed::{Location, Part},
};
use crate::config::show;

/// A scheme in words. Empty texts and lists mean that the provider says nothing or has nothing of the kind.
#[derive(Debug, Clone, Serialize)]
pub struct Description {
    /// Its name in oncehook.toml.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Where the signature is, and how it is written.
    pub signature: String,
    /// What is signed.
    pub signed: String,
    /// `signature`, or `shared secret` where the request only carries the secret.
    pub proof: &'static str,
    /// Whether how it signs is known from others, and not confirmed by the provider's own text.
    pub second_hand: bool,
    /// What the secret is.
    pub secret: &'static str,
    /// How far the time of signing may be away.
    pub tolerance: Option<String>,
    /// Whether a repeated delivery is signed anew, where that is known.
    pub signed_anew: Option<bool>,
    /// Where the event's id is.
    pub id: String,
    /// Whether the signature covers the id. If not, a body that was seen under another id is held.
    pub id_signed: bool,
    /// Where the event's kind is.
    pub kind: String,
    /// Where the time of the event is.
    pub time: String,
    /// What makes ids unique.
    pub scope: String,
    /// How one request holds several events.
    pub batch: &'static str,
    /// Requests about the endpoint itself, and their answers.
    pub handshakes: Vec<String>,
    /// The status that the provider wants.
    pub success: u16,
    /// How long the provider waits for an answer.
    pub timeout: Option<String>,
    /// How it tries again.
    pub retries: &'static str,
    /// For how long it delivers an event again, where that is known.
    pub retried_for: Option<String>,
    /// Settings that the source needs beside `scheme` and `secret`.
    pub settings: Vec<&'static str>,
    /// What is done in the provider's dashboard; `{url}` is the endpoint.
    pub setup: &'static [&'static str],
    /// What else is worth knowing.
    pub notes: &'static [&'static str],
    /// Where the facts are from.
    pub documents: &'static [&'static str],
}

impl Scheme {
    /// The providers that are no scheme, each with the reason.
    #[must_use]
    pub fn left_out() -> &'static [LeftOut] {
        providers::LEFT_OUT
    }

    /// All that is known of it; none for one that oncehook.toml describes.
    #[must_use]
    pub fn describe(&self) -> Option<Description> {
        let Self::Known(provider) = self else {
            return None;
        };
        let facts = (provider.facts)();
        let about = facts.about;
        let mut settings = Vec::new();
        if facts.signs_url() {
            settings.push("public_url");
        }
        if facts.challenge == Some(Challenge::Hub) {
            settings.push("verify_token");
        }
        Some(Description {
            name: provider.name,
            title: provider.title,
            signature: signature(&facts),
            signed: signed(&facts),
            proof: match facts.proof {
                Proof::SharedSecret => "shared secret",
                _ => "signature",
            },
            second_hand: about.second_hand,
            secret: about.secret,
            tolerance: facts.tolerance.map(show),
            signed_anew: about.signed_anew,
            id: id(&facts),
            id_signed: facts.signs_id(),
            kind: parts(&facts.kind.0, facts.kind.1),
            time: time(&facts),
            scope: facts
                .scope
                .iter()
                .map(|part| names(&part.places))
                .collect::<Vec<_>>()
                .join(", "),
            batch: match facts.batch {
                Batch::No => "",
                Batch::List { at: "/events", .. } => "the elements of /events",
                Batch::List { at: "", .. } => "the elements of the body's list",
                Batch::List { .. } => "the NotificationRequestItem of each of /notificationItems",
                Batch::Meta => "messages, statuses, changes and messaging events of all entries",
            },
            handshakes: handshakes(&facts),
            success: facts.success,
            timeout: facts.timeout.map(show),
            retries: about.retries,
            retried_for: facts.retried_for.map(show),
            settings,
            setup: about.setup,
            notes: about.notes,
            documents: about.documents,
        })
    }
}

fn signature(facts: &Facts) -> String {
    let proof = match facts.proof {
        Proof::Hmac(Algorithm::Sha1) => "HMAC-SHA-1",
        Proof::Hmac(Algorithm::Sha256) if facts.key == KeyForm::StandardWebhooks => {
            "HMAC-SHA-256 (v1) or Ed25519 (v1a)"
        }
        Proof::Hmac(Algorithm::Sha256) => "HMAC-SHA-256",
        Proof::Hmac(Algorithm::Sha512) => "HMAC-SHA-512",
        Proof::Hash => "SHA-256 of the secret and what is signed",
        Proof::Ed25519 => "Ed25519",
        Proof::P256 { der: true } => "ECDSA P-256 with SHA-256",
        Proof::P256 { der: false } => "JWT ES256",
        Proof::Rsa {
            sha1: true,
            sha256: true,
        } => "RSA with SHA-1 or SHA-256 (its version says which)",
        Proof::Rsa { sha1: true, .. } => "RSA with SHA-1",
        Proof::Rsa { .. } => "RSA with SHA-256",
        Proof::SharedSecret => return format!("{}: the secret itself", names(&facts.signature)),
    };
    let encoding = match facts.encoding {
        Encoding::Hex => "hex",
        Encoding::LowerHex => "hex of lower case",
        Encoding::Base64 => "base64",
        Encoding::Text => "",
    };
    let form = match &facts.form {
        Form::Plain { prefix, .. } if prefix.is_empty() => String::new(),
        Form::Plain { prefix, .. } => format!("after {prefix}"),
        Form::Pairs {
            separator,
            time,
            signature,
            ..
        } => format!("{time}=TIME{separator}{signature}=SIGNATURE"),
        Form::Timed { separator } => format!("TIME{separator}SIGNATURE{separator}.."),
        Form::Each => "one signature per header".to_owned(),
        Form::Versioned => "VERSION,SIGNATURE ..".to_owned(),
        Form::Labelled => "PUBLIC_KEY|SIGNATURE&..".to_owned(),
        Form::For(_) | Form::Jwt => String::new(),
    };
    let words = [proof, encoding, &form];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    format!("{}: {}", names(&facts.signature), words.join(", "))
}

fn signed(facts: &Facts) -> String {
    if matches!(facts.form, Form::Jwt) {
        return "time and the body's SHA-256".to_owned();
    }
    let part = |part: &Part| match part {
        Part::Body => "body".to_owned(),
        Part::Timestamp => "time".to_owned(),
        Part::Id => "id".to_owned(),
        Part::Header(name) => name.clone(),
        Part::Pointer(pointer) => pointer.clone(),
        Part::Url if facts.url == UrlForms::Twilio => {
            "URL (with the body's SHA-256 if it is no form)".to_owned()
        }
        Part::Url => "URL".to_owned(),
        Part::Method => "method".to_owned(),
        Part::Form => "sorted form fields".to_owned(),
        Part::Sns => "the fields that SNS names".to_owned(),
        Part::Php => "sorted form fields as PHP serialises them".to_owned(),
        Part::Crc32 => "the body's CRC-32".to_owned(),
        Part::Name => "the secret".to_owned(),
        Part::MaybeLineFeed => String::new(),
        Part::Text(text) => format!("\"{text}\""),
    };
    let words = facts
        .signed
        .parts
        .iter()
        .map(part)
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" + ")
}

fn id(facts: &Facts) -> String {
    let part = |part: &IdPart| match part {
        IdPart::Needed(places) => names(places),
        IdPart::Also(places) => format!("{} if there", names(places)),
        IdPart::OrHash(places) => format!("{}, or the hash of the event's bytes", names(places)),
        IdPart::SignedAt => "time of signing".to_owned(),
        IdPart::Hash => "hash of the event's bytes".to_owned(),
    };
    facts.id.iter().map(part).collect::<Vec<_>>().join("; ")
}

fn time(facts: &Facts) -> String {
    let mut found = vec![names(&facts.occurred_at)];
    if facts.occurred_when_signed {
        found.push("time of signing".to_owned());
    }
    found.retain(|word| !word.is_empty());
    found.join(" or ")
}

fn handshakes(facts: &Facts) -> Vec<String> {
    let mark = |mark: &Mark| match mark {
        Mark::Text(pointer, text) => format!("{pointer} is {text}"),
        Mark::Number(pointer, number) => format!("{pointer} is {number}"),
        Mark::Absent(pointer) => format!("no {pointer}"),
        Mark::Empty(pointer) => format!("{pointer} is empty"),
        Mark::Header(name, value) => format!("{name}: {value}"),
    };
    let answer = |answer: Answer| match answer {
        Answer::Echo(pointer) => format!("200 with {pointer}"),
        Answer::Json(json) => format!("200 with {json}"),
        Answer::Empty => "200".to_owned(),
        Answer::NoContent => "204".to_owned(),
        Answer::Visit(pointer) => format!("200 once {pointer} was visited"),
        Answer::Token(pointer) => format!("200 with {pointer} and its HMAC"),
    };
    let signed = facts.handshakes.iter().map(|handshake| {
        let marks: Vec<String> = handshake.marks.iter().map(mark).collect();
        format!("signed, {}: {}", marks.join(", "), answer(handshake.answer))
    });
    let unsigned = facts.challenge.map(|challenge| match challenge {
        Challenge::Hub => {
            "GET with hub.challenge and the right hub.verify_token: 200 with the challenge".to_owned()
        }
        Challenge::Asana => "POST with X-Hook-Secret, until enrol_until: 200 with the same header".to_owned(),
        Challenge::Graph => "POST with validationToken and no body: 200 with the token".to_owned(),
        Challenge::Braintree => {
            "GET with bt_challenge: 200 with the public key and the challenge's signature".to_owned()
        }
    });
    signed.chain(unsigned).collect()
}

fn parts(parts: &[Vec<Location>], joint: &str) -> String {
    let parts: Vec<String> = parts.iter().map(|places| names(places)).collect();
    parts.join(&format!(" \"{joint}\" "))
}

/// Places by name.
pub(super) fn names(locations: &[Location]) -> String {
    let name = |location: &Location| match location {
        Location::Header(name) => format!("header {name}"),
        Location::Pointer(pointer) => pointer.clone(),
    };
    locations.iter().map(name).collect::<Vec<_>>().join(" or ")
}
