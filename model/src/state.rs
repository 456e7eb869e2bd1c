//! What the world looks like at one moment, and what can happen in it.

use crate::Protocol;

/// Everything: the provider, the table, the queue, the workers, the network and the destination. Times are ages and what is
/// left, not points of a clock: so there are finitely many states however long it takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Crashes, losses and acts of people that are left.
    pub left: [u8; 3],
    /// The copies of the request.
    pub deliveries: Vec<Delivery>,
    /// Whether the provider was ever told 2xx.
    pub acknowledged: bool,
    /// Whether the event stands in the table.
    pub event: bool,
    /// How often the business row was changed.
    pub applied: u8,
    /// The outbox item, once committed.
    pub item: Option<Item>,
    /// Wake-ups in the queue.
    pub messages: u8,
    /// Workers of drain.
    pub workers: Vec<Worker>,
    /// Requests on their way to the destination, or answered.
    pub calls: Vec<Call>,
    /// Keys that the destination knows, and for how long it has.
    pub memory: Vec<(u8, u8)>,
    /// How often the destination acted, by generation.
    pub acts: [u8; 2],
}

/// Where one copy of the request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// With the provider, who will send it.
    AtProvider,
    /// Verified and planned.
    Planned,
    /// Half of it written; only with `Fault::TwoWrites`.
    HalfWritten,
    /// Committed, or known as a duplicate.
    Durable,
    /// The wake-up is sent.
    Woken,
    /// 2xx.
    Acknowledged,
}

/// The effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Item {
    /// The list on which it stands.
    pub list: List,
    /// Whether it was ever done; must not be taken back.
    pub was_done: bool,
    /// Raised by `resend`; part of the key.
    pub generation: u8,
    /// Ticks before it is due.
    pub due: u8,
    /// Attempts so far; numbers the leases.
    pub attempts: u8,
    /// Attempts under this generation.
    pub tries: u8,
    /// For how long the destination may have acted, and the lease that said so.
    pub maybe_sent: Option<(u8, u8)>,
    /// The holder and what is left of its lease.
    pub lease: Option<(u8, u8)>,
}

/// Where an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    /// The sweeper finds it.
    Open,
    /// Nothing is left to do.
    Done,
    /// A person sees it.
    Parked,
    /// A person wants nothing of it.
    Discarded,
}

/// What a claim knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claimed {
    /// The number of the lease.
    pub lease: u8,
    /// What is left of it.
    pub left: u8,
    /// The generation it is of.
    pub generation: u8,
    /// For how long the destination may have acted.
    pub age: u8,
    /// Whether this claim is the first that may make it act.
    pub first: bool,
}

/// What a worker of drain is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Worker {
    /// Nothing.
    Idle,
    /// It has a wake-up.
    Woken,
    /// It claimed this item.
    Holding(Claimed),
    /// It waits for an answer.
    Calling(Claimed),
    /// It knows what to write.
    Told(Claimed, Told),
}

/// The end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Told {
    /// 2xx.
    Delivered,
    /// No byte left.
    Unreached,
    /// Nobody knows.
    Ambiguous,
    /// Must not be sent any more.
    TooLate,
}

/// A request to the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    /// The lease under which it was sent; whoever holds that waits for the answer.
    pub lease: u8,
    /// Its idempotency key.
    pub key: u8,
    /// The generation that it is of.
    pub generation: u8,
    /// For how long it has been under way.
    pub age: u8,
    /// Whether the destination has answered.
    pub answered: bool,
}

/// One step. Numbers are of the copy or the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The provider sends.
    Arrive(usize),
    /// The one transaction.
    Commit(usize),
    /// The second write of `Fault::TwoWrites`.
    CommitRest(usize),
    /// A message to the queue.
    Wake(usize),
    /// 2xx arrives at the provider.
    Acknowledge(usize),
    /// 2xx does not arrive.
    AnswerLost(usize),
    /// The function dies; the provider sends again.
    IngestDies(usize),
    /// A message is delivered.
    Take(usize),
    /// A message is delivered and will be again.
    TakeCopy(usize),
    /// The conditional update before an attempt.
    Claim(usize),
    /// The call.
    Send(usize),
    /// The destination cannot be reached.
    Unreached(usize),
    /// The answer.
    Hear(usize),
    /// No answer.
    Silence(usize),
    /// The conditional update after an attempt.
    Settle(usize),
    /// The function dies; its message comes again.
    WorkerDies(usize),
    /// Time passes.
    Tick,
    /// A message is lost.
    WakeLost,
    /// The destination receives the call of that place.
    Act(usize),
    /// The sweeper finds the item.
    Sweep,
    /// A person: again, same key.
    Retry,
    /// A person: again, new key.
    Resend,
    /// A person: leave it.
    Discard,
}

impl State {
    /// Before anything happened.
    #[must_use]
    pub fn start(protocol: &Protocol) -> Self {
        Self {
            left: [protocol.crashes, protocol.losses, protocol.acts],
            deliveries: vec![Delivery::AtProvider; protocol.copies],
            acknowledged: false,
            event: false,
            applied: 0,
            item: None,
            messages: 0,
            workers: vec![Worker::Idle; protocol.workers],
            calls: Vec::new(),
            memory: Vec::new(),
            acts: [0; 2],
        }
    }

    pub(crate) fn crash_left(&self) -> bool {
        self.left[0] > 0
    }

    pub(crate) fn loss_left(&self) -> bool {
        self.left[1] > 0
    }
}
