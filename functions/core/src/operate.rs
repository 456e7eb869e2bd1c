//! What a person may do with an outbox item or an event, and why not. Pure: the store writes what is decided here,
//! under the condition that the item is still as it was when it was decided.

use jiff::{SignedDuration, Timestamp};

use crate::{
    outbox::{OutboxItem, OutboxState},
    settle::{MARGIN, OnAmbiguous, Policy},
};

/// An item as it stands.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// The item.
    pub item: &'a OutboxItem,
    /// Its state.
    pub state: OutboxState,
    /// How long somebody holds it, if somebody does.
    pub lease_until: Option<Timestamp>,
}

/// Why something is not done, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An attempt is under way.
    #[error("an attempt is under way until {0}: come again after that")]
    Leased(Timestamp),
    /// The state does not allow it.
    #[error("it is {state}: {instead}")]
    State {
        /// The word of the state.
        state: &'static str,
        /// What can be done.
        instead: &'static str,
    },
    /// The destination may have forgotten the key.
    #[error(
        "an attempt at {sent} may have acted, and since {over} the destination may have forgotten the key: look there \
         whether it happened, then `discard` if it did, `resend` if not"
    )]
    WindowOver {
        /// The first time that it may have been sent.
        sent: Timestamp,
        /// Since when the key no longer protects.
        over: Timestamp,
    },
    /// The destination knows no keys.
    #[error(
        "an attempt at {sent} may have acted, and the destination knows no idempotency keys: look there whether it \
         happened, then `discard` if it did, `resend` if not"
    )]
    NoKeys {
        /// The first time that it may have been sent.
        sent: Timestamp,
    },
    /// The destination is not configured.
    #[error(
        "the destination `{0}` is not in the configuration: add it again or give the right file with --config, or `discard`"
    )]
    NoDestination(String),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

/// Whether an item may be sent again under the key it has: now, by the next attempt. `policy` is that of its
/// destination as configured now.
///
/// # Errors
/// Why not.
pub fn may_retry(standing: &Standing<'_>, policy: Option<&Policy>, now: Timestamp) -> Result<(), Refusal> {
    free(standing, now)?;
    match standing.state {
        OutboxState::Open | OutboxState::Parked | OutboxState::Dead => {}
        OutboxState::Done => {
            return Err(refused(
                standing.state,
                "it was delivered; `resend` sends it once more under a new key",
            ));
        }
        OutboxState::Discarded => {
            return Err(refused(
                standing.state,
                "somebody dropped it; `resend` sends it under a new key",
            ));
        }
    }
    let item = standing.item;
    let policy = policy.ok_or_else(|| Refusal::NoDestination(item.destination.clone()))?;
    let Some(sent) = item.maybe_sent_at else {
        return Ok(());
    };
    match (policy.key_retention, policy.on_ambiguous) {
        (Some(retention), _) => {
            let over = sent + retention - policy.timeout - MARGIN;
            if now >= over {
                return Err(Refusal::WindowOver { sent, over });
            }
            Ok(())
        }
        (None, OnAmbiguous::Park) => Err(Refusal::NoKeys { sent }),
        (None, OnAmbiguous::Resend) => Ok(()),
    }
}

/// Whether an item may be sent under a new key. `known` says that its destination is configured.
///
/// # Errors
/// Why not.
pub fn may_resend(standing: &Standing<'_>, known: bool, now: Timestamp) -> Result<(), Refusal> {
    free(standing, now)?;
    if !known {
        return Err(Refusal::NoDestination(standing.item.destination.clone()));
    }
    if standing.item.generation == u32::MAX {
        return Err(Refusal::Other("it has no further generation".to_owned()));
    }
    Ok(())
}

/// Whether an item may be dropped. Works for items that cannot be read, too: only state and lease are asked.
///
/// # Errors
/// Why not.
pub fn may_discard(
    state: OutboxState,
    lease_until: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), Refusal> {
    leased(lease_until, now)?;
    match state {
        OutboxState::Open | OutboxState::Parked | OutboxState::Dead => Ok(()),
        OutboxState::Done => Err(refused(state, "there is nothing to drop")),
        OutboxState::Discarded => Err(refused(state, "there is nothing left to do")),
    }
}

/// Whether an item may be put on the list of what may have happened, for a person to decide. Works for items that cannot
/// be read, too.
///
/// # Errors
/// Why not.
pub fn may_park(state: OutboxState, lease_until: Option<Timestamp>, now: Timestamp) -> Result<(), Refusal> {
    leased(lease_until, now)?;
    match state {
        OutboxState::Open | OutboxState::Dead => Ok(()),
        OutboxState::Parked => Err(refused(state, "there is nothing to do")),
        OutboxState::Done => Err(refused(state, "it was delivered, and nothing sends it again")),
        OutboxState::Discarded => Err(refused(state, "somebody dropped it, and nothing sends it again")),
    }
}

/// What may happen twice if an item is sent under a new key, for the person who decides.
#[must_use]
pub fn twice(standing: &Standing<'_>) -> String {
    let what = format!("{}/{}", standing.item.rule, standing.item.effect);
    match (standing.state, standing.item.maybe_sent_at) {
        (OutboxState::Done, _) => format!("{what} was delivered: a new key makes it happen a second time"),
        (_, Some(sent)) => format!(
            "{what} may have acted at {sent} or since: under a new key the destination cannot tell, and it may happen twice"
        ),
        (_, None) => format!("{what} certainly did not act so far"),
    }
}

/// When delivery of an item that starts anew is given up.
#[must_use]
pub fn give_up_at(now: Timestamp, give_up_after: SignedDuration) -> Timestamp {
    now.saturating_add(give_up_after).unwrap_or(Timestamp::MAX)
}

impl OutboxState {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Parked => "parked",
            Self::Discarded => "discarded",
        }
    }

    /// The state of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Open, Self::Done, Self::Dead, Self::Parked, Self::Discarded]
            .into_iter()
            .find(|state| state.as_str() == word)
    }
}

fn free(standing: &Standing<'_>, now: Timestamp) -> Result<(), Refusal> {
    leased(standing.lease_until, now)
}

fn leased(until: Option<Timestamp>, now: Timestamp) -> Result<(), Refusal> {
    match until.filter(|until| *until > now) {
        Some(until) => Err(Refusal::Leased(until)),
        None => Ok(()),
    }
}

const fn refused(state: OutboxState, instead: &'static str) -> Refusal {
    Refusal::State {
        state: state.as_str(),
        instead,
    }
}

#[cfg(test)]
mod tests;
