//! Event data as minijinja values: looked up one step at a time, so that what is missing and which numbers
//! were used is known afterwards.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use minijinja::{
    Error, ErrorKind, Value,
    value::{Enumerator, Object, ObjectRepr, ValueKind},
};
use serde_json::Value as Json;

use super::scan::Uses;
use crate::decimal::Decimal;

/// A map or list inside the event.
#[derive(Debug)]
pub(super) struct Node {
    root: Arc<Json>,
    name: &'static str,
    steps: Vec<Step>,
    tracker: TrackerHandle,
}

#[derive(Debug, Clone)]
enum Step {
    Field(String),
    Index(usize),
}

/// A number that neither i128 nor f64 holds exactly: it can be rendered, not compared.
#[derive(Debug)]
pub(super) struct Exact(String);

impl Object for Exact {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The tracker as a template variable.
#[derive(Debug)]
pub(super) struct Tracker(pub(super) TrackerHandle);

impl Tracker {
    pub(super) fn handle(&self) -> &TrackerHandle {
        &self.0
    }
}

impl Object for Tracker {}

/// What one evaluation looked up.
#[derive(Debug, Default)]
struct Seen {
    /// Paths where nothing was.
    misses: Vec<String>,
    /// The text of each non-integer number met, by the bits of the f64 that stands for it.
    texts: BTreeMap<u64, String>,
    /// Decimals looked up and not (yet) rendered as they are.
    decimals: Vec<(u64, String)>,
    /// Numbers beyond i128 and f64, looked up and not (yet) rendered as they are.
    exact: Vec<(String, String)>,
}

/// Shared by the values of one event.
#[derive(Debug, Clone, Default)]
pub(super) struct TrackerHandle(Arc<Mutex<Seen>>);

impl TrackerHandle {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the last evaluation; `literals` are the numbers written in the template.
    pub(super) fn start(&self, literals: BTreeMap<u64, String>) {
        *self.seen() = Seen {
            texts: literals,
            ..Seen::default()
        };
    }

    pub(super) fn first_miss(&self) -> Option<String> {
        self.seen().misses.first().cloned()
    }

    pub(super) fn forgive(&self) {
        self.seen().misses.pop();
    }

    /// Why the result of an evaluation may not be exact.
    pub(super) fn inexact(&self, uses: &Uses) -> Option<String> {
        let seen = self.seen();
        if let Some((_, path)) = seen.exact.first().filter(|_| uses.comparison || uses.arithmetic) {
            return Some(format!(
                "{path} has more digits than can be compared or calculated with exactly"
            ));
        }
        let (_, path) = seen.decimals.first().filter(|_| uses.arithmetic)?;
        Some(format!(
            "{path} is not a whole number, and this template calculates, which is exact with whole numbers only"
        ))
    }

    fn decimal_text(&self, number: f64) -> Result<String, Error> {
        let mut seen = self.seen();
        let bits = number.to_bits();
        if let Some(at) = seen.decimals.iter().rposition(|(pending, _)| *pending == bits) {
            seen.decimals.remove(at);
        }
        seen.texts.get(&bits).cloned().ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidOperation,
                "the result is not a whole number, and only those are exact: use // and %",
            )
        })
    }

    fn used_exact(&self, text: &str) {
        let mut seen = self.seen();
        if let Some(at) = seen.exact.iter().rposition(|(pending, _)| pending == text) {
            seen.exact.remove(at);
        }
    }
}

impl Node {
    /// A template's view of a whole document called `name`.
    pub(super) fn value(name: &'static str, root: Arc<Json>, tracker: &TrackerHandle) -> Value {
        Self {
            root,
            name,
            steps: Vec::new(),
            tracker: tracker.clone(),
        }
        .at_path()
    }

    fn json(&self) -> &Json {
        self.steps.iter().fold(&*self.root, |at, step| {
            match step {
                Step::Field(field) => at.get(field.as_str()),
                Step::Index(index) => at.get(index),
            }
            .unwrap_or(&Json::Null)
        })
    }

    fn path(&self) -> String {
        self.steps
            .iter()
            .fold(self.name.to_owned(), |path, step| match step {
                Step::Field(field) => format!("{path}.{field}"),
                Step::Index(index) => format!("{path}[{index}]"),
            })
    }

    fn at_path(self) -> Value {
        match self.json() {
            Json::Null => Value::from(()),
            Json::Bool(value) => Value::from(*value),
            Json::String(value) => Value::from(value.as_str()),
            Json::Number(value) => self.number(value.as_str()),
            Json::Array(_) | Json::Object(_) => Value::from_object(self),
        }
    }

    fn number(&self, text: &str) -> Value {
        if let Ok(whole) = text.parse::<i128>() {
            return Value::from(whole);
        }
        let mut seen = self.tracker.seen();
        match exact_f64(text) {
            Some(number) => {
                seen.texts.insert(number.to_bits(), text.to_owned());
                seen.decimals.push((number.to_bits(), self.path()));
                Value::from(number)
            }
            None => {
                seen.exact.push((text.to_owned(), self.path()));
                Value::from_object(Exact(text.to_owned()))
            }
        }
    }
}

/// The f64 for which this is a text: writing that f64 gives the same value, so that any two such numbers compare
/// as their decimals do.
pub(super) fn exact_f64(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
    let same = Decimal::parse(text).ok()? == Decimal::parse(&format!("{number:e}")).ok()?;
    // Zero has one sign here, so that one text stands for it.
    same.then_some(if number == 0.0 { 0.0 } else { number })
}

impl Object for Node {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        if self.json().is_array() {
            ObjectRepr::Seq
        } else {
            ObjectRepr::Map
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let step = match (self.json(), key.as_str(), key.as_usize()) {
            (Json::Object(_), Some(field), _) => Step::Field(field.to_owned()),
            (Json::Array(_), _, Some(index)) => Step::Index(index),
            _ => Step::Field(key.to_string()),
        };
        let found = match (self.json(), &step) {
            (Json::Object(map), Step::Field(field)) => map.contains_key(field),
            (Json::Array(list), Step::Index(index)) => *index < list.len(),
            _ => false,
        };
        let mut steps = self.steps.clone();
        steps.push(step);
        let child = Self {
            root: Arc::clone(&self.root),
            name: self.name,
            steps,
            tracker: self.tracker.clone(),
        };
        if found {
            return Some(child.at_path());
        }
        self.tracker.seen().misses.push(child.path());
        None
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.json() {
            Json::Array(list) => Enumerator::Seq(list.len()),
            Json::Object(map) => {
                Enumerator::Values(map.keys().map(|key| Value::from(key.as_str())).collect())
            }
            _ => Enumerator::Empty,
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.json())
    }
}

/// A value as it stands in the output: text as it is, all else as JSON.
pub(super) fn text(value: &Value, tracker: &TrackerHandle) -> Result<String, Error> {
    value
        .as_str()
        .map_or_else(|| json(value, tracker), |text| Ok(text.to_owned()))
}

/// A value as JSON, numbers as the event writes them.
pub(super) fn json(value: &Value, tracker: &TrackerHandle) -> Result<String, Error> {
    if let Some(node) = value.downcast_object_ref::<Node>() {
        return Ok(node.json().to_string());
    }
    if let Some(Exact(text)) = value.downcast_object_ref::<Exact>() {
        tracker.used_exact(text);
        return Ok(text.clone());
    }
    match value.kind() {
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        ValueKind::None => Ok("null".to_owned()),
        ValueKind::Bool => Ok(value.is_true().to_string()),
        ValueKind::Number if value.is_integer() => Ok(value.to_string()),
        ValueKind::Number => tracker.decimal_text(f64::try_from(value.clone())?),
        ValueKind::String => Ok(Json::from(value.as_str().unwrap_or_default()).to_string()),
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Result<Vec<_>, _> = value.try_iter()?.map(|item| json(&item, tracker)).collect();
            Ok(format!("[{}]", items?.join(",")))
        }
        ValueKind::Map => {
            let pair = |key: Value| -> Result<String, Error> {
                let name = Json::from(text(&key, tracker)?);
                Ok(format!("{name}:{}", json(&value.get_item(&key)?, tracker)?))
            };
            let pairs: Result<Vec<_>, _> = value.try_iter()?.map(pair).collect();
            Ok(format!("{{{}}}", pairs?.join(",")))
        }
        kind => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("a {kind} has no JSON form"),
        )),
    }
}
