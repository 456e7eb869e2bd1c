//! One logged line as data.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;
use tracing::{
    Event,
    field::{Field, Visit},
};

/// A line: its message and its fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    pub(crate) message: String,
    pub(crate) fields: BTreeMap<&'static str, Value>,
}

impl Line {
    /// The line of an event.
    pub(super) fn of(event: &Event<'_>) -> Self {
        let mut line = Self::default();
        event.record(&mut line);
        line
    }

    /// A field that is text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_str()
    }

    /// Whether a field is `true`.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.fields.get(name) == Some(&Value::Bool(true))
    }

    /// All fields but these, as an object.
    pub(crate) fn without(&self, names: &[&str]) -> Value {
        self.fields
            .iter()
            .filter(|(name, _)| !names.contains(*name))
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" {
            self.message = text;
        } else {
            self.fields.insert(field.name(), text.into());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.insert(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.insert(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.insert(field.name(), value.into());
    }
}
