//! Metrics as lines of the log, in CloudWatch's embedded metric format: no call, one line per unit of work.
//!
//! A handler fills a [`Line`] and emits it beside its log line. Names, units and dimensions are those of [`METRICS`], which
//! docs/metrics.md repeats. Dimensions come from the configuration or from fixed lists, never from a request, so that
//! their number is bounded. Where nobody has asked for them (`oncehook dev`, most tests), nothing is built.
//!
//! The format: <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::{cell::RefCell, io::Write, sync::OnceLock};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The variable with the namespace of the metrics; the template sets it to one of the stack.
pub const NAMESPACE: &str = "ONCEHOOK_METRICS";

/// One metric: what it is called, what it counts, and what it can be told apart by.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name in CloudWatch.
    pub name: &'static str,
    /// `Count`, `Milliseconds`, `Seconds` or `None`.
    pub unit: &'static str,
    /// The function that emits it: the value of the dimension `function`.
    pub function: &'static str,
    /// Further dimensions; the metric exists with `function` alone and with each of these added, in this order.
    pub by: &'static [&'static str],
    /// What it says.
    pub meaning: &'static str,
}

const fn metric(
    function: &'static str,
    by: &'static [&'static str],
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
) -> Metric {
    Metric {
        name,
        unit,
        function,
        by,
        meaning,
    }
}

const SOURCE: &[&str] = &["source"];
const REASON: &[&str] = &["source", "reason"];
const DESTINATION: &[&str] = &["destination"];

/// Every metric, in the order of docs/metrics.md.
pub const METRICS: &[Metric] = &[
    metric(
        "ingest",
        SOURCE,
        "Received",
        "Count",
        "Events of genuine requests, duplicates among them",
    ),
    metric(
        "ingest",
        SOURCE,
        "Applied",
        "Count",
        "Events whose rules took effect",
    ),
    metric(
        "ingest",
        SOURCE,
        "Duplicates",
        "Count",
        "Events that were there already; a rising share means that answers are slow or lost",
    ),
    metric(
        "ingest",
        SOURCE,
        "Skipped",
        "Count",
        "Events of which every rule was skipped: done before, or older than what is known",
    ),
    metric("ingest", SOURCE, "Ignored", "Count", "Events that no rule is for"),
    metric(
        "ingest",
        SOURCE,
        "Observed",
        "Count",
        "Events of a source in mode observe",
    ),
    metric(
        "ingest",
        SOURCE,
        "Failed",
        "Count",
        "Events kept as failed: their plan could not be made or written",
    ),
    metric(
        "ingest",
        SOURCE,
        "Held",
        "Count",
        "Events kept for a person, without effect",
    ),
    metric(
        "ingest",
        SOURCE,
        "NotCommitted",
        "Count",
        "Events that were not stored; the provider was told to come again",
    ),
    metric(
        "ingest",
        SOURCE,
        "CommitLatency",
        "Milliseconds",
        "From the request to the end of its commits and wake-ups",
    ),
    metric(
        "ingest",
        SOURCE,
        "SecretPosition",
        "None",
        "Which of its secrets a request was signed with: 0 is the newest",
    ),
    metric(
        "ingest",
        REASON,
        "Refused",
        "Count",
        "Requests that were refused before anything was read or written",
    ),
    metric(
        "drain",
        DESTINATION,
        "Attempts",
        "Count",
        "Claimed attempts, those among them that could not be sent",
    ),
    metric(
        "drain",
        DESTINATION,
        "Delivered",
        "Count",
        "Effects that are done",
    ),
    metric(
        "drain",
        DESTINATION,
        "ReceivedToDelivered",
        "Milliseconds",
        "From the event's commit to the effect's end",
    ),
    metric(
        "drain",
        DESTINATION,
        "Retried",
        "Count",
        "Attempts after which another follows",
    ),
    metric(
        "drain",
        DESTINATION,
        "Parked",
        "Count",
        "Effects that may have happened and wait for a person",
    ),
    metric(
        "drain",
        DESTINATION,
        "Dead",
        "Count",
        "Effects that certainly did not happen and wait for a person",
    ),
    metric(
        "sweep",
        DESTINATION,
        "OldestDue",
        "Seconds",
        "How long the effect that has been due longest has waited beyond sweep's grace; 0 if there is none",
    ),
    metric(
        "sweep",
        &[],
        "Unsent",
        "Count",
        "Wake-ups that the queue did not take",
    ),
];

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
        WATCHER.with_borrow(|watcher| match (watcher, NAMESPACE_IN_USE.get()) {
            (Some(watcher), _) => watcher(&self.json("Oncehook", now).to_string()),
            // A log that cannot be written stops no webhook.
            (None, Some(namespace)) => {
                let _lost = writeln!(std::io::stdout().lock(), "{}", self.json(namespace, now));
            }
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

static NAMESPACE_IN_USE: OnceLock<String> = OnceLock::new();

thread_local! {
    static WATCHER: RefCell<Option<Box<dyn Fn(&str)>>> = const { RefCell::new(None) };
}

/// Lines are written to standard output from now on, as metrics of this namespace.
pub(crate) fn start(namespace: String) {
    let _started_before = NAMESPACE_IN_USE.set(namespace);
}

/// Hands the metrics of this thread to `watcher` until the guard goes: for tests.
#[must_use]
pub fn watch(watcher: impl Fn(&str) + 'static) -> Watching {
    WATCHER.set(Some(Box::new(watcher)));
    Watching(())
}

/// Ends the watching when it goes.
#[derive(Debug)]
pub struct Watching(());

impl Drop for Watching {
    fn drop(&mut self) {
        WATCHER.set(None);
    }
}
