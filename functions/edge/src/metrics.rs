//! Metrics as lines of the log, in CloudWatch's embedded metric format: no call, one line per unit of work.
//!
//! A handler fills a [`Line`] and emits it beside its log line. Names, units and dimensions are those of [`METRICS`], which
//! docs/metrics.md repeats. Dimensions come from the configuration or from fixed lists, never from a request, so that
//! their number is bounded. Where nobody has asked for them (most tests), nothing is built. On AWS they go to the log; `oncehook
//! dev` keeps them in its folder.
//!
//! The format: <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

mod table;

use std::{cell::RefCell, fmt, io::Write, sync::OnceLock};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub use table::{METRICS, Metric};

use crate::watching::{Watcher, Watching};

/// The variable with the namespace of the metrics; the template sets it to one of the stack.
pub const NAMESPACE: &str = "ONCEHOOK_METRICS";

/// The metrics of one unit of work: a request, an item, a destination of a sweep.
#[derive(Debug)]
pub struct Line {
    function: &'static str,
    dimensions: Vec<(&'static str, String)>,
    values: Vec<(&'static Metric, f64)>,
}

impl Line {
    /// An empty line of a function.
    #[must_use]
    pub const fn new(function: &'static str) -> Self {
        Self {
            function,
            dimensions: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds a dimension; in the order in which [`METRICS`] has them.
    #[must_use]
    pub fn by(mut self, name: &'static str, value: &str) -> Self {
        self.dimensions.push((name, value.to_owned()));
        self
    }

    /// Adds a value. One that [`METRICS`] does not have for this function and these dimensions is left out, which the
    /// tests notice.
    pub fn put(&mut self, name: &str, value: f64) {
        let metric = METRICS
            .iter()
            .find(|one| one.function == self.function && one.name == name);
        debug_assert!(metric.is_some(), "{name} is no metric of {}", self.function);
        self.values.extend(metric.map(|metric| (metric, value)));
    }

    /// Adds a count, unless it is zero: what is not sent costs nothing, and alarms take absence for health.
    pub fn count(&mut self, name: &str, count: usize) {
        if count > 0 {
            self.put(name, f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
        }
    }

    /// Writes the line to where the log goes, once [`start`] has said under which namespace; to the test that watches.
    pub fn emit(self, now: Timestamp) {
        if self.values.is_empty() {
            return;
        }
        WATCHER.with_borrow(|watcher| match (watcher, SINK.get()) {
            (Some(watcher), _) => watcher(&self.json("Oncehook", now).to_string()),
            (None, Some(sink)) => (sink.write)(&self.json(&sink.namespace, now).to_string()),
            (None, None) => {}
        });
    }

    /// The line in the embedded metric format.
    #[must_use]
    pub fn json(&self, namespace: &str, now: Timestamp) -> Value {
        let mut names = vec!["function"];
        let mut sets = vec![names.clone()];
        let mut line = Map::new();
        line.insert("function".into(), self.function.into());
        for (name, value) in &self.dimensions {
            names.push(name);
            sets.push(names.clone());
            line.insert((*name).into(), value.as_str().into());
        }
        let metrics: Vec<Value> = self
            .values
            .iter()
            .map(|(metric, _)| json!({"Name": metric.name, "Unit": metric.unit}))
            .collect();
        for (metric, value) in &self.values {
            line.insert(metric.name.into(), json!(value));
        }
        line.insert(
            "_aws".into(),
            json!({"Timestamp": now.as_millisecond(),
                   "CloudWatchMetrics": [{"Namespace": namespace, "Dimensions": sets, "Metrics": metrics}]}),
        );
        Value::Object(line)
    }
}

/// Where lines go, and as metrics of which namespace.
struct Sink {
    namespace: String,
    write: Box<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

static SINK: OnceLock<Sink> = OnceLock::new();

thread_local! {
    static WATCHER: Watcher = const { RefCell::new(None) };
}

/// From now on each line of this process is handed to `write`, as metrics of this namespace. The first call counts.
pub fn start(namespace: String, write: impl Fn(&str) + Send + Sync + 'static) {
    let write = Box::new(write);
    let _started_before = SINK.set(Sink { namespace, write });
}

/// Where CloudWatch finds them on Lambda. A log that cannot be written stops no webhook.
pub(crate) fn to_log(line: &str) {
    let _lost = writeln!(std::io::stdout().lock(), "{line}");
}

/// Hands the metrics of this thread to `watcher` until the guard goes: for tests.
#[must_use]
pub fn watch(watcher: impl Fn(&str) + 'static) -> Watching {
    Watching::begin(&WATCHER, watcher)
}
