//! DynamoDB items from and to plain values.

use std::{collections::HashMap, fmt};

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use jiff::Timestamp;
use oncehook_core::plan::Attr;

pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) fn s(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn n(value: impl Copy + fmt::Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

pub(crate) fn millis(at: Timestamp) -> AttributeValue {
    n(at.as_millisecond())
}

pub(crate) fn bytes(value: Vec<u8>) -> AttributeValue {
    AttributeValue::B(Blob::new(value))
}

pub(crate) fn value(attr: &Attr) -> AttributeValue {
    match attr {
        Attr::S(text) => s(text),
        Attr::N(number) => n(number.as_str()),
        Attr::Bool(flag) => AttributeValue::Bool(*flag),
        Attr::Null => AttributeValue::Null(true),
        Attr::L(list) => AttributeValue::L(list.iter().map(value).collect()),
        Attr::M(map) => AttributeValue::M(
            map.iter()
                .map(|(name, attr)| (name.clone(), value(attr)))
                .collect(),
        ),
    }
}

pub(crate) fn item(pairs: impl IntoIterator<Item = (&'static str, AttributeValue)>) -> Item {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

pub(crate) fn text(item: &Item, name: &str) -> Option<String> {
    item.get(name)?.as_s().ok().cloned()
}

pub(crate) fn number<T: std::str::FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

pub(crate) fn time(item: &Item, name: &str) -> Option<Timestamp> {
    Timestamp::from_millisecond(number(item, name)?).ok()
}

pub(crate) fn flag(item: &Item, name: &str) -> bool {
    item.get(name)
        .and_then(|flag| flag.as_bool().ok())
        .copied()
        .unwrap_or_default()
}
