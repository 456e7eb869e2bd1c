//! Who may call a destination now: a bounded number at once, and nobody while it is paused.
//!
//! The pause is read from the ledger twice a minute at most, so that a warm delivery costs two round trips to the
//! database; what this process observes itself counts at once.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use oncehook_store::{Ledger, StoreError};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

const FRESH: SignedDuration = SignedDuration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Permits {
    calls: Semaphore,
    pause: Mutex<Pause>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Pause {
    until: Option<Timestamp>,
    read_at: Option<Timestamp>,
}

impl Permits {
    pub(crate) fn new(concurrency: usize) -> Self {
        Self {
            calls: Semaphore::new(concurrency.clamp(1, Semaphore::MAX_PERMITS)),
            pause: Mutex::default(),
        }
    }

    /// A permit for one call, or nothing if none gets free in time.
    pub(crate) async fn acquire(&self, until: Instant) -> Option<SemaphorePermit<'_>> {
        if let Ok(permit) = self.calls.try_acquire() {
            return Some(permit);
        }
        timeout_at(until, self.calls.acquire()).await.ok()?.ok()
    }

    /// Until when the destination is paused, if it is.
    pub(crate) async fn paused(
        &self,
        name: &str,
        ledger: &Ledger,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        let known = *self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        let ahead = |until: Option<Timestamp>| until.filter(|until| *until > now);
        if ahead(known.until).is_some() || known.read_at.is_some_and(|read| now.duration_since(read) < FRESH)
        {
            return Ok(ahead(known.until));
        }
        let until = ledger.paused_until(name).await?;
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        pause.until = pause.until.max(until);
        pause.read_at = Some(now);
        Ok(ahead(pause.until))
    }

    /// Notes a pause that this process observed. Never shortens one.
    pub(crate) fn pause(&self, until: Timestamp) {
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        pause.until = pause.until.max(Some(until));
    }
}
