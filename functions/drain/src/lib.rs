//! Delivers what waits in the outbox: wake, permit, claim, call, settle.
//!
//! What an attempt means is decided in `oncehook-core`, what is true stands in `oncehook-store`. A message of the
//! queue is only a hint, and nothing runs on after the handler has returned.

mod attempt;
mod deliver;
mod destination;
mod handler;
mod permits;
mod retry_after;

use std::{collections::BTreeMap, fmt, sync::Arc};

use oncehook_core::{
    clock::Clock,
    config::{Config, DestinationConfig},
    secret::Secret,
};
use oncehook_store::{Ledger, Queue};

pub use deliver::{EventBody, Unsendable};
pub use destination::{Client, Destination, client};
pub use handler::handle;

/// Everything that draining needs.
pub struct Drain {
    /// The configured destinations, by name.
    pub destinations: BTreeMap<String, Destination>,
    /// The table.
    pub ledger: Ledger,
    /// The queue of wake-ups.
    pub queue: Queue,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain")
            .field("destinations", &self.destinations)
            .finish_non_exhaustive()
    }
}

impl Drain {
    /// A drain for every destination of a configuration; `secret` finds the value of a secret by its name.
    ///
    /// # Errors
    /// When the system's root certificates cannot be read.
    pub fn new(
        config: &Config,
        secret: impl Fn(&str) -> Option<Secret>,
        ledger: Ledger,
        queue: Queue,
        clock: Arc<dyn Clock>,
    ) -> std::io::Result<Self> {
        let client = client()?;
        let destination = |config: &DestinationConfig| {
            let secret = config.secret.as_deref().and_then(&secret);
            (
                config.name.clone(),
                Destination::new(config.clone(), secret, client.clone()),
            )
        };
        let destinations = config.destinations.values().map(destination).collect();
        Ok(Self {
            destinations,
            ledger,
            queue,
            clock,
        })
    }
}
