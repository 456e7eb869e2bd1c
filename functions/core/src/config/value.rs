//! Reads value specifications: JSON Pointers, literals, templates, fields of the envelope.

use std::collections::BTreeMap;

use serde_json::{Number, Value as Json};
use toml::de::DeValue;

use super::{
    Convert, Meta, ValueSpec,
    reader::{Found, Item, Reader, kind},
    report::{Report, suggestion},
};
use crate::template::Templates;

/// A map from names to values, empty if the key is absent.
pub(super) fn map(reader: &Reader<'_>, key: &'static str) -> BTreeMap<String, Found<ValueSpec>> {
    let Some(table) = reader.table(key) else {
        return BTreeMap::new();
    };
    let read = |(name, at, item): (&str, usize, &Item<'_>)| {
        let place = format!("{}.{name}", table.place);
        value(item, &place, reader.report).map(|value| (name.to_owned(), Found { value, at }))
    };
    table.entries().filter_map(read).collect()
}

/// One value.
pub(super) fn value(item: &Item<'_>, place: &str, report: &Report<'_>) -> Option<ValueSpec> {
    match item.get_ref() {
        DeValue::String(text) => {
            let pointer = pointer(text, item.span().start, place, report)?;
            Some(ValueSpec::Pointer {
                pointer,
                convert: None,
                default: None,
                negate: false,
            })
        }
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
            literal(item, place, report).map(ValueSpec::Literal)
        }
        DeValue::Table(_) => table(item, place, report),
        other => {
            let kind = kind(other);
            report.at(
                item.span().start,
                format!(
                    "{place} is {kind}; write a JSON Pointer such as \"/data/id\", or {{ literal = .. }}"
                ),
            );
            None
        }
    }
}

/// Notes a template that cannot work.
pub(super) fn check_template(text: &Found<String>, place: &str, report: &Report<'_>) {
    if let Err(reason) = Templates::new().add("check", &text.value) {
        report.at(text.at, format!("{place}: {reason}"));
    }
}

fn table(item: &Item<'_>, place: &str, report: &Report<'_>) -> Option<ValueSpec> {
    let reader = Reader::of(item, place.to_owned(), report)?;
    let from = reader.string("pointer");
    let fixed = reader.get("literal");
    let template = reader.string("template");
    let meta = reader.word(
        "meta",
        &[
            ("id", Meta::Id),
            ("kind", Meta::Kind),
            ("source", Meta::Source),
            ("scope", Meta::Scope),
            ("occurred_at", Meta::OccurredAt),
        ],
    );
    let convert = reader.word("as", &[("string", Convert::String), ("number", Convert::Number)]);
    let default = reader
        .get("default")
        .and_then(|item| literal(item, &format!("{place}.default"), report));
    let negate = reader.boolean("negate").unwrap_or(false);
    let given = reader
        .entries()
        .filter(|(name, ..)| ["pointer", "literal", "template", "meta"].contains(name))
        .count();
    let extra = convert.is_some() || default.is_some() || negate;
    let spec = match (from, fixed, template, meta) {
        _ if given != 1 => {
            reader.wrong("give exactly one of `pointer`, `literal`, `template` and `meta`");
            None
        }
        (Some(from), ..) => {
            let pointer = pointer(&from.value, from.at, place, report);
            pointer.map(|pointer| ValueSpec::Pointer {
                pointer,
                convert,
                default,
                negate,
            })
        }
        (_, Some(fixed), ..) if !extra => literal(fixed, place, report).map(ValueSpec::Literal),
        (_, _, Some(template), _) if default.is_none() && !negate => {
            check_template(&template, place, report);
            Some(ValueSpec::Template {
                template: template.value,
                convert,
            })
        }
        (.., Some(meta)) if !extra => Some(ValueSpec::Meta(meta)),
        (None, None, None, None) => None,
        _ => {
            reader.wrong(
                "`as`, `default` and `negate` belong to `pointer`; of these, `template` takes `as` only",
            );
            None
        }
    };
    reader.finish();
    spec
}

/// A JSON Pointer (RFC 6901).
fn pointer(text: &str, at: usize, place: &str, report: &Report<'_>) -> Option<String> {
    let escaped = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if text.starts_with('/') && escaped {
        return Some(text.to_owned());
    }
    let remedy = if text.contains("{{") {
        format!("a template is written {{ template = {text:?} }}")
    } else if text.starts_with('/') {
        "`~` is written ~0 there, and `/` inside a name ~1".to_owned()
    } else {
        format!("fixed text is written {{ literal = {text:?} }}, a rendered one {{ template = \"..\" }}")
    };
    report.at(
        at,
        format!("{place}: `{text}` is not a JSON Pointer, which begins with `/`; {remedy}"),
    );
    None
}

/// A TOML value as JSON, numbers as written.
fn literal(item: &Item<'_>, place: &str, report: &Report<'_>) -> Option<Json> {
    let wrong = |reason: &str| {
        report.at(item.span().start, format!("{place}: {reason}"));
        None
    };
    match item.get_ref() {
        DeValue::String(text) => Some(Json::from(text.as_ref())),
        DeValue::Boolean(value) => Some(Json::from(*value)),
        DeValue::Integer(number) if number.radix() == 10 => {
            number_of(number.as_str()).or_else(|| wrong("not a number"))
        }
        DeValue::Integer(_) => wrong("write the number in decimal"),
        DeValue::Float(number) => number_of(number.as_str()).or_else(|| wrong("JSON has no such number")),
        DeValue::Datetime(_) => wrong("put the time in quotes"),
        DeValue::Array(list) => list.iter().map(|item| literal(item, place, report)).collect(),
        DeValue::Table(map) => map
            .iter()
            .map(|(name, item)| Some((name.get_ref().to_string(), literal(item, place, report)?)))
            .collect::<Option<serde_json::Map<_, _>>>()
            .map(Json::Object),
    }
}

fn number_of(text: &str) -> Option<Json> {
    text.replace('_', "")
        .trim_start_matches('+')
        .parse::<Number>()
        .ok()
        .map(Json::Number)
}

/// Notes a name that nothing has, with the nearest that something has.
pub(super) fn check_reference<'n>(
    name: &Found<String>,
    what: &str,
    names: impl IntoIterator<Item = &'n str>,
    reader: &Reader<'_>,
) {
    let names: Vec<&str> = names.into_iter().collect();
    if !names.contains(&name.value.as_str()) {
        let nearest = suggestion(&name.value, names);
        reader.report.at(
            name.at,
            format!("{}: there is no {what} `{}`{nearest}", reader.place, name.value),
        );
    }
}
