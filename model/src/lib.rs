//! The protocol, small enough that every state of it can be looked at: one event, one effect, some
//! copies of the request, one or two workers, times of a few ticks. `docs/model.md` explains it.
//!
//! It shares no code with the functions: it says what they must do, `chaos` and the tests say whether they do it.

mod drain;
mod ingest;
mod outside;
mod properties;
mod state;

use stateright::{Model, Property};

pub use state::{Action, Call, Claimed, Delivery, Item, List, State, Told, Worker};

/// How long one call to the destination can take, and how much earlier than the lease it must end.
pub const CALL: u8 = 1;
/// How long a claim lasts.
pub const LEASE: u8 = 2;
/// Older than this is old.
pub(crate) const OLD: u8 = 9;
/// Attempts before the item is a person's.
pub const ATTEMPTS: u8 = 3;

/// What the destination does with keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// It answers a known key with what it answered first, for so many ticks.
    Remembers(u8),
    /// It knows no keys: an effect that may have happened waits for a person.
    NoKeys,
}

/// One rule of the protocol broken on purpose, to see that its property notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 2xx before the commit.
    AcknowledgesFirst,
    /// The event is written although it is there.
    NoCondition,
    /// The outbox item follows in a write of its own.
    TwoWrites,
    /// Nobody looks for what the queue lost.
    BlindSweep,
    /// A claim takes what another holds.
    NoLease,
    /// Any worker settles, whoever holds the lease.
    UnfencedSettle,
    /// The time of the first possible effect is moved by each attempt.
    SlidingWindow,
    /// Each attempt has its own key.
    FreshKeys,
    /// A delivery is recorded for whatever generation is current.
    AnyGeneration,
    /// An attempt that reached nothing forgets the earlier ones that may have.
    ForgetsSends,
}

/// Every fault.
pub const FAULTS: [Fault; 10] = [
    Fault::AcknowledgesFirst,
    Fault::NoCondition,
    Fault::TwoWrites,
    Fault::BlindSweep,
    Fault::NoLease,
    Fault::UnfencedSettle,
    Fault::SlidingWindow,
    Fault::FreshKeys,
    Fault::AnyGeneration,
    Fault::ForgetsSends,
];

/// The protocol within bounds.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// How many copies of the request the provider has.
    pub copies: usize,
    /// How many workers drain has.
    pub workers: usize,
    /// How often a process may die.
    pub crashes: u8,
    /// How often the network may lose or repeat something: a wake-up, an answer to the provider, an answer to a worker.
    pub losses: u8,
    /// How often a person may act on a parked item.
    pub acts: u8,
    /// What the destination does with keys.
    pub destination: Destination,
    /// The rule that is broken, if any.
    pub fault: Option<Fault>,
}

impl Protocol {
    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Whether a request that leaves now under a key first used `age` ticks ago meets a destination that still knows it.
    pub(crate) fn within_window(&self, age: u8) -> bool {
        match self.destination {
            Destination::Remembers(retention) => age + CALL < retention,
            Destination::NoKeys => false,
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::start(self)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.ingest_actions(state, actions);
        self.drain_actions(state, actions);
        self.outside_actions(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Arrive(..)
            | Action::Commit(..)
            | Action::CommitRest(..)
            | Action::Wake(..)
            | Action::Acknowledge(..)
            | Action::AnswerLost(..)
            | Action::IngestDies(..) => self.ingest(&mut state, action),
            Action::Take(..)
            | Action::TakeCopy(..)
            | Action::Claim(..)
            | Action::Send(..)
            | Action::Unreached(..)
            | Action::Hear(..)
            | Action::Silence(..)
            | Action::Settle(..)
            | Action::WorkerDies(..) => self.drain(&mut state, action),
            Action::Tick
            | Action::WakeLost
            | Action::Act(..)
            | Action::Sweep
            | Action::Retry
            | Action::Resend
            | Action::Discard => self.outside(&mut state, action),
        }
        // Which worker is which makes no difference.
        state.workers.sort_unstable();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
