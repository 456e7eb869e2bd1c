//! What a request says about its signature: which bytes are claimed, over which content, at what time.
//!
//! Believes nothing and compares nothing.

use jiff::{SignedDuration, Timestamp};

use super::{
    VerifyError,
    facts::{Facts, Form, Proof},
    fields, form, jwt,
    key::{Candidate, Piece, well_formed},
    scheme::TimeUnit,
    signed::{Location, Part},
    view::View,
};

/// Signatures in one request. Providers send one per secret; each costs a pass over the body at most.
const MAX_SIGNATURES: usize = 64;

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
    nanos: i128,
}

impl Found {
    pub(super) fn read(facts: &Facts, view: &View<'_>) -> Result<Self, VerifyError> {
        let id = if facts.signed.has(&Part::Id) {
            Some(id(facts, view)?.ok_or(VerifyError::MissingId)?)
        } else {
            None
        };
        let header = view
            .strict(&facts.signature)?
            .ok_or(VerifyError::MissingSignature)?;
        if let Some(rule) = facts.rule {
            rule(view)?;
        }
        let (mut time_text, signatures) = match &facts.form {
            Form::Pairs {
                separator,
                time,
                signature,
                needed,
            } => {
                let (time, found) = pairs(facts, &header, *separator, time, signature)?;
                if *needed && found.is_none() {
                    return Err(VerifyError::MalformedHeader);
                }
                (time, found.unwrap_or_default())
            }
            Form::Timed { separator } => {
                let (time, signatures) = header
                    .split_once(*separator)
                    .ok_or(VerifyError::MalformedHeader)?;
                let found = candidates(facts, signatures.split(*separator).map(|it| (None, it.trim())))?;
                (Some(time.to_owned()), found)
            }
            Form::Each => (None, each(facts, view)?),
            Form::Versioned => (None, versioned(facts, &header)?),
            Form::Labelled => (None, labelled(facts, &header)?),
            Form::Plain { prefix, separator } => (None, plain(facts, &header, prefix, separator.as_deref())?),
            Form::For(place) => {
                let name = view
                    .strict(std::slice::from_ref(place))?
                    .ok_or(VerifyError::MalformedPayload)?;
                (
                    None,
                    candidates(facts, std::iter::once((Some(name.as_str()), header.as_str())))?,
                )
            }
            Form::Jwt => return jwt::found(&header, &view.request.body),
        };
        let time = match &facts.time {
            Some(time) if !time.late => {
                if time_text.is_none() {
                    time_text = view.strict(&time.places)?;
                }
                let text = time_text.as_deref().ok_or(VerifyError::MissingTimestamp)?;
                Some(SignedTime::read(text, time.unit).ok_or(VerifyError::BadTimestamp)?)
            }
            Some(time) => {
                time_text = view.strict(&time.places)?;
                None
            }
            None => None,
        };
        let pieces = pieces(facts, view, time_text.as_deref(), id.as_deref())?;
        Ok(Self {
            signatures,
            pieces,
            time,
        })
    }

    /// A time that is read after the signature: one in the signed body, or one that is only text before.
    pub(super) fn late_time(facts: &Facts, view: &View<'_>) -> Result<Option<SignedTime>, VerifyError> {
        let Some(time) = facts.time.as_ref().filter(|time| time.late) else {
            return Ok(None);
        };
        let text = view.strict(&time.places)?.ok_or(VerifyError::MissingTimestamp)?;
        let time = SignedTime::read(&text, time.unit).ok_or(VerifyError::BadTimestamp)?;
        Ok(Some(time))
    }
}

impl SignedTime {
    pub(super) fn read(text: &str, unit: TimeUnit) -> Option<Self> {
        let nanos = match unit {
            TimeUnit::Seconds => i128::from(epoch(text)?) * 1_000_000_000,
            TimeUnit::Milliseconds => i128::from(epoch(text)?) * 1_000_000,
            TimeUnit::Rfc3339 => text.parse::<Timestamp>().ok()?.as_nanosecond(),
        };
        Some(Self { nanos })
    }

    /// The time, if it is no further from `now` than the tolerance; any that can exist without one.
    pub(super) fn fresh(
        self,
        now: Timestamp,
        tolerance: Option<SignedDuration>,
    ) -> Result<Timestamp, VerifyError> {
        let age = now.as_nanosecond() - self.nanos;
        let stale = if age > 0 {
            VerifyError::TooOld
        } else {
            VerifyError::InFuture
        };
        if tolerance.is_some_and(|tolerance| age.abs() > tolerance.as_nanos()) {
            return Err(stale);
        }
        Timestamp::from_nanosecond(self.nanos).map_err(|_| stale)
    }
}

/// What is signed, piece by piece.
pub(super) fn pieces(
    facts: &Facts,
    view: &View<'_>,
    time: Option<&str>,
    id: Option<&str>,
) -> Result<Vec<Piece>, VerifyError> {
    let mut pieces = Vec::with_capacity(facts.signed.parts.len());
    for part in &facts.signed.parts {
        let text = |text: String| Piece::Bytes(text.into_bytes());
        pieces.push(match part {
            Part::Body => Piece::Body,
            Part::Text(it) => text(it.clone()),
            Part::Timestamp => text(time.map(str::to_owned).ok_or(VerifyError::MissingTimestamp)?),
            Part::Id => text(id.map(str::to_owned).ok_or(VerifyError::MissingId)?),
            Part::Header(name) => text(view.header(name)?.ok_or(VerifyError::MissingHeader)?),
            Part::Pointer(pointer) => text(
                view.text(&[Location::Pointer(pointer.clone())])
                    .unwrap_or_default(),
            ),
            Part::Method => text(view.request.method.as_str().to_owned()),
            Part::Url => Piece::Either(view.urls(facts.url)),
            Part::Form if view.is_form() => Piece::Bytes(form::sorted(&view.request.body)),
            Part::Form => text(String::new()),
            Part::Sns => Piece::Bytes(fields::sns(view.data)),
            Part::Php => Piece::Bytes(fields::php(&view.request.body)?),
            Part::Crc32 => text(fields::crc32(&view.request.body)),
            Part::Name => Piece::Name,
            Part::MaybeLineFeed => Piece::Either(vec![String::new(), "\n".to_owned()]),
        });
    }
    Ok(pieces)
}

fn id(facts: &Facts, view: &View<'_>) -> Result<Option<String>, VerifyError> {
    let headers: Vec<Location> = facts.id_headers().cloned().collect();
    view.strict(&headers)
}

/// Decimal digits with an optional minus sign: what providers send, and nothing that reads as the same number.
fn epoch(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// `t=TIME,v1=SIGNATURE,..`: one time, every item a pair, other names skipped. No signatures if there is no item of
/// that name.
fn pairs(
    facts: &Facts,
    header: &str,
    separator: char,
    time_name: &str,
    signature_name: &str,
) -> Result<(Option<String>, Option<Vec<Candidate>>), VerifyError> {
    let mut time = None;
    let mut signatures = Vec::new();
    for item in header.split(separator) {
        let (name, value) = item.trim().split_once('=').ok_or(VerifyError::MalformedHeader)?;
        if name == time_name {
            if time.is_some() || epoch(value).is_none() {
                return Err(VerifyError::MalformedHeader);
            }
            time = Some(value.to_owned());
        } else if name == signature_name {
            signatures.push(value);
        }
    }
    let time = time.ok_or(VerifyError::MalformedHeader)?;
    let any = !signatures.is_empty();
    let found = candidates(facts, signatures.into_iter().map(|it| (None, it)))?;
    Ok((Some(time), any.then_some(found)))
}

/// `VERSION,SIGNATURE ..`: unknown versions and anything else are skipped.
fn versioned(facts: &Facts, header: &str) -> Result<Vec<Candidate>, VerifyError> {
    let known = header
        .split_ascii_whitespace()
        .filter_map(|token| token.split_once(','))
        .filter(|(version, _)| ["v1", "v1a"].contains(version));
    candidates(facts, known.map(|(version, value)| (Some(version), value)))
}

/// `LABEL|SIGNATURE&..`: anything else is skipped.
fn labelled(facts: &Facts, header: &str) -> Result<Vec<Candidate>, VerifyError> {
    let pairs = header.split('&').filter_map(|pair| pair.split_once('|'));
    candidates(facts, pairs.map(|(label, value)| (Some(label), value)))
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
    let values: Vec<&str> = items
        .into_iter()
        .filter_map(|item| item.trim().strip_prefix(prefix))
        .collect();
    if values.is_empty() {
        return Err(VerifyError::MalformedHeader);
    }
    let found = candidates(facts, values.into_iter().map(|value| (None, value)))?;
    // An HMAC in the wrong encoding is only a wrong one; a signature by a key pair has a form of its own.
    let has_form = matches!(facts.proof, Proof::Ed25519 | Proof::P256 { .. });
    if has_form
        && !found
            .iter()
            .any(|candidate| well_formed(facts.proof, &candidate.bytes))
    {
        return Err(VerifyError::MalformedSignature);
    }
    Ok(found)
}

/// One signature per header.
fn each(facts: &Facts, view: &View<'_>) -> Result<Vec<Candidate>, VerifyError> {
    let mut values = Vec::new();
    for place in &facts.signature {
        values.extend(view.strict(std::slice::from_ref(place))?);
    }
    candidates(facts, values.iter().map(|value| (None, value.as_str())))
}

/// The signatures that are written in the scheme's encoding: others can match nothing.
fn candidates<'a>(
    facts: &Facts,
    values: impl Iterator<Item = (Option<&'a str>, &'a str)>,
) -> Result<Vec<Candidate>, VerifyError> {
    let mut found = Vec::new();
    for (index, (label, value)) in values.enumerate() {
        if index == MAX_SIGNATURES {
            return Err(VerifyError::TooManySignatures);
        }
        found.extend(facts.encoding.decode(value).map(|bytes| Candidate {
            label: label.map(str::to_owned),
            bytes,
        }));
    }
    Ok(found)
}
