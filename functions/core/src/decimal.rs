//! Exact decimal numbers: as JSON writes them and as DynamoDB's N keeps them.
//!
//! Nothing is rounded: a number that DynamoDB cannot hold exactly is an error. There is no arithmetic here
//! beyond the sign; DynamoDB adds.

use std::{cmp::Ordering, fmt, str::FromStr};

/// The most significant digits that DynamoDB keeps.
pub const MAX_DIGITS: usize = 38;
/// The largest power of ten of the first digit: magnitudes stay below `1E+126`.
const MAX_EXPONENT: i64 = 125;
/// The smallest power of ten of the first digit: magnitudes are at least `1E-130`.
const MIN_EXPONENT: i64 = -130;
/// Whole numbers up to this power of ten are written without an exponent.
const PLAIN: i64 = 37;

/// A number in the canonical text of DynamoDB's N: up to 38 significant digits, no leading or trailing zeros,
/// one text for each value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Decimal(String);

/// Why a text is no number that DynamoDB can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// Not a number as JSON writes it.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// Too precise.
    #[error("{0} significant digits, more than the {MAX_DIGITS} that DynamoDB keeps")]
    TooManyDigits(usize),
    /// Too large or too small.
    #[error("its magnitude is outside of 1E-130 to 9.99E+125, the range of a DynamoDB number")]
    OutOfRange,
}

impl Decimal {
    /// Reads the text of a JSON number (RFC 8259, section 6): `12`, `-0.50`, `1.5e3`.
    ///
    /// # Errors
    /// When it is not one, or DynamoDB cannot hold its exact value.
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        let parts = Parts::read(text).ok_or_else(|| DecimalError::NotANumber(shorten(text)))?;
        if parts.digits.is_empty() {
            return Ok(Self("0".to_owned()));
        }
        if parts.digits.len() > MAX_DIGITS {
            return Err(DecimalError::TooManyDigits(parts.digits.len()));
        }
        if !(MIN_EXPONENT..=MAX_EXPONENT).contains(&parts.exponent) {
            return Err(DecimalError::OutOfRange);
        }
        Ok(Self(parts.text()))
    }

    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same number with the other sign.
    #[must_use]
    pub fn negate(&self) -> Self {
        match self.0.strip_prefix('-') {
            Some(positive) => Self(positive.to_owned()),
            None if self.0 == "0" => self.clone(),
            None => Self(format!("-{}", self.0)),
        }
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self(value.to_string())
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        Self::parse(text)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    /// By value.
    fn cmp(&self, other: &Self) -> Ordering {
        match (Parts::read(&self.0), Parts::read(&other.0)) {
            (Some(a), Some(b)) => a.order(&b),
            _ => self.0.cmp(&other.0),
        }
    }
}

/// A number taken apart: `0.d1d2d3.. * 10^(exponent+1)`, so `exponent` is the power of ten of the first digit.
#[derive(Debug, PartialEq, Eq)]
struct Parts {
    negative: bool,
    /// Without leading or trailing zeros; empty for zero.
    digits: String,
    exponent: i64,
}

impl Parts {
    fn read(text: &str) -> Option<Self> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (number, exponent) = match rest.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, read_exponent(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return None,
            None => (number, ""),
        };
        let digits_only = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty() || leading_zero || !digits_only(whole) || !digits_only(fraction) {
            return None;
        }
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let skipped = i64::try_from(all.len() - significant.len()).ok()?;
        let first = i64::try_from(whole.len()).ok()? - 1 - skipped;
        let digits = significant.trim_end_matches('0').to_owned();
        Some(Self {
            negative: negative && !digits.is_empty(),
            digits,
            exponent: first.saturating_add(exponent),
        })
    }

    fn text(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let length = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        let digits = &self.digits;
        match self.exponent {
            exponent if exponent >= length - 1 && exponent <= PLAIN => {
                format!("{sign}{digits}{}", zeros(exponent - length + 1))
            }
            exponent if exponent >= 0 && exponent < length - 1 => {
                let at = usize::try_from(exponent).unwrap_or(0) + 1;
                format!("{sign}{}.{}", &digits[..at], &digits[at..])
            }
            exponent if (-7..0).contains(&exponent) => format!("{sign}0.{}{digits}", zeros(-exponent - 1)),
            exponent if length == 1 => format!("{sign}{digits}E{exponent}"),
            exponent => format!("{sign}{}.{}E{exponent}", &digits[..1], &digits[1..]),
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        let sign = |parts: &Self| match (parts.digits.is_empty(), parts.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            // Without zeros at either end, digits compare as text where the first digits' places agree.
            let magnitude = self
                .exponent
                .cmp(&other.exponent)
                .then_with(|| self.digits.cmp(&other.digits));
            if self.negative {
                magnitude.reverse()
            } else {
                magnitude
            }
        })
    }
}

/// An exponent's value; one too long for `i64` is out of every range.
fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Some(if text.starts_with('-') {
        -magnitude
    } else {
        magnitude
    })
}

fn zeros(count: i64) -> String {
    "0".repeat(usize::try_from(count).unwrap_or(0))
}

fn shorten(text: &str) -> String {
    text.chars().take(60).collect()
}
