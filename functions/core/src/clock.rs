//! Where the time comes from. Pure code takes `now`; code that waits on a network takes a [`Clock`].

use jiff::Timestamp;

/// A source of the current time. The system's own lives in `oncehook-edge`, a settable one in tests.
pub trait Clock: Send + Sync {
    /// The current instant.
    fn now(&self) -> Timestamp;
}
