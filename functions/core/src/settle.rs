//! What a delivery attempt means for its outbox item. Stands between two network calls and makes neither.

mod judge;

use jiff::{SignedDuration, Timestamp};

pub use judge::{
    LONGEST_PAUSE, MARGIN, UNAUTHORIZED_PAUSE, UNTOUCHED, abandon, admit, outlives, park, postpone, settle,
};

/// What a destination does with keys and failures, from its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How long the destination remembers a key; absent if it knows no keys.
    pub key_retention: Option<SignedDuration>,
    /// Whether it answers a known key with the answer it stored, server errors included. An endpoint of the user's own
    /// does not: its error says nothing about the next try.
    pub replays_errors: bool,
    /// What to do when an effect may have happened and the destination knows no keys.
    pub on_ambiguous: OnAmbiguous,
    /// The longest that one call may take.
    pub timeout: SignedDuration,
    /// The shortest time between an attempt that may have acted and the next.
    pub gap: SignedDuration,
}

/// For destinations without idempotency keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnAmbiguous {
    /// A person decides.
    #[default]
    Park,
    /// Sent again: the destination may act twice.
    Resend,
}

/// How one attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// A 2xx status line came back.
    Delivered {
        /// The status.
        status: u16,
    },
    /// A success that the destination marks as the answer it gave before: nothing was done again.
    Recognised {
        /// The status.
        status: u16,
    },
    /// The destination knows the key and does nothing again, and does not say what came of it then.
    Duplicate {
        /// The status.
        status: u16,
        /// The answer, shortened.
        detail: String,
    },
    /// It may have acted, and no repetition under this key can tell or mend it.
    Stuck {
        /// The status.
        status: u16,
        /// Why.
        why: Stuck,
        /// The answer, shortened.
        detail: String,
    },
    /// A 4xx that a repetition would not change.
    Refused {
        /// The status.
        status: u16,
        /// The answer, shortened.
        detail: String,
    },
    /// 408, 409, 423 or 425: the same request may be accepted later.
    Later {
        /// The status.
        status: u16,
        /// From `Retry-After`.
        retry_after: Option<SignedDuration>,
    },
    /// 401 or 403: the destination's credentials are at fault, not this item.
    Unauthorized {
        /// The status.
        status: u16,
    },
    /// Nothing was done, and the fault is the destination's or of the rights to it, not this item's: a queue, function or bus
    /// that is not there or may not be called.
    Unusable {
        /// The error and what to do.
        detail: String,
    },
    /// 429: certainly not processed.
    Throttled {
        /// From `Retry-After`.
        retry_after: Option<SignedDuration>,
    },
    /// No byte of the request reached a socket.
    Unreached {
        /// What failed.
        detail: String,
    },
    /// It may or may not have had its effect: time-out, broken connection, 3xx, 5xx.
    Ambiguous {
        /// The status, if one came back.
        status: Option<u16>,
        /// From `Retry-After`.
        retry_after: Option<SignedDuration>,
        /// What happened.
        detail: String,
    },
}

/// Why a repetition under the same key is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stuck {
    /// The destination knows the key with another request.
    OtherBody,
    /// The answer is marked as a stored one.
    StoredError,
    /// The key does not protect from acting twice after such an answer.
    Unprotected,
}

/// What becomes of the item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// Delivered; nothing is left to do.
    Done,
    /// Open, due again then.
    RetryAt(Timestamp),
    /// Without effect and given up, for this reason.
    Dead(String),
    /// Possibly with effect and not to be sent again, for this reason.
    Parked(String),
}

/// How long a destination is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Nothing is sent before this, a probe aside.
    pub until: Timestamp,
    /// From here on single items may be sent as probes; one that is delivered ends the pause. As late as `until` where
    /// the destination itself named the time.
    pub probe_from: Timestamp,
}

/// Everything that settling writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The item's future.
    pub settlement: Settlement,
    /// This attempt certainly did not reach the destination: if this claim set `maybe_sent_at`, it is removed.
    pub unsent: bool,
    /// Whether the attempt counts.
    pub counted: bool,
    /// How far `give_up_at` moves, because the destination asked to wait.
    pub extend: SignedDuration,
    /// The destination is left alone.
    pub pause: Option<Pause>,
    /// Server errors in a row with one status, after this attempt.
    pub server_errors: u32,
    /// That status.
    pub last_status: Option<u16>,
    /// For the item's record: what happened.
    pub error: Option<String>,
}

/// Whether a claimed item may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// Now, within the policy's time-out.
    Send,
    /// Not at all; this is written instead.
    Settle(Settled),
}
