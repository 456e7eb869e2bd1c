//! Wakes what is due and was not woken: the reason why no message of the queue matters.
//!
//! Reads the index and sends wake-ups. It claims, calls and settles nothing, so that running it twice, or at the same
//! time as drain, costs a few messages and nothing else.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use oncehook_core::config::Config;
use oncehook_store::{Ledger, Queue, StoreError, Wakeup};

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
    /// Destinations that are paused: one item each was woken, to try them.
    pub paused: Vec<String>,
    /// Nothing was woken, because so many messages wait.
    pub held_back: Option<u64>,
    /// Wake-ups that the queue did not take; the next sweep finds their items again.
    pub unsent: usize,
}

/// The shortest grace: longer than the lease of a call with the default time-out.
const GRACE: SignedDuration = SignedDuration::from_mins(2);
const CAP: usize = 500;
const QUEUE_LIMIT: u64 = 10_000;
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
    if report.held_back.is_none() {
        for (destination, shards) in &known {
            // One that fails does not keep the others asleep.
            if let Err(error) = sweep.destination(destination, *shards, now, &mut report).await {
                tracing::error!(%destination, %error, "not swept");
                failed = failed.or(Some(error));
            }
        }
    }
    log(&report);
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
        let paused = self
            .ledger
            .paused_until(name)
            .await?
            .is_some_and(|until| until > now);
        let cap = if paused { 1 } else { self.cap };
        let due = self.due(name, shards, now - self.grace, cap).await?;
        if paused {
            report.paused.push(name.to_owned());
        }
        for batch in due.chunks(10) {
            match self.queue.wake(batch).await {
                Ok(()) => *report.woken.entry(name.to_owned()).or_default() += batch.len(),
                Err(error) => {
                    report.unsent += batch.len();
                    tracing::warn!(destination = name, %error, "not woken; the next sweep tries again");
                }
            }
        }
        Ok(())
    }

    /// The oldest due items, the cap shared between the shards so that none of them starves.
    async fn due(
        &self,
        name: &str,
        shards: u32,
        before: Timestamp,
        cap: usize,
    ) -> Result<Vec<Wakeup>, StoreError> {
        let share = cap.div_ceil(usize::try_from(shards.max(1)).unwrap_or(1));
        let limit = i32::try_from(share.min(self.cap)).unwrap_or(i32::MAX);
        let mut due = Vec::new();
        for shard in 0..shards {
            if due.len() >= cap {
                break;
            }
            due.extend(self.ledger.due(name, shard, before, limit).await?);
        }
        due.truncate(cap);
        Ok(due)
    }
}

fn log(report: &SweepReport) {
    let SweepReport {
        woken,
        paused,
        held_back,
        unsent,
    } = report;
    let total: usize = woken.values().sum();
    let by_destination = serde_json::to_string(woken).unwrap_or_default();
    let paused = paused.join(",");
    tracing::info!(woken = total, by_destination, paused, held_back, unsent, "sweep");
}
