//! The two decisions about a claimed item: may it be sent, and what does the attempt mean. Neither waits, writes or
//! reads a clock; randomness is an argument.

use jiff::{SignedDuration, Timestamp};

use super::{Admission, Attempt, OnAmbiguous, Pause, Policy, Settled, Settlement, Stuck};
use crate::outbox::OutboxItem;

/// Added to every time-out before the end of the key window: for clocks that differ, and for the destination's own
/// queueing between our last byte and its look at the key.
pub const MARGIN: SignedDuration = SignedDuration::from_secs(60);
/// The longest that a destination is left alone at a time, whatever `Retry-After` says: one more 429 an hour costs
/// nothing, a mistaken header of years would.
pub const LONGEST_PAUSE: SignedDuration = SignedDuration::from_hours(1);
/// How long a throttling destination that names no time is left alone at most: one old item must not stop all others.
const UNTOLD_PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// How long a destination that refuses our credentials is left alone, probes aside.
pub const UNAUTHORIZED_PAUSE: SignedDuration = SignedDuration::from_mins(5);
/// An open item that nobody has claimed for so long has its event kept beyond its expiry, by the sweep.
pub const UNTOUCHED: SignedDuration = SignedDuration::from_hours(12);
/// How late the sweep may be with that.
const LATE: SignedDuration = SignedDuration::from_hours(6);
const BASE: SignedDuration = SignedDuration::from_secs(5);
const LONGEST_BACKOFF: SignedDuration = SignedDuration::from_hours(1);
const SHORTEST: SignedDuration = SignedDuration::from_secs(1);
/// Items that wait for one pause come back spread over this.
const SPREAD: SignedDuration = SignedDuration::from_secs(30);
/// The same stored server error so often under one key is a replayed answer, not a fault that passes.
const SAME_ERRORS: u32 = 3;

/// Decides after the claim and before the call. `first_send` says that this claim set `maybe_sent_at`.
///
/// An item that was never attempted is sent even after `give_up_at`: only a pause or an outage of ours can have kept
/// it, and neither counts.
#[must_use]
pub fn admit(item: &OutboxItem, policy: &Policy, first_send: bool, now: Timestamp) -> Admission {
    if now >= item.give_up_at + waited(item, now) && item.attempts > 1 {
        return Admission::Settle(abandon(
            item,
            first_send,
            "given up: the time for delivery is over",
        ));
    }
    match unsafe_at(item, policy, !first_send, now) {
        Some(reason) => Admission::Settle(Settled {
            unsent: true,
            ..ended(item, Settlement::Parked(reason), None)
        }),
        None => Admission::Send,
    }
}

/// Gives an item up that this claim did not send: dead, or parked if an earlier attempt may have acted.
#[must_use]
pub fn abandon(item: &OutboxItem, first_send: bool, reason: &str) -> Settled {
    let settlement = if first_send {
        Settlement::Dead(reason.to_owned())
    } else {
        Settlement::Parked(reason.to_owned())
    };
    Settled {
        unsent: true,
        counted: false,
        ..ended(item, settlement, Some(reason.to_owned()))
    }
}

/// Parks an item that this claim did not send.
#[must_use]
pub fn park(item: &OutboxItem, reason: &str) -> Settled {
    Settled {
        unsent: true,
        counted: false,
        ..ended(
            item,
            Settlement::Parked(reason.to_owned()),
            Some(reason.to_owned()),
        )
    }
}

/// Leaves an item that this claim did not send for later.
#[must_use]
pub fn postpone(item: &OutboxItem, at: Timestamp) -> Settled {
    Settled {
        unsent: true,
        counted: false,
        ..ended(item, Settlement::RetryAt(at), None)
    }
}

/// Decides what becomes of an item after an attempt. `jitter` is random, from 0 up to but without 1.
#[must_use]
pub fn settle(
    item: &OutboxItem,
    policy: &Policy,
    attempt: &Attempt,
    first_send: bool,
    now: Timestamp,
    jitter: f64,
) -> Settled {
    let jitter = jitter.clamp(0.0, 1.0);
    let backoff = backoff(item.attempts);
    let mut settled = ended(item, Settlement::Done, describe(attempt));
    let at = match attempt {
        Attempt::Delivered { .. } | Attempt::Recognised { .. } => return delivered(settled),
        // It is the first attempt's doing, unless that one failed on the server's side: the key may be bound to the failure.
        Attempt::Duplicate { .. } if !first_send && item.last_status.is_none() => return delivered(settled),
        Attempt::Duplicate { .. } => {
            return parked(
                settled,
                "the destination knows the key, and does not say whether it acted then".to_owned(),
            );
        }
        Attempt::Stuck { status, why, .. } => return parked(settled, stuck(*status, *why)),
        Attempt::Refused { status, .. } => {
            let settlement = if first_send {
                Settlement::Dead(format!("refused with {status}"))
            } else {
                Settlement::Parked(format!(
                    "refused with {status}, and an earlier attempt may have acted"
                ))
            };
            return Settled {
                settlement,
                unsent: true,
                ..settled
            };
        }
        Attempt::Unauthorized { .. } | Attempt::Unusable { .. } => {
            settled.unsent = true;
            settled.counted = false;
            let at = pause(&mut settled, UNAUTHORIZED_PAUSE, jitter, now);
            settled.extend = at.duration_since(now);
            // Nobody asked for silence: another item may find the credentials mended.
            settled.pause = settled.pause.map(|pause| Pause {
                probe_from: now,
                ..pause
            });
            at
        }
        Attempt::Throttled { retry_after } => {
            settled.unsent = true;
            let wait = retry_after.unwrap_or(backoff.min(UNTOLD_PAUSE));
            let at = pause(&mut settled, wait, jitter, now);
            settled.extend = at.duration_since(now);
            at
        }
        Attempt::Unreached { .. } => {
            settled.unsent = true;
            now + scale(backoff, jitter).max(SHORTEST)
        }
        // Not processed, says the destination. Behind a key, 409 can mean that a copy is in flight; 408 is what some
        // gateways answer when the work took too long.
        Attempt::Later { status, retry_after } => {
            settled.unsent =
                matches!(status, 423 | 425) || (*status == 409 && policy.key_retention.is_none());
            now + scale(backoff, jitter)
                .max(retry_after.unwrap_or_default().min(LONGEST_PAUSE))
                .max(SHORTEST)
                .max(policy.gap)
        }
        Attempt::Ambiguous {
            status, retry_after, ..
        } => {
            (settled.server_errors, settled.last_status) = in_a_row(item, *status);
            if settled.server_errors >= SAME_ERRORS && policy.replays_errors {
                let status = status.unwrap_or_default();
                let why = format!(
                    "{status} {SAME_ERRORS} times under one key: the destination repeats a stored answer"
                );
                return Settled {
                    settlement: Settlement::Parked(why),
                    ..settled
                };
            }
            match retry_after {
                Some(wait) => pause(&mut settled, (*wait).max(policy.gap), jitter, now),
                None => now + scale(backoff, jitter).max(SHORTEST).max(policy.gap),
            }
        }
    };
    settled.extend += waited(item, now);
    settled.settlement = retry(item, policy, &settled, first_send, at);
    settled
}

fn delivered(settled: Settled) -> Settled {
    Settled {
        settlement: Settlement::Done,
        server_errors: 0,
        last_status: None,
        ..settled
    }
}

fn parked(settled: Settled, reason: String) -> Settled {
    Settled {
        settlement: Settlement::Parked(reason),
        ..settled
    }
}

fn stuck(status: u16, why: Stuck) -> String {
    match why {
        Stuck::OtherBody => format!(
            "{status}: the destination knows this key with another request (two effects under one key, or a request changed between attempts)"
        ),
        Stuck::StoredError => format!("{status}, marked as a stored answer: a repetition gets it again"),
        Stuck::Unprotected => {
            format!(
                "{status}: it may have acted, and the destination's key does not keep a repetition from acting again"
            )
        }
    }
}

/// Whether this settlement leaves an item that could still be there when its event expires: then the event is kept, in
/// the same write. What a person must see always is; what is due again, if the next look at it may come too late.
#[must_use]
pub fn outlives(item: &OutboxItem, settlement: &Settlement) -> bool {
    !item.kept
        && match settlement {
            Settlement::Done => false,
            Settlement::Parked(_) | Settlement::Dead(_) => true,
            Settlement::RetryAt(at) => item
                .kept_until
                .is_none_or(|until| *at + UNTOUCHED + LATE >= until),
        }
}

/// Due again at `at`, unless that is too late.
fn retry(
    item: &OutboxItem,
    policy: &Policy,
    settled: &Settled,
    first_send: bool,
    at: Timestamp,
) -> Settlement {
    let maybe_sent = !(first_send && settled.unsent);
    if let Some(reason) = unsafe_at(item, policy, maybe_sent, at) {
        return Settlement::Parked(reason);
    }
    if at >= item.give_up_at + settled.extend {
        let reason = "given up: the time for delivery is over".to_owned();
        return if maybe_sent {
            Settlement::Parked(reason)
        } else {
            Settlement::Dead(reason)
        };
    }
    Settlement::RetryAt(at)
}

/// How long an item has been due without being claimed: time that does not count towards giving up.
fn waited(item: &OutboxItem, now: Timestamp) -> SignedDuration {
    now.duration_since(item.due_at).max(SignedDuration::ZERO)
}

/// Why an item that may have been sent must not be sent at `at`.
fn unsafe_at(item: &OutboxItem, policy: &Policy, maybe_sent: bool, at: Timestamp) -> Option<String> {
    match (policy.key_retention, policy.on_ambiguous) {
        (None, OnAmbiguous::Park) if maybe_sent => Some(
            "an attempt may have acted, and the destination knows no idempotency keys (on_ambiguous = \"park\")".to_owned(),
        ),
        (Some(retention), _) => {
            // Without a mark of an earlier attempt, this one is the first: its window starts with it.
            let first = if maybe_sent { item.maybe_sent_at.unwrap_or(at) } else { at };
            (at + policy.timeout + MARGIN >= first + retention).then(|| {
                format!("the destination may have forgotten the key (it is kept for {}s)", retention.as_secs())
            })
        }
        _ => None,
    }
}

/// Pauses the destination and returns when this item is due again.
fn pause(settled: &mut Settled, wait: SignedDuration, jitter: f64, now: Timestamp) -> Timestamp {
    let wait = wait.clamp(SHORTEST, LONGEST_PAUSE);
    let at = now + wait + scale(wait.min(SPREAD), jitter);
    settled.pause = Some(Pause {
        until: now + wait,
        probe_from: now + wait,
    });
    at
}

fn ended(item: &OutboxItem, settlement: Settlement, error: Option<String>) -> Settled {
    Settled {
        settlement,
        unsent: false,
        counted: true,
        extend: SignedDuration::ZERO,
        pause: None,
        server_errors: item.server_errors,
        last_status: item.last_status,
        error,
    }
}

/// Counts equal server errors. 502, 503, 504 and those above 511 come from what stands before an API, which stores no
/// answers: they start no count. The last one's status stays known: a later answer can be about it.
fn in_a_row(item: &OutboxItem, status: Option<u16>) -> (u32, Option<u16>) {
    match status {
        Some(500 | 501 | 505..=511) if status == item.last_status => {
            (item.server_errors.saturating_add(1), status)
        }
        Some(500 | 501 | 505..=511) => (1, status),
        Some(500..) => (0, status),
        _ => (0, item.last_status),
    }
}

/// 5 s, 10 s, 20 s ... 1 h: the most that is waited after so many attempts.
fn backoff(attempts: u32) -> SignedDuration {
    let doublings = attempts.saturating_sub(1).min(10);
    BASE.saturating_mul(1 << doublings).min(LONGEST_BACKOFF)
}

fn scale(duration: SignedDuration, factor: f64) -> SignedDuration {
    SignedDuration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(duration)
}

fn describe(attempt: &Attempt) -> Option<String> {
    match attempt {
        Attempt::Delivered { .. } => None,
        Attempt::Recognised { status } => {
            Some(format!("{status}: recognised by its key, nothing was done again"))
        }
        Attempt::Refused { status, detail }
        | Attempt::Duplicate { status, detail }
        | Attempt::Stuck { status, detail, .. } => Some(format!("{status}: {detail}")),
        Attempt::Later { status, .. } | Attempt::Unauthorized { status } => Some(format!("{status}")),
        Attempt::Unusable { detail } => Some(detail.clone()),
        Attempt::Throttled { .. } => Some("429".to_owned()),
        Attempt::Unreached { detail } => Some(format!("not reached: {detail}")),
        Attempt::Ambiguous {
            status: Some(status),
            detail,
            ..
        } => Some(format!("{status}: {detail}")),
        Attempt::Ambiguous {
            status: None, detail, ..
        } => Some(detail.clone()),
    }
}
