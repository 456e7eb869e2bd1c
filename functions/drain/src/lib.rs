//! Delivers what waits in the outbox: wake, permit, claim, call, settle.
//!
//! What an attempt means is decided in `oncehook-core`, what is true stands in `oncehook-store`. A message of the
//! queue is only a hint, and nothing runs on after the handler has returned.

mod answer;
mod attempt;
mod deliver;
mod destination;
mod dial;
mod handler;
mod permits;
mod retry_after;
mod service;

use std::{collections::BTreeMap, fmt, sync::Arc};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use oncehook_core::{
    clock::Clock,
    config::{Config, DestinationConfig},
};
use oncehook_edge::{SecretStore, Signer, Why};
use oncehook_store::{Ledger, Queue};
use tokio::time::Instant;

pub use deliver::{EventBody, Unsendable};
pub use destination::{Client, Destination, check_secret, client, client_over};
pub use dial::{Dial, Line, Wire};

/// Everything that draining needs.
pub struct Drain {
    /// The configured destinations, by name.
    pub destinations: BTreeMap<String, Destination>,
    /// Their secrets.
    pub secrets: Arc<SecretStore>,
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
    /// A drain for every destination of a configuration.
    ///
    /// # Errors
    /// When the system's root certificates cannot be read.
    pub fn new(
        config: &Config,
        secrets: Arc<SecretStore>,
        ledger: Ledger,
        queue: Queue,
        clock: Arc<dyn Clock>,
    ) -> std::io::Result<Self> {
        let client = client()?;
        let current = secrets.current();
        let destination = |config: &DestinationConfig| {
            let secret = config.secret.as_deref().and_then(|name| current.first(name));
            (
                config.name.clone(),
                Destination::new(config.clone(), secret, client.clone()),
            )
        };
        let destinations = config.destinations.values().map(destination).collect();
        Ok(Self {
            destinations,
            secrets,
            ledger,
            queue,
            clock,
        })
    }

    /// The same, with what signs calls of AWS.
    #[must_use]
    pub fn signed_by(mut self, signer: &Arc<Signer>) -> Self {
        let destinations = std::mem::take(&mut self.destinations);
        let signed = destinations
            .into_iter()
            .map(|(name, destination)| (name, destination.signed_by(Arc::clone(signer))));
        self.destinations = signed.collect();
        self
    }

    /// Reads the secrets again if it is time, and hands them to the destinations. A destination that refused its
    /// secret is paused; this comes before the next call to it.
    async fn renew_secrets(&self) {
        if !self.secrets.can_change() {
            return;
        }
        let now = self.clock.now();
        let mut destinations = self.destinations.values();
        if destinations.clone().any(Destination::was_refused) && self.secrets.refresh(Why::Refused, now).await
        {
            self.destinations.values().for_each(Destination::forget_refusal);
        }
        if destinations.any(|destination| destination.missing_secret().is_some()) {
            self.secrets.refresh(Why::Missing, now).await;
        }
        self.secrets.refresh(Why::Old, now).await;
        let current = self.secrets.current();
        for destination in self.destinations.values() {
            let name = destination.config.secret.as_deref();
            destination.renew(name.and_then(|name| current.first(name)));
        }
    }
}

/// Drains a batch of wake-ups, with secrets that are not old. All work ends before `deadline`, the end of the
/// invocation.
pub async fn handle(drain: &Drain, event: SqsEvent, deadline: Instant) -> SqsBatchResponse {
    drain.renew_secrets().await;
    handler::handle(drain, event, deadline).await
}
