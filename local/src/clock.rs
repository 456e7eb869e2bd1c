//! A clock that stands still until it is told otherwise.
//!
//! It does not read the system's time, and it does not move timers: only what asks a
//! [`Clock`] sees it.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use oncehook_core::clock::Clock;

/// A settable [`Clock`], for tests; share it in an `Arc`.
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self(Mutex::new(now))
    }

    /// Puts the clock at `now`, forward or back.
    pub fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Moves the clock by `by` (back if negative) and returns where it then stands.
    ///
    /// # Panics
    /// When that is outside the years that a [`Timestamp`] can hold.
    pub fn advance(&self, by: SignedDuration) -> Timestamp {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now += by;
        *now
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
