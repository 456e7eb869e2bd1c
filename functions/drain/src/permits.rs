//! Who may call a destination now: a bounded number at once, and nobody while it is paused.
//!
//! The pause is read from the ledger twice a minute at most, so that a warm delivery costs two round trips to the
//! database; what this process observes itself counts at once, and until the next look.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use oncehook_core::settle::Pause;
use oncehook_store::{Ledger, StoreError};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

const FRESH: SignedDuration = SignedDuration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Permits {
    calls: Semaphore,
    known: Mutex<Known>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Known {
    pause: Option<Pause>,
    since: Option<Timestamp>,
}

impl Permits {
    pub(crate) fn new(concurrency: usize) -> Self {
        Self {
            calls: Semaphore::new(concurrency.clamp(1, Semaphore::MAX_PERMITS)),
            known: Mutex::default(),
        }
    }

    /// A permit for one call, or nothing if none gets free in time.
    pub(crate) async fn acquire(&self, until: Instant) -> Option<SemaphorePermit<'_>> {
        if let Ok(permit) = self.calls.try_acquire() {
            return Some(permit);
        }
        timeout_at(until, self.calls.acquire()).await.ok()?.ok()
    }

    /// The destination's pause, if it is paused.
    pub(crate) async fn paused(
        &self,
        name: &str,
        ledger: &Ledger,
        now: Timestamp,
    ) -> Result<Option<Pause>, StoreError> {
        let ahead = |pause: Option<Pause>| pause.filter(|pause| pause.until > now);
        let known = *self.known();
        if known.since.is_some_and(|since| now.duration_since(since) < FRESH) {
            return Ok(ahead(known.pause));
        }
        let pause = ledger.paused(name).await?;
        self.note(pause, now);
        Ok(ahead(pause))
    }

    /// Notes what this process observed or caused: a pause, or the end of one.
    pub(crate) fn note(&self, pause: Option<Pause>, now: Timestamp) {
        *self.known() = Known {
            pause,
            since: Some(now),
        };
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
