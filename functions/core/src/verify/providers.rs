//! The table of facts: one row per provider, by family. `about.documents` of each names what it is from.
//!
//! Nothing is computed here. A tolerance is given only where the provider's documents or its own library have one; a
//! row without one still checks what the configuration asks for.

mod billing;
mod business;
mod certified;
mod chat;
mod code;
mod left_out;
mod mail;
mod office;
mod payments;
mod payouts;
mod standard;
mod unsigned;

use jiff::SignedDuration;

use super::{
    facts::{Answer, Facts, Form, Handshake, IdPart, Mark, Proof, Provider, ScopePart, Time},
    scheme::{GenericScheme, TimeUnit},
    signed::{Location, Part, SignedTemplate},
};

pub(super) use left_out::LEFT_OUT;
pub use left_out::LeftOut;
pub(super) use standard::standard_webhooks;

/// Every provider.
pub(super) fn all() -> impl Iterator<Item = &'static Provider> {
    [
        payments::ROWS,
        payouts::ROWS,
        standard::ROWS,
        code::ROWS,
        business::ROWS,
        chat::ROWS,
        mail::ROWS,
        billing::ROWS,
        office::ROWS,
        certified::ROWS,
        unsigned::ROWS,
    ]
    .into_iter()
    .flatten()
}

/// What oncehook.toml says.
pub(super) fn generic(generic: &GenericScheme) -> Facts {
    let time = generic.timestamp.as_ref();
    Facts {
        form: Form::Plain {
            prefix: generic.prefix.clone(),
            separator: generic.separator.clone(),
        },
        proof: Proof::Hmac(generic.algorithm),
        signed: generic.signed.clone(),
        time: time.map(|time| Time {
            places: vec![Location::Header(time.header.clone())],
            unit: time.unit,
            late: false,
        }),
        tolerance: FIVE_MINUTES,
        id: vec![IdPart::Needed(vec![generic.id.clone()])],
        kind: (generic.kind.iter().map(|kind| vec![kind.clone()]).collect(), ""),
        occurred_at: generic.occurred_at.iter().cloned().collect(),
        scope: generic
            .scope
            .iter()
            .map(|place| ScopePart {
                places: vec![place.clone()],
                names: None,
            })
            .collect(),
        ..Facts::plain(&generic.header, generic.encoding)
    }
}

const FIVE_MINUTES: Option<SignedDuration> = Some(SignedDuration::from_mins(5));

const fn after(seconds: i64) -> Option<SignedDuration> {
    Some(SignedDuration::from_secs(seconds))
}

const fn hours(hours: i64) -> Option<SignedDuration> {
    Some(SignedDuration::from_hours(hours))
}

fn template(parts: impl Into<Vec<Part>>) -> SignedTemplate {
    SignedTemplate { parts: parts.into() }
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn at(pointer: &str) -> Part {
    Part::Pointer(pointer.to_owned())
}

fn prefixed(prefix: &str) -> Form {
    Form::Plain {
        prefix: prefix.to_owned(),
        separator: None,
    }
}

/// The time of signing in a header, or within the signature if there is none.
fn time(header: &str, unit: TimeUnit) -> Option<Time> {
    let header = Some(header).filter(|header| !header.is_empty());
    Some(Time {
        places: header
            .into_iter()
            .map(|name| Location::Header(name.to_owned()))
            .collect(),
        unit,
        late: false,
    })
}

/// JSON Pointers, and `header:NAME`.
fn places(places: &[&str]) -> Vec<Location> {
    let place = |place: &&str| match place.strip_prefix("header:") {
        Some(name) => Location::Header(name.to_owned()),
        None => Location::Pointer((*place).to_owned()),
    };
    places.iter().map(place).collect()
}

/// An id that is one value.
fn id(alternatives: &[&str]) -> Vec<IdPart> {
    vec![IdPart::Needed(places(alternatives))]
}

/// An id of several values: the first has to be there.
fn ids(first: &[&str], others: &[&[&str]]) -> Vec<IdPart> {
    let others = others.iter().map(|other| IdPart::Also(places(other)));
    std::iter::once(IdPart::Needed(places(first)))
        .chain(others)
        .collect()
}

/// A part of an id for which the event's hash stands in.
fn or_hash(alternatives: &[&str]) -> Vec<IdPart> {
    vec![IdPart::OrHash(places(alternatives))]
}

/// A kind of several values with something between.
fn kind(parts: &[&[&str]], joint: &'static str) -> (Vec<Vec<Location>>, &'static str) {
    (parts.iter().map(|part| places(part)).collect(), joint)
}

fn scope(parts: &[&[&str]]) -> Vec<ScopePart> {
    let part = |part: &&[&str]| ScopePart {
        places: places(part),
        names: None,
    };
    parts.iter().map(part).collect()
}

fn handshake(marks: &[Mark], answer: Answer) -> Handshake {
    Handshake {
        marks: marks.to_vec(),
        answer,
    }
}
