//! From a batch of wake-ups to settled items: permit, claim, admit, deliver, settle.
//!
//! Only a failing database sends a message back to the queue. Everything else that can happen to an item is written
//! into the item; a message lost here costs time until the next sweep and nothing else.

use std::{panic::AssertUnwindSafe, time::Duration};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    outbox::OutboxItem,
    settle::{abandon, park, postpone},
};
use oncehook_store::{Claim, StoreError, Wakeup};
use tokio::time::Instant;

use crate::{Drain, destination::Destination};

/// Kept of every invocation and of every lease for what comes after the call.
pub(crate) const RESERVE: Duration = Duration::from_secs(5);
/// What SQS can delay; later than that is the sweeper's.
const LONGEST_DELAY: SignedDuration = SignedDuration::from_mins(15);
/// An item that found no permit comes back after about this.
const BUSY: SignedDuration = SignedDuration::from_secs(5);
/// A claim that cannot lead to a call.
const SHORT_LEASE: SignedDuration = SignedDuration::from_secs(30);

/// So long after a commit, its destination may still be on its way here with a deployment.
const DEPLOYING: SignedDuration = SignedDuration::from_hours(1);

fn age(item: &OutboxItem, now: Timestamp) -> SignedDuration {
    now.duration_since(item.created_at)
}

/// What became of the messages of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    /// Attempts settled.
    settled: u32,
    /// Woken again later: paused, busy or not due.
    deferred: u32,
    /// Nothing was left to do.
    idle: u32,
    /// Not a wake-up that this release reads.
    unreadable: u32,
    /// Ended in a panic; the lease runs out and the sweeper comes by.
    panicked: u32,
    /// Sent back because the database failed.
    failed: u32,
}

/// What became of one message.
pub(crate) enum End {
    Settled,
    Deferred,
    Idle,
}

/// Drains a batch of wake-ups. All work ends before `deadline`, the end of the invocation.
pub(crate) async fn handle(drain: &Drain, event: SqsEvent, deadline: Instant) -> SqsBatchResponse {
    let mut counts = Counts::default();
    let mut response = SqsBatchResponse::default();
    let mut work = FuturesUnordered::new();
    for SqsMessage { message_id, body, .. } in event.records {
        match Wakeup::parse(body.as_deref().unwrap_or_default()) {
            Ok(wakeup) => work.push(async move {
                let end = AssertUnwindSafe(drain.one(&wakeup, deadline))
                    .catch_unwind()
                    .await;
                (message_id.unwrap_or_default(), wakeup, end)
            }),
            Err(error) => {
                counts.unreadable += 1;
                tracing::error!(%error, "an unreadable wake-up was dropped");
            }
        }
    }
    while let Some((message_id, wakeup, end)) = work.next().await {
        let item = &wakeup.key;
        match end {
            Ok(Ok(End::Settled)) => counts.settled += 1,
            Ok(Ok(End::Deferred)) => counts.deferred += 1,
            Ok(Ok(End::Idle)) => counts.idle += 1,
            Ok(Err(error)) => {
                counts.failed += 1;
                tracing::error!(%item, %error, "sent back to the queue");
                response.add_failure(message_id);
            }
            Err(_) => {
                counts.panicked += 1;
                tracing::error!(%item, "an item's delivery panicked; it is claimed again after its lease");
            }
        }
    }
    let Counts {
        settled,
        deferred,
        idle,
        unreadable,
        panicked,
        failed,
    } = counts;
    tracing::info!(settled, deferred, idle, unreadable, panicked, failed, "batch");
    response
}

impl Drain {
    async fn one(&self, wakeup: &Wakeup, deadline: Instant) -> Result<End, StoreError> {
        let Some(destination) = self.destinations.get(&wakeup.destination) else {
            return self.unknown(wakeup).await;
        };
        if self.kept_back(wakeup, destination).await? {
            return Ok(End::Deferred);
        }
        // Whoever waits must still find time for a whole call: a call cut short is one that may have happened.
        let whole = RESERVE + destination.config.timeout.unsigned_abs();
        let Some(_permit) = destination
            .permits
            .acquire(deadline.checked_sub(whole).unwrap_or(deadline))
            .await
        else {
            return Ok(self.wake_at(wakeup, self.clock.now() + BUSY).await);
        };
        // It may have been paused while this item waited.
        if self.kept_back(wakeup, destination).await? {
            return Ok(End::Deferred);
        }
        let now = self.clock.now();
        match self.ledger.claim(&wakeup.key, destination.lease(), now).await? {
            Claim::Held(lease, item) if item.destination == wakeup.destination => {
                self.attempt(wakeup, destination, &lease, &item, deadline).await
            }
            Claim::Held(lease, item) => {
                // Not written by Oncehook: the message names another destination than the item.
                let settled = abandon(&item, lease.first_send, "a wake-up named another destination");
                self.record(&lease, &item, &settled, self.clock.now()).await?;
                Ok(End::Settled)
            }
            Claim::Settled | Claim::Gone => Ok(End::Idle),
            // Not woken again from here: each message would then keep itself alive, and the sweeper adds more.
            Claim::HeldElsewhere(_) | Claim::NotYet(_) => Ok(End::Deferred),
        }
    }

    /// Whether the destination's pause holds for this wake-up: not for a probe whose time has come.
    async fn kept_back(&self, wakeup: &Wakeup, destination: &Destination) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let pause = destination
            .permits
            .paused(&wakeup.destination, &self.ledger, now)
            .await?;
        Ok(pause.is_some_and(|pause| !wakeup.probe || pause.probe_from > now))
    }

    /// A destination that is not configured: for a while it may be one that ingest knows and this release does not yet;
    /// then a person decides.
    async fn unknown(&self, wakeup: &Wakeup) -> Result<End, StoreError> {
        match self
            .ledger
            .claim(&wakeup.key, SHORT_LEASE, self.clock.now())
            .await?
        {
            Claim::Held(lease, item) if age(&item, self.clock.now()) < DEPLOYING => {
                let at = self.clock.now() + SignedDuration::from_mins(1);
                self.record(&lease, &item, &postpone(&item, at), self.clock.now())
                    .await?;
                Ok(End::Deferred)
            }
            Claim::Held(lease, item) => {
                let reason = format!("the destination `{}` is no longer configured", item.destination);
                self.record(&lease, &item, &park(&item, &reason), self.clock.now())
                    .await?;
                tracing::error!(item = %wakeup.key, destination = %item.destination, "parked: {reason}");
                Ok(End::Settled)
            }
            Claim::Settled | Claim::Gone => Ok(End::Idle),
            // Not woken again from here: each message would then keep itself alive, and the sweeper adds more.
            Claim::HeldElsewhere(_) | Claim::NotYet(_) => Ok(End::Deferred),
        }
    }

    /// Wakes an item at about that time, rounded up; what lies beyond the queue's longest delay is found by the sweeper.
    pub(crate) async fn wake_at(&self, wakeup: &Wakeup, at: Timestamp) -> End {
        let delay = at.duration_since(self.clock.now()).max(SignedDuration::ZERO);
        if delay <= LONGEST_DELAY {
            let seconds = delay.unsigned_abs().as_millis().div_ceil(1000);
            let delay = Duration::from_secs(u64::try_from(seconds).unwrap_or_default().max(1));
            let wakeup = &Wakeup {
                probe: false,
                ..wakeup.clone()
            };
            if let Err(error) = self.queue.wake_after(wakeup, delay).await {
                tracing::warn!(item = %wakeup.key, %error, "left to the sweeper");
            }
        }
        End::Deferred
    }
}
