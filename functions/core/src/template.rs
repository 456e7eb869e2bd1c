//! Templates and expressions over events, with three rules that minijinja alone does not give: a missing
//! field is an error wherever it is used, numbers are exact or refused, and values render as JSON.
//!
//! It deliberately knows no rules and no configuration; it has names, sources and events.

mod data;
mod scan;

use std::{collections::BTreeMap, sync::Arc};

use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior, Value, value::Rest};

use crate::event::Event;
use data::{Node, Tracker, TrackerHandle};
use scan::Uses;

/// The variable that carries the tracker of one plan; not a name that a template can write by accident.
const TRACKER: &str = "oncehook tracker";
/// The filter that an expression is wrapped in.
const TRUTH: &str = "oncehook_truth";

/// Templates whose names end so render values percent-encoded, each within one path segment of a URL.
pub const URL_PATH: &str = "url path";
/// Templates whose names end so render values percent-encoded, each within one field of a form.
pub const FORM_BODY: &str = "form body";

/// Compiled templates by name. Made once; rendering does not parse.
#[derive(Debug)]
pub struct Templates {
    environment: Environment<'static>,
    uses: BTreeMap<String, Uses>,
}

/// What templates see of one event: `event` (its body) and `meta` (id, kind, source, scope, occurred_at).
#[derive(Debug)]
pub struct Scope {
    event: Value,
    meta: Value,
    tracker: Value,
    handle: TrackerHandle,
}

/// Why a template gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// It used a field that the event does not have, named by its dotted path.
    #[error("the event has nothing at {0}")]
    Missing(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl Default for Templates {
    fn default() -> Self {
        Self::new()
    }
}

impl Templates {
    /// No templates yet.
    #[must_use]
    pub fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_formatter(|out, state, value| {
            let mut text = data::text(value, tracker(state)?.handle())?;
            if [URL_PATH, FORM_BODY]
                .iter()
                .any(|end| state.name().ends_with(end))
            {
                text = percent_encoded(&text);
            }
            out.write_str(&text)
                .map_err(|_| Error::new(ErrorKind::WriteFailure, "the output is full"))
        });
        environment.add_filter("tojson", |state: &State<'_, '_>, value: &Value| {
            data::json(value, tracker(state)?.handle())
        });
        environment.add_filter("string", |state: &State<'_, '_>, value: &Value| {
            data::text(value, tracker(state)?.handle())
        });
        environment.add_filter("default", default);
        environment.add_filter("d", default);
        environment.add_test(
            "defined",
            |state: &State<'_, '_>, value: &Value| -> Result<bool, Error> { Ok(!forgive(state, value)?) },
        );
        environment.add_test("undefined", |state: &State<'_, '_>, value: &Value| {
            forgive(state, value)
        });
        environment.add_filter(TRUTH, truth);
        // Each would round in silence.
        environment.remove_filter("float");
        environment.remove_filter("pprint");
        Self {
            environment,
            uses: BTreeMap::new(),
        }
    }

    /// Compiles a template.
    ///
    /// # Errors
    /// When it cannot work whatever the event: syntax, names that do not exist, numbers too long to compare.
    pub fn add(&mut self, name: &str, source: &str) -> Result<(), String> {
        let uses = scan::template(source)?;
        self.compile(name, source.to_owned(), uses)
    }

    /// Compiles an expression, for [`test`](Self::test).
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_expression(&mut self, name: &str, source: &str) -> Result<(), String> {
        let uses = scan::expression(source)?;
        self.environment
            .compile_expression(source)
            .map(drop)
            .map_err(|error| describe(&error))?;
        self.compile(name, format!("{{{{ ({source}) | {TRUTH} }}}}"), uses)
    }

    fn compile(&mut self, name: &str, source: String, uses: Uses) -> Result<(), String> {
        self.environment
            .add_template_owned(name.to_owned(), source)
            .map_err(|error| describe(&error))?;
        let template = self
            .environment
            .get_template(name)
            .map_err(|error| describe(&error))?;
        let globals: Vec<&str> = self.environment.globals().map(|(name, _)| name).collect();
        let unknown = template
            .undeclared_variables(false)
            .into_iter()
            .filter(|variable| {
                !["event", "meta"].contains(&variable.as_str()) && !globals.contains(&variable.as_str())
            });
        if let Some(variable) = unknown.min() {
            return Err(format!(
                "there is no variable `{variable}`: use `event` (the body) or `meta`"
            ));
        }
        self.check_names(&uses)?;
        self.uses.insert(name.to_owned(), uses);
        Ok(())
    }

    /// The engine finds filters and tests only when they run; a mistake in one is found here.
    fn check_names(&self, uses: &Uses) -> Result<(), String> {
        let mut state = self.environment.empty_state();
        for name in &uses.filters {
            let found = state.apply_filter(name, &[]);
            if found.is_err_and(|error| error.kind() == ErrorKind::UnknownFilter) {
                return Err(format!("there is no filter `{name}`"));
            }
        }
        for name in &uses.tests {
            let found = state.perform_test(name, &[]);
            if found.is_err_and(|error| error.kind() == ErrorKind::UnknownTest) {
                return Err(format!("there is no test `{name}`"));
            }
        }
        Ok(())
    }

    /// Whether a template of this name was added.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.uses.contains_key(name)
    }

    /// Renders a template.
    ///
    /// # Errors
    /// When a field is missing, a number cannot be used exactly, or the engine fails.
    pub fn render(&self, name: &str, scope: &Scope) -> Result<String, RenderError> {
        let uses = self
            .uses
            .get(name)
            .ok_or_else(|| RenderError::Failed(format!("no template `{name}`")))?;
        let template = self
            .environment
            .get_template(name)
            .map_err(|error| RenderError::Failed(describe(&error)))?;
        scope.handle.start(uses.literals.clone());
        let context = Value::from_pairs([
            ("event", scope.event.clone()),
            ("meta", scope.meta.clone()),
            (TRACKER, scope.tracker.clone()),
        ]);
        let rendered = template.render(context);
        if let Some(path) = scope.handle.first_miss() {
            return Err(RenderError::Missing(path));
        }
        let text = rendered.map_err(|error| RenderError::Failed(describe(&error)))?;
        match scope.handle.inexact(uses) {
            Some(reason) => Err(RenderError::Failed(reason)),
            None => Ok(text),
        }
    }

    /// Evaluates an expression, which must be true or false.
    ///
    /// # Errors
    /// As [`render`](Self::render), and when the result is neither.
    pub fn test(&self, name: &str, scope: &Scope) -> Result<bool, RenderError> {
        self.render(name, scope).map(|text| text == "true")
    }
}

impl Scope {
    /// What templates see of this event.
    #[must_use]
    pub fn new(event: &Event) -> Self {
        let mut meta = serde_json::Map::new();
        for (name, value) in [
            ("id", &event.id),
            ("kind", &event.kind),
            ("source", &event.source),
            ("scope", &event.scope),
        ] {
            meta.insert(name.to_owned(), value.clone().into());
        }
        if let Some(occurred) = event.occurred_at {
            meta.insert("occurred_at".to_owned(), occurred.to_string().into());
        }
        let handle = TrackerHandle::default();
        Self {
            event: Node::value("event", Arc::clone(&event.data), &handle),
            meta: Node::value("meta", Arc::new(meta.into()), &handle),
            tracker: Value::from_object(Tracker(handle.clone())),
            handle,
        }
    }
}

fn tracker(state: &State<'_, '_>) -> Result<Arc<Tracker>, Error> {
    state
        .lookup(TRACKER)
        .and_then(|value| value.downcast_object::<Tracker>())
        .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "rendered without an event"))
}

/// Whether the value is missing; if it is, that is no longer held against the template.
fn forgive(state: &State<'_, '_>, value: &Value) -> Result<bool, Error> {
    if value.is_undefined() {
        tracker(state)?.handle().forgive();
    }
    Ok(value.is_undefined())
}

#[expect(clippy::needless_pass_by_value, reason = "the engine hands arguments over")]
fn default(state: &State<'_, '_>, value: &Value, others: Rest<Value>) -> Result<Value, Error> {
    let other = others.first().cloned().unwrap_or_else(|| Value::from(""));
    let empty_counts = others.get(1).is_some_and(Value::is_true);
    if value.is_undefined() {
        forgive(state, value)?;
        return Ok(other);
    }
    if empty_counts && !value.is_true() {
        return Ok(other);
    }
    forgive(state, &other)?;
    Ok(value.clone())
}

fn truth(value: &Value) -> Result<Value, Error> {
    match value.to_string().as_str() {
        _ if value.is_undefined() => Err(Error::from(ErrorKind::UndefinedError)),
        "true" | "True" if value.kind() == minijinja::value::ValueKind::Bool => Ok(Value::from("true")),
        "false" | "False" if value.kind() == minijinja::value::ValueKind::Bool => Ok(Value::from("false")),
        _ => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!(
                "gave a {}, not true or false: compare it with something",
                value.kind()
            ),
        )),
    }
}

/// Everything but unreserved characters (RFC 3986, section 2.3) as `%XX`.
fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// The engine's reason and line, without the template's name.
fn describe(error: &Error) -> String {
    let reason = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    error.line().map_or_else(
        || reason.clone(),
        |line| format!("{reason} (line {line} of the template)"),
    )
}
