//! What the code in a template does with numbers, from its text: minijinja has no hook for operators.
//!
//! It is no parser: in doubt it says that an operator is used, and the evaluation is refused rather than wrong.

use std::collections::BTreeMap;

use super::data::exact_f64;

/// Which operators the code of a template has.
#[derive(Debug, Clone, Default)]
pub(super) struct Uses {
    /// It calculates.
    pub(super) arithmetic: bool,
    /// It compares.
    pub(super) comparison: bool,
    /// Its non-integer literals: bits of the f64, text.
    pub(super) literals: BTreeMap<u64, String>,
    /// The filters it names: the engine looks them up only when they run.
    pub(super) filters: Vec<String>,
    /// The tests it names.
    pub(super) tests: Vec<String>,
}

/// What the next word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Any,
    Filter,
    Test,
}

const COMPARES: [&str; 20] = [
    "in",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "equalto",
    "lessthan",
    "greaterthan",
    "sameas",
    "sort",
    "min",
    "max",
    "unique",
    "groupby",
    "dictsort",
    "select",
    "reject",
    "selectattr",
];
const CALCULATES: [&str; 6] = ["sum", "round", "int", "format", "divisibleby", "abs"];

/// Scans a template's code: what is between `{{ }}` and `{% %}`.
pub(super) fn template(source: &str) -> Result<Uses, String> {
    let mut uses = Uses::default();
    let mut rest = source;
    while let Some(start) = rest.find('{') {
        rest = &rest[start..];
        let end = match rest.get(..2) {
            Some("{{") => "}}",
            Some("{%") => "%}",
            Some("{#") => {
                rest = rest.find("#}").map_or("", |end| &rest[end + 2..]);
                continue;
            }
            _ => {
                rest = &rest[1..];
                continue;
            }
        };
        let length = code(&rest[2..], Some(end), &mut uses)?;
        rest = &rest[2 + length..];
    }
    Ok(uses)
}

/// Scans an expression.
pub(super) fn expression(source: &str) -> Result<Uses, String> {
    let mut uses = Uses::default();
    code(source, None, &mut uses)?;
    Ok(uses)
}

/// Scans code up to `end`; gives its length, the end included.
fn code(source: &str, end: Option<&str>, uses: &mut Uses) -> Result<usize, String> {
    let bytes = source.as_bytes();
    // Whether a value stands to the left: then `-` subtracts.
    let mut value_before = false;
    let mut at = 0;
    let mut braces = 0_usize;
    let mut next = Next::Any;
    while let Some(&byte) = bytes.get(at) {
        let ends = end.is_some_and(|end| bytes[at..].starts_with(end.as_bytes()));
        if ends && braces == 0 {
            return Ok(at + 2);
        }
        match byte {
            b'"' | b'\'' => {
                at += string_length(&bytes[at..]);
                value_before = true;
                continue;
            }
            b'0'..=b'9' => {
                let length = number_length(&bytes[at..]);
                literal(&source[at..at + length], uses)?;
                at += length;
                value_before = true;
                continue;
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                let length = bytes[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                    .count();
                let word = &source[at..at + length];
                // After a dot it is a field's name.
                if at == 0 || bytes[at - 1] != b'.' {
                    uses.comparison |= COMPARES.contains(&word) || word == "rejectattr";
                    uses.arithmetic |= CALCULATES.contains(&word);
                }
                at += length;
                next = match (next, word) {
                    (Next::Any, "is") | (Next::Test, "not") => Next::Test,
                    (Next::Filter, name) => {
                        uses.filters.push(name.to_owned());
                        Next::Any
                    }
                    (Next::Test, name) => {
                        uses.tests.push(name.to_owned());
                        Next::Any
                    }
                    (Next::Any, _) => Next::Any,
                };
                value_before = !["and", "or", "not", "if", "else", "in", "is", "elif", "set"].contains(&word);
                continue;
            }
            b'|' => next = Next::Filter,
            b'{' => braces += 1,
            b'}' => braces = braces.saturating_sub(1),
            b'<' | b'>' => uses.comparison = true,
            b'=' | b'!' if bytes.get(at + 1) == Some(&b'=') => {
                uses.comparison = true;
                at += 1;
            }
            b'-' if value_before && !end.is_some_and(|end| bytes[at + 1..].starts_with(end.as_bytes())) => {
                uses.arithmetic = true;
            }
            b'-' if !bytes.get(at + 1).is_some_and(u8::is_ascii_digit) && at != 0 => {
                uses.arithmetic |= !end.is_some_and(|end| bytes[at + 1..].starts_with(end.as_bytes()));
            }
            b'+' | b'*' | b'/' | b'%' => {
                let control = (byte == b'+')
                    && (at == 0 || end.is_some_and(|end| bytes[at + 1..].starts_with(end.as_bytes())));
                uses.arithmetic |= !control;
            }
            // Joining two values as text is not rendering them: decimals would lose their zeros.
            b'~' => uses.arithmetic = true,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            value_before = matches!(byte, b')' | b']' | b'}');
        }
        at += 1;
    }
    Ok(at)
}

fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != bytes[0] {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| {
        bytes
            .get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|b| b.is_ascii_digit() || **b == b'_')
            .count()
    };
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

fn literal(text: &str, uses: &mut Uses) -> Result<(), String> {
    if !text.contains(['.', 'e', 'E']) {
        return Ok(());
    }
    let number = exact_f64(&text.replace('_', ""))
        .ok_or_else(|| format!("the number {text} has more digits than can be compared exactly"))?;
    uses.literals.insert(number.to_bits(), text.to_owned());
    uses.literals.insert((-number).to_bits(), format!("-{text}"));
    Ok(())
}
