//! What a request's headers say about its signature: which bytes are claimed, over which content, at what time.
//!
//! Believes nothing and compares nothing.

use jiff::{SignedDuration, Timestamp};

use super::{
    VerifyError,
    facts::{Facts, Form},
    key::{Candidate, Piece},
    scheme::TimeUnit,
    signed::{Location, Part},
};
use crate::request::SignedRequest;

/// Signatures looked at in one request. Providers send one per secret; each costs a pass over the body at most.
const MAX_SIGNATURES: usize = 32;

/// What is to be checked.
#[derive(Debug)]
pub(super) struct Found {
    /// Any of these may match.
    pub(super) signatures: Vec<Candidate>,
    /// What is signed.
    pub(super) pieces: Vec<Piece>,
    /// When it was signed.
    pub(super) time: Option<SignedTime>,
}

/// A time of signing as sent, not yet known to be one that can exist.
#[derive(Debug, Clone, Copy)]
pub(super) struct SignedTime {
    value: i64,
    unit: TimeUnit,
}

impl Found {
    pub(super) fn read(facts: &Facts, request: &SignedRequest) -> Result<Self, VerifyError> {
        let id = if facts.signed.has(&Part::Id) {
            Some(id(facts, request)?.ok_or(VerifyError::MissingId)?)
        } else {
            None
        };
        let header = first(request, &facts.signature)?.ok_or(VerifyError::MissingSignature)?;
        let (mut time_text, signatures) = match &facts.form {
            Form::Pairs => pairs(facts, &header)?,
            Form::Versioned => (None, versioned(facts, &header)),
            Form::Plain { prefix, separator } => (None, plain(facts, &header, prefix, separator.as_deref())?),
        };
        let time = match &facts.time {
            Some(time) => {
                if time_text.is_none() {
                    time_text = first(request, &time.headers)?;
                }
                let text = time_text.as_deref().ok_or(VerifyError::MissingTimestamp)?;
                let value = epoch(text).ok_or(VerifyError::BadTimestamp)?;
                Some(SignedTime {
                    value,
                    unit: time.unit,
                })
            }
            None => None,
        };
        let mut pieces = Vec::with_capacity(facts.signed.parts.len());
        for part in &facts.signed.parts {
            pieces.push(match part {
                Part::Body => Piece::Body,
                Part::Text(text) => Piece::Text(text.clone()),
                Part::Timestamp => Piece::Text(time_text.clone().ok_or(VerifyError::MissingTimestamp)?),
                Part::Id => Piece::Text(id.clone().ok_or(VerifyError::MissingId)?),
                Part::Header(name) => Piece::Text(present(request, name)?.ok_or(VerifyError::MissingHeader)?),
            });
        }
        Ok(Self {
            signatures,
            pieces,
            time,
        })
    }
}

impl SignedTime {
    /// The time, if it is no further from `now` than the tolerance.
    pub(super) fn fresh(self, now: Timestamp, tolerance: SignedDuration) -> Result<Timestamp, VerifyError> {
        let nanos = match self.unit {
            TimeUnit::Seconds => 1_000_000_000,
            TimeUnit::Milliseconds => 1_000_000,
        };
        let age = now.as_nanosecond() - i128::from(self.value) * nanos;
        let stale = if age > 0 {
            VerifyError::TooOld
        } else {
            VerifyError::InFuture
        };
        if age.abs() > tolerance.as_nanos() {
            return Err(stale);
        }
        match self.unit {
            TimeUnit::Seconds => Timestamp::from_second(self.value),
            TimeUnit::Milliseconds => Timestamp::from_millisecond(self.value),
        }
        .map_err(|_| stale)
    }
}

/// The first of the headers that is there and not empty.
pub(super) fn first(request: &SignedRequest, names: &[String]) -> Result<Option<String>, VerifyError> {
    for name in names {
        if let Some(value) = present(request, name)?.filter(|value| !value.is_empty()) {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// The value of a header, which must be text.
fn present(request: &SignedRequest, name: &str) -> Result<Option<String>, VerifyError> {
    match request.header(name) {
        None if request.headers.contains_key(name) => Err(VerifyError::MalformedHeader),
        value => Ok(value),
    }
}

fn id(facts: &Facts, request: &SignedRequest) -> Result<Option<String>, VerifyError> {
    let headers: Vec<String> = facts
        .id
        .iter()
        .filter_map(|place| match place {
            Location::Header(name) => Some(name.clone()),
            Location::Pointer(_) => None,
        })
        .collect();
    first(request, &headers)
}

/// Decimal digits with an optional minus sign: what providers send, and nothing that reads as the same number.
fn epoch(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// `t=TIME,v1=SIGNATURE,..`: one time, every item a pair, schemes other than v1 skipped.
fn pairs(facts: &Facts, header: &str) -> Result<(Option<String>, Vec<Candidate>), VerifyError> {
    let mut time = None;
    let mut signatures = Vec::new();
    for item in header.split(',') {
        match item.trim().split_once('=').ok_or(VerifyError::MalformedHeader)? {
            ("t", value) if time.is_none() && epoch(value).is_some() => {
                time = Some(value.to_owned());
            }
            ("t", _) => return Err(VerifyError::MalformedHeader),
            ("v1", value) if signatures.len() < MAX_SIGNATURES => {
                signatures.extend(candidate(facts, None, value));
            }
            _ => {}
        }
    }
    match time {
        Some(time) => Ok((Some(time), signatures)),
        None => Err(VerifyError::MalformedHeader),
    }
}

/// `VERSION,SIGNATURE ..`: unknown versions and anything else are skipped.
fn versioned(facts: &Facts, header: &str) -> Vec<Candidate> {
    header
        .split_ascii_whitespace()
        .filter_map(|token| {
            let (version, value) = token.split_once(',')?;
            let version = ["v1", "v1a"].into_iter().find(|known| *known == version)?;
            candidate(facts, Some(version), value)
        })
        .take(MAX_SIGNATURES)
        .collect()
}

/// One prefixed signature, or several; malformed if none has the prefix.
fn plain(
    facts: &Facts,
    header: &str,
    prefix: &str,
    separator: Option<&str>,
) -> Result<Vec<Candidate>, VerifyError> {
    let items: Vec<&str> = match separator.filter(|separator| !separator.is_empty()) {
        Some(separator) => header.split(separator).collect(),
        None => vec![header],
    };
    let mut values = items
        .into_iter()
        .filter_map(|item| item.trim().strip_prefix(prefix))
        .peekable();
    if values.peek().is_none() {
        return Err(VerifyError::MalformedHeader);
    }
    Ok(values
        .filter_map(|value| candidate(facts, None, value))
        .take(MAX_SIGNATURES)
        .collect())
}

/// A signature, unless it is not written in the scheme's encoding: it can match nothing then.
fn candidate(facts: &Facts, version: Option<&'static str>, value: &str) -> Option<Candidate> {
    facts
        .encoding
        .decode(value)
        .map(|bytes| Candidate { version, bytes })
}
