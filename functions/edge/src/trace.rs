//! Spans as lines of the log, in OpenTelemetry's JSON: no call, and nothing at all unless they are switched on.
//!
//! One line is one `TracesData`, as the OpenTelemetry Collector reads it from a file or from a subscription of the log
//! group. A span holds names and results, never a body, a header or a secret.
//!
//! <https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/>

use std::{cell::RefCell, sync::OnceLock};

use jiff::Timestamp;
pub use oncehook_core::trace::Trace;
use oncehook_core::trace::hex;
use serde_json::{Value, json};

use crate::watching::{Watcher, Watching};

/// The variable that switches spans on, with the value `spans`.
pub const TRACING: &str = "ONCEHOOK_TRACING";
const ON: &str = "spans";

type Write = Box<dyn Fn(&str) + Send + Sync>;

static SINK: OnceLock<Write> = OnceLock::new();

thread_local! {
    static WATCHER: Watcher = const { RefCell::new(None) };
}

/// What a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A request was received.
    Server,
    /// A call was made.
    Client,
}

/// A piece of an event's way that has begun.
#[derive(Debug)]
pub struct Span {
    trace: Trace,
    id: String,
    parent: Option<String>,
    kind: Kind,
    name: &'static str,
    start: Timestamp,
    attributes: Vec<Value>,
}

/// Spans are handed to `write` from now on, if the variable's value says so. The first call counts.
pub(crate) fn start(setting: Option<&str>, write: impl Fn(&str) + Send + Sync + 'static) {
    if setting == Some(ON) {
        let _started_before = SINK.set(Box::new(write));
    }
}

/// Hands the spans of this thread to `watcher` until the guard goes: for tests.
#[must_use]
pub fn watch(watcher: impl Fn(&str) + 'static) -> Watching {
    Watching::begin(&WATCHER, watcher)
}

fn on() -> bool {
    SINK.get().is_some() || WATCHER.with_borrow(Option::is_some)
}

impl Span {
    /// The first span of an event's trace, if spans are wanted. `first` is false for a copy of the event, whose span is
    /// one below.
    #[must_use]
    pub fn received(trace: impl FnOnce() -> Trace, first: bool, start: Timestamp) -> Option<Self> {
        let mut span = Self::below(|| Some(trace()), Kind::Server, "receive", start)?;
        if first {
            span.id = span.trace.root().to_owned();
            span.parent = None;
        }
        Some(span)
    }

    /// A span below the first, if spans are wanted and the trace is known.
    #[must_use]
    pub fn below(
        trace: impl FnOnce() -> Option<Trace>,
        kind: Kind,
        name: &'static str,
        start: Timestamp,
    ) -> Option<Self> {
        let trace = on().then(trace)??;
        Some(Self {
            id: hex(&fastrand::u64(1..).to_be_bytes()),
            parent: Some(trace.root().to_owned()),
            trace,
            kind,
            name,
            start,
            attributes: Vec::new(),
        })
    }

    /// What a call within this span sends along as `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> String {
        self.trace.parent(&self.id)
    }

    /// Notes a name or a result.
    pub fn set(&mut self, key: &str, value: &str) {
        self.attributes
            .push(json!({"key": key, "value": {"stringValue": value}}));
    }

    /// Notes a number.
    pub fn number(&mut self, key: &str, value: u64) {
        // 64-bit numbers are text in this JSON.
        self.attributes
            .push(json!({"key": key, "value": {"intValue": value.to_string()}}));
    }

    /// Ends it and writes it.
    pub fn end(self, function: &str, end: Timestamp, failed: bool) {
        let line = self.json(function, end, failed).to_string();
        WATCHER.with_borrow(|watcher| match (watcher, SINK.get()) {
            (Some(watcher), _) => watcher(&line),
            (None, Some(write)) => write(&line),
            (None, None) => {}
        });
    }

    fn json(self, function: &str, end: Timestamp, failed: bool) -> Value {
        let nanos = |at: Timestamp| at.as_nanosecond().to_string();
        let service =
            json!([{"key": "service.name", "value": {"stringValue": format!("oncehook-{function}")}}]);
        let mut span = json!({
            "traceId": self.trace.id(),
            "spanId": self.id,
            "name": self.name,
            "kind": match self.kind { Kind::Server => 2, Kind::Client => 3 },
            "startTimeUnixNano": nanos(self.start),
            "endTimeUnixNano": nanos(end.max(self.start)),
            "attributes": self.attributes,
            "status": {"code": if failed { 2 } else { 1 }},
        });
        if let Some(parent) = self.parent {
            span["parentSpanId"] = parent.into();
        }
        json!({"resourceSpans": [{
            "resource": {"attributes": service},
            "scopeSpans": [{"scope": {"name": "oncehook"}, "spans": [span]}],
        }]})
    }
}
