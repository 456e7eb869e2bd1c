//! Wakes what is due and was not woken: the reason why no message of the queue matters.
//!
//! Reads the index and sends wake-ups, and keeps the events of items that nobody claims from expiring before them. It
//! claims, calls and settles nothing, so that running it twice, or at the same time as drain, costs a few messages.

use std::collections::BTreeMap;

use futures_util::{TryStreamExt, stream::FuturesUnordered};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{config::Config, settle::UNTOUCHED};
use oncehook_edge::metrics::Line;
use oncehook_store::{Due, Ledger, Queue, StoreError, Wakeup};

/// Everything that sweeping needs.
#[derive(Debug)]
pub struct Sweep {
    /// The names of the configured destinations.
    pub destinations: Vec<String>,
    /// The configured number of shards.
    pub shards: u32,
    /// How long an item is left to its own wake-up: longer than a lease.
    pub grace: SignedDuration,
    /// The most wake-ups for one destination in one sweep.
    pub cap: usize,
    /// Nothing is woken while more messages than these wait.
    pub queue_limit: u64,
    /// The table.
    pub ledger: Ledger,
    /// The queue of wake-ups.
    pub queue: Queue,
}

/// What one sweep did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SweepReport {
    /// How many were woken, by destination.
    pub woken: BTreeMap<String, usize>,
    /// Destinations that are paused: at most one item each was woken, to try them.
    pub paused: Vec<String>,
    /// Items that nobody claimed for long: their events are kept beyond their expiry.
    pub kept: usize,
    /// Nothing was woken, because so many messages wait.
    pub held_back: Option<u64>,
    /// Wake-ups that the queue did not take; the next sweep finds their items again.
    pub unsent: usize,
}

/// The shortest grace: longer than the lease of a call with the default time-out.
const GRACE: SignedDuration = SignedDuration::from_mins(2);
const CAP: usize = 500;
const QUEUE_LIMIT: u64 = 10_000;
/// So many events are kept at once.
const AT_ONCE: usize = 10;
/// A lease outlives its call by 10 s; the rest is for a settlement that is slow to show in the index.
const BEYOND_CALL: SignedDuration = SignedDuration::from_secs(30);

impl Sweep {
    /// A sweep over the destinations of a configuration.
    #[must_use]
    pub fn new(config: &Config, ledger: Ledger, queue: Queue) -> Self {
        let longest = config
            .destinations
            .values()
            .map(|destination| destination.timeout + BEYOND_CALL)
            .max();
        Self {
            destinations: config.destinations.keys().cloned().collect(),
            shards: config.shards,
            grace: longest.unwrap_or_default().max(GRACE),
            cap: CAP,
            queue_limit: QUEUE_LIMIT,
            ledger,
            queue,
        }
    }
}

/// Wakes what has been due for longer than the grace, of every destination that ever was.
///
/// # Errors
/// When the database fails; the next sweep starts again. A failing queue is only reported.
pub async fn handle(sweep: &Sweep, now: Timestamp) -> Result<SweepReport, StoreError> {
    let mut report = SweepReport::default();
    let mut failed = None;
    let known = sweep.ledger.register(&sweep.destinations, sweep.shards).await?;
    report.held_back = match sweep.queue.length().await {
        Ok(length) => length.filter(|length| *length > sweep.queue_limit),
        Err(error) => {
            tracing::warn!(%error, "the length of the queue is not known");
            None
        }
    };
    for (destination, shards) in &known {
        // One that fails does not keep the others asleep.
        if let Err(error) = sweep.destination(destination, *shards, now, &mut report).await {
            tracing::error!(%destination, %error, "not swept");
            failed = failed.or(Some(error));
        }
    }
    log(&report);
    let mut line = Line::new("sweep");
    line.count("Unsent", report.unsent);
    line.emit(now);
    failed.map_or(Ok(report), Err)
}

impl Sweep {
    async fn destination(
        &self,
        name: &str,
        shards: u32,
        now: Timestamp,
        report: &mut SweepReport,
    ) -> Result<(), StoreError> {
        if report.held_back.is_some() {
            let due = self.due(name, shards, now - UNTOUCHED).await?;
            oldest(name, &due, now);
            return self.keep(&due, now, report).await;
        }
        let pause = self.ledger.paused(name).await?.filter(|pause| pause.until > now);
        let due = self.due(name, shards, now - self.grace).await?;
        oldest(name, &due, now);
        // Whatever becomes of that, the items are woken.
        let keeping = self.keep(&due, now, report).await;
        let mut wakeups: Vec<Wakeup> = due.into_iter().map(|due| due.wakeup).collect();
        if let Some(pause) = pause {
            report.paused.push(name.to_owned());
            wakeups.truncate(usize::from(pause.probe_from <= now));
            for wakeup in &mut wakeups {
                wakeup.probe = true;
            }
        }
        for batch in wakeups.chunks(10) {
            match self.queue.wake(batch).await {
                Ok(()) => *report.woken.entry(name.to_owned()).or_default() += batch.len(),
                Err(error) => {
                    report.unsent += batch.len();
                    tracing::warn!(destination = name, %error, "not woken; the next sweep tries again");
                }
            }
        }
        keeping
    }

    /// The oldest due items, the cap shared between the shards so that none of them starves; oldest first.
    async fn due(&self, name: &str, shards: u32, before: Timestamp) -> Result<Vec<Due>, StoreError> {
        let share = self.cap.div_ceil(usize::try_from(shards.max(1)).unwrap_or(1));
        let limit = i32::try_from(share).unwrap_or(i32::MAX);
        let mut due = Vec::new();
        for shard in 0..shards {
            due.extend(self.ledger.due(name, shard, before, limit).await?);
        }
        due.sort_by_key(|due| due.since);
        due.truncate(self.cap);
        Ok(due)
    }

    /// An event never goes before its outbox.
    async fn keep(&self, due: &[Due], now: Timestamp, report: &mut SweepReport) -> Result<(), StoreError> {
        let untouched = due.partition_point(|due| due.since <= now - UNTOUCHED);
        for some in due[..untouched].chunks(AT_ONCE) {
            let mut keeping = FuturesUnordered::new();
            for due in some {
                keeping.push(self.ledger.keep(due, now));
            }
            while let Some(kept) = keeping.try_next().await? {
                report.kept += usize::from(kept);
            }
        }
        Ok(())
    }
}

/// Says how long the oldest item has been due; `due` is sorted, oldest first.
fn oldest(destination: &str, due: &[Due], now: Timestamp) {
    let mut line = Line::new("sweep").by("destination", destination);
    if let Some(due) = due.first() {
        line.put("OldestDue", now.duration_since(due.since).as_secs_f64());
    }
    line.emit(now);
}

fn log(report: &SweepReport) {
    let SweepReport {
        woken,
        paused,
        kept,
        held_back,
        unsent,
    } = report;
    let total: usize = woken.values().sum();
    let by_destination = serde_json::to_string(woken).unwrap_or_default();
    let paused = paused.join(",");
    tracing::info!(
        woken = total,
        by_destination,
        paused,
        kept,
        held_back,
        unsent,
        "sweep"
    );
}
