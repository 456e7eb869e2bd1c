//! The list: events as stored and requests that left none, newest first, and the picture over time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp};
use oncehook_store::{EventFilter, EventView, OutboxView, event_key};
use serde_json::{Value, json};

use super::{super::watch, Inspect, Told, parameter, refused};
use crate::{configuration, events};

/// The most rows.
const ROWS: usize = 500;
/// So many spans the picture has.
const SPANS: usize = 60;
/// How old what was read may get: commands of other processes change it, too.
const FRESH: Duration = Duration::from_secs(5);
/// How often the table is read at most, whatever comes in.
const EVERY: Duration = Duration::from_millis(500);

/// Rows by their time.
type Rows = Vec<(Option<Timestamp>, Value)>;
/// The event types that were seen, by source.
type Kinds = BTreeMap<String, BTreeSet<String>>;

/// What was last read, and when.
pub(in crate::dev) type Cache = Mutex<Option<Read>>;

/// Rows as they were read.
#[derive(Debug, Clone)]
pub(in crate::dev) struct Read {
    /// The version of the memory at that time.
    version: u64,
    /// Changes whenever the rows do.
    mark: u64,
    at: Instant,
    rows: Rows,
    stored: usize,
    kinds: Kinds,
    configuration: Value,
}

impl Inspect {
    /// `mark`: what the caller has already; `span`: seconds in each column of the picture.
    pub(super) async fn list(&self, query: &str) -> Told {
        let now = self.now();
        let span = parameter(query, "span").and_then(|text| text.parse().ok());
        let span = SignedDuration::from_secs(span.unwrap_or(10).clamp(1, 86_400));
        let read = self.read().await?;
        let picture: Vec<[u32; 4]> = self
            .watch
            .rings()
            .picture(now, span, SPANS)
            .into_iter()
            .map(|bucket| [bucket.new, bucket.duplicates, bucket.failed, bucket.refused])
            .collect();
        let mark = read.mark.to_string();
        let mut value = json!({ "mark": mark, "now": now.to_string(), "picture": picture });
        if parameter(query, "mark").as_ref() == Some(&mark) {
            return Ok(value);
        }
        let rows: Vec<Value> = read.rows.into_iter().map(|(_, row)| row).collect();
        value["rows"] = json!(rows);
        value["stored"] = json!(read.stored);
        value["started"] = json!(self.started.to_string());
        value["live"] = json!(self.running.live);
        value["url"] = json!(self.running.url);
        value["configuration"] = read.configuration;
        value["kinds"] = json!(read.kinds);
        Ok(value)
    }

    /// The rows of now, or of a moment ago.
    async fn read(&self) -> Result<Read, (http::StatusCode, String)> {
        let version = self.watch.rings().version;
        let last = self.cache.lock().ok().and_then(|cache| cache.clone());
        if let Some(last) = &last {
            let age = last.at.elapsed();
            if age < EVERY || (age < FRESH && last.version == version) {
                return Ok(last.clone());
            }
        }
        let at = Instant::now();
        let (stored, outbox) = self.ledger.scan(&EventFilter::default()).await.map_err(refused)?;
        let (rows, kinds) = self.rows(&stored, &outbox);
        let mut read = Read {
            version,
            mark: last.as_ref().map_or(1, |last| last.mark),
            at,
            stored: stored.len(),
            rows,
            kinds,
            configuration: self.configuration(),
        };
        if last.is_some_and(|last| {
            last.rows != read.rows || last.stored != read.stored || last.configuration != read.configuration
        }) {
            read.mark += 1;
        }
        if let Ok(mut cache) = self.cache.lock() {
            *cache = Some(read.clone());
        }
        Ok(read)
    }

    fn rows(&self, stored: &[EventView], outbox: &[OutboxView]) -> (Rows, Kinds) {
        let mut effects: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
        for view in outbox {
            let of_event = effects.entry(view.key.parts().0).or_default();
            *of_event.entry(&view.state).or_default() += 1;
        }
        let rings = self.watch.rings();
        let mut came: BTreeMap<String, (u32, Timestamp)> = BTreeMap::new();
        let namespaces: BTreeMap<&str, &str> = stored
            .iter()
            .map(|event| (&*event.source, &*event.namespace))
            .collect();
        let mut rows = Rows::new();
        for seen in rings.requests() {
            if seen.is_alone() {
                let line = seen.events.first();
                let text = |name| line.and_then(|line| line.text(name));
                let row = json!({
                    "request": seen.number, "at": watch::time(seen.at), "source": seen.source,
                    "type": text("kind"), "id": text("id"), "outcome": seen.outcome(),
                    "why": seen.reason, "status": seen.status,
                });
                rows.push((Some(seen.at), row));
                continue;
            }
            for line in &seen.events {
                let Some(namespace) = namespaces.get(&*seen.source) else {
                    continue;
                };
                let part = |name| line.text(name).unwrap_or_default();
                let key = event_key(namespace, part("scope"), part("id"));
                let (times, _latest) = came.entry(key).or_insert((0, seen.at));
                *times += 1;
            }
        }
        drop(rings);
        for event in stored.iter().take(ROWS) {
            let (times, latest) = came.get(&event.pk).copied().unzip();
            let row = json!({
                "key": event.pk, "at": event.record.received_at.map(watch::time), "source": event.source,
                "type": event.kind, "id": event.id, "outcome": event.record.outcome.as_str(),
                "why": events::why(event), "effects": effects.get(&*event.pk),
                "came": times, "latest": latest.map(watch::time), "listed": event.listed,
            });
            rows.push((event.record.received_at, row));
        }
        rows.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        rows.truncate(ROWS);
        let mut kinds = Kinds::new();
        for event in stored.iter().filter(|event| !event.kind.is_empty()).take(ROWS) {
            kinds
                .entry(event.source.clone())
                .or_default()
                .insert(event.kind.clone());
        }
        (rows, kinds)
    }

    /// What the configuration has, and whether its file is still the one that this process runs by.
    fn configuration(&self) -> Value {
        let now = std::fs::read_to_string(&self.file).unwrap_or_default();
        let loaded = configuration::load(&self.file);
        let mut value = json!({
            "file": self.file.display().to_string(),
            "changed": now != self.text,
            "mistakes": loaded.as_ref().err().map(|error| format!("{error:#}")),
        });
        if let Ok(config) = loaded {
            let kinds = |name: &str| -> Vec<String> {
                let of_source = config.rules.iter().filter(|rule| rule.source == name);
                let kinds: BTreeSet<&String> = of_source.flat_map(|rule| &rule.events).collect();
                kinds.into_iter().cloned().collect()
            };
            value["sources"] = config
                .sources
                .values()
                .map(|source| json!({ "name": source.name, "scheme": source.scheme.name(), "kinds": kinds(&source.name) }))
                .collect();
        }
        value
    }
}
