//! Adds samples up. Reads nothing and prints nothing; the time is an argument.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp, civil::Date, tz::Offset};
use oncehook_core::config::Config;
use oncehook_edge::metrics::{METRICS, Metric};
use serde_json::{Map, Value, json};

/// One number that was emitted, or a sum of such over a time that begins at `at`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    /// Which metric; its first dimension after the function says of what.
    pub(super) metric: &'static Metric,
    /// The source or destination.
    pub(super) of: String,
    /// When.
    pub(super) at: Timestamp,
    /// How much.
    pub(super) value: f64,
}

/// Sums, by source and by destination.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) sources: BTreeMap<String, Counts>,
    pub(super) destinations: BTreeMap<String, Counts>,
    /// The age in seconds of the oldest open effect, by destination.
    pub(super) oldest_open: BTreeMap<String, f64>,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    totals: BTreeMap<&'static str, u64>,
    /// Received, and duplicates among them.
    pub(super) days: BTreeMap<Date, (u64, u64)>,
}

impl Counts {
    pub(super) fn total(&self, name: &str) -> u64 {
        self.totals.get(name).copied().unwrap_or_default()
    }
}

/// An effect that was tried so recently and not delivered is taken to be still open.
const STILL: SignedDuration = SignedDuration::from_hours(1);
/// What sweep said last is not older than this.
const SWEPT: SignedDuration = SignedDuration::from_mins(20);

/// The age of the oldest open effect as far as the metrics tell, by destination.
pub(super) fn oldest(samples: &[Sample], until: Timestamp) -> BTreeMap<String, f64> {
    let mut oldest = BTreeMap::new();
    for sample in samples {
        let lasts = match sample.metric.name {
            "OldestDue" => SWEPT,
            "OpenFor" => STILL,
            _ => continue,
        };
        if sample.at + lasts >= until && sample.value > 0.0 {
            let known: &mut f64 = oldest.entry(sample.of.clone()).or_default();
            *known = known.max(sample.value);
        }
    }
    oldest
}

impl Report {
    /// Adds up what lies between.
    pub(super) fn new<'s>(
        from: Timestamp,
        until: Timestamp,
        samples: impl Iterator<Item = &'s Sample>,
    ) -> Self {
        let mut report = Self {
            from,
            until,
            ..Self::default()
        };
        for sample in samples.filter(|sample| sample.metric.unit == "Count") {
            if sample.at < from || sample.at > until {
                continue;
            }
            let counts = match sample.metric.by.first() {
                Some(&"source") => &mut report.sources,
                Some(&"destination") => &mut report.destinations,
                _ => continue,
            };
            let counts = counts.entry(sample.of.clone()).or_default();
            let count = whole(sample.value);
            *counts.totals.entry(sample.metric.name).or_default() += count;
            let day = counts
                .days
                .entry(Offset::UTC.to_datetime(sample.at).date())
                .or_default();
            match sample.metric.name {
                "Received" => day.0 += count,
                "Duplicates" => day.1 += count,
                _ => {}
            }
        }
        report
    }

    /// What is configured is shown even if nothing came.
    pub(super) fn known(&mut self, config: &Config) {
        for name in config.sources.keys() {
            self.sources.entry(name.clone()).or_default();
        }
        for name in config.destinations.keys() {
            self.destinations.entry(name.clone()).or_default();
        }
    }

    /// For scripts.
    pub(super) fn json(&self) -> Value {
        let totals = |function: &str, counts: &Counts| -> Map<String, Value> {
            let of = counted(function).map(|metric| (key(metric.name), json!(counts.total(metric.name))));
            of.collect()
        };
        let source = |counts: &Counts| {
            let mut value = totals("ingest", counts);
            let (received, duplicates) = (counts.total("Received"), counts.total("Duplicates"));
            value.insert("duplicate_rate".into(), json!(rate(received, duplicates)));
            let days = counts.days.iter().filter(|(_, (received, _))| *received > 0);
            let days = days.map(|(day, (received, duplicates))| {
                json!({"day": day.to_string(), "received": received, "duplicates": duplicates,
                       "duplicate_rate": rate(*received, *duplicates)})
            });
            value.insert("days".into(), days.collect());
            Value::Object(value)
        };
        let destination = |name: &str, counts: &Counts| {
            let mut value = totals("drain", counts);
            value.insert("oldest_open_seconds".into(), json!(self.oldest_open.get(name)));
            Value::Object(value)
        };
        let sources = self
            .sources
            .iter()
            .map(|(name, counts)| (name.clone(), source(counts)));
        let destinations = self.destinations.iter();
        let destinations = destinations.map(|(name, counts)| (name.clone(), destination(name, counts)));
        json!({
            "from": self.from.to_string(),
            "until": self.until.to_string(),
            "sources": sources.collect::<Map<String, Value>>(),
            "destinations": destinations.collect::<Map<String, Value>>(),
        })
    }
}

/// What a function counts.
pub(super) fn counted(function: &str) -> impl Iterator<Item = &'static Metric> {
    METRICS
        .iter()
        .filter(move |metric| metric.function == function && metric.unit == "Count")
}

/// `NotCommitted` as `not_committed`.
pub(super) fn key(name: &str) -> String {
    let mut key = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !key.is_empty() {
            key.push('_');
        }
        key.extend(character.to_lowercase());
    }
    key
}

/// The share of duplicates; none where nothing came.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 52 bits")]
pub(super) fn rate(received: u64, duplicates: u64) -> Option<f64> {
    (received > 0).then(|| duplicates as f64 / received as f64)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are whole and not negative"
)]
pub(super) fn whole(value: f64) -> u64 {
    value.round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str, of: &str, at: &str, value: f64) -> Sample {
        let metric = METRICS.iter().find(|metric| metric.name == name);
        Sample {
            metric: metric.expect("it is a metric"),
            of: of.to_owned(),
            at: at.parse().expect("it is a time"),
            value,
        }
    }

    #[test]
    fn counts_are_added_by_source_and_day_and_destination() {
        let (from, until) = ("2026-12-01T06:00:00Z", "2026-12-03T00:00:00Z");
        let samples = [
            sample("Received", "stripe", "2026-12-01T05:59:59Z", 100.0),
            sample("Received", "stripe", "2026-12-01T06:00:00Z", 8.0),
            sample("Received", "stripe", "2026-12-02T23:59:59Z", 2.0),
            sample("Duplicates", "stripe", "2026-12-02T01:00:00Z", 1.0),
            sample("Received", "github", "2026-12-02T01:00:00Z", 4.0),
            sample("CommitLatency", "stripe", "2026-12-02T01:00:00Z", 40.0),
            sample("Delivered", "mail", "2026-12-02T01:00:00Z", 3.0),
            sample("NotCommitted", "stripe", "2026-12-02T01:00:00Z", 1.0),
        ];
        let report = Report::new(from.parse().unwrap(), until.parse().unwrap(), samples.iter());
        let json = report.json();
        let stripe = &json["sources"]["stripe"];
        assert_eq!(
            (&stripe["received"], &stripe["duplicates"]),
            (&json!(10), &json!(1))
        );
        assert_eq!(
            (&stripe["not_committed"], &stripe["applied"]),
            (&json!(1), &json!(0))
        );
        assert_eq!(stripe["duplicate_rate"], 0.1);
        assert_eq!(
            stripe["days"],
            json!([
                {"day": "2026-12-01", "received": 8, "duplicates": 0, "duplicate_rate": 0.0},
                {"day": "2026-12-02", "received": 2, "duplicates": 1, "duplicate_rate": 0.5},
            ])
        );
        assert_eq!(json["sources"]["github"]["received"], 4);
        assert_eq!(json["destinations"]["mail"]["delivered"], 3);
        assert!(stripe.get("commit_latency").is_none(), "a time is not added up");
    }

    #[test]
    fn the_oldest_open_effect_is_the_one_seen_lately() {
        let samples = [
            sample("OldestDue", "mail", "2026-12-01T11:00:00Z", 900.0),
            sample("OldestDue", "mail", "2026-12-01T11:55:00Z", 60.0),
            sample("OpenFor", "mail", "2026-12-01T10:00:00Z", 9000.0),
            sample("OpenFor", "app", "2026-12-01T11:30:00Z", 7000.0),
            sample("OldestDue", "app", "2026-12-01T11:55:00Z", 0.0),
        ];
        let oldest = oldest(&samples, "2026-12-01T12:00:00Z".parse().unwrap());
        assert_eq!(
            oldest,
            BTreeMap::from([("app".to_owned(), 7000.0), ("mail".to_owned(), 60.0)])
        );
    }
}
