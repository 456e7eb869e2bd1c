//! The ingest function: request, verify, event, plan, commit, wake, answer.
//!
//! Answers 2xx only for what is durable. Delivers nothing itself.

mod gateway;
mod receive;
mod reply;
mod request;
mod sources;

use std::sync::Arc;

use jiff::SignedDuration;
use lambda_http::{Body, Request, Response};
use oncehook_core::{clock::Clock, config::Config, plan::Handler};
use oncehook_edge::SecretStore;
use oncehook_store::{Ledger, Queue};

pub use gateway::presentable;
pub use reply::{OUTCOME, REPLAYED};
pub use sources::Sources;

/// All that ingest works with, made once at start.
pub struct Ingest {
    /// Every source, with its secrets as they are now.
    pub sources: Sources,
    /// What decides.
    pub handler: Arc<dyn Handler>,
    /// What is written.
    pub ledger: Ledger,
    /// Who is woken.
    pub queue: Queue,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Ingest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ingest")
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}

impl Ingest {
    /// Puts the parts together.
    #[must_use]
    pub fn new(
        config: &Config,
        secrets: Arc<SecretStore>,
        handler: Arc<dyn Handler>,
        ledger: Ledger,
        queue: Queue,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            sources: Sources::new(config, secrets),
            handler,
            ledger,
            queue,
            clock,
        }
    }
}

/// The longest that waking the outbox may hold up an answer.
pub const WAKE_LIMIT: SignedDuration = SignedDuration::from_millis(250);

/// Answers one webhook request. Never panics and never fails: every case has a status.
pub async fn handle(ingest: &Ingest, request: Request) -> Response<Body> {
    receive::receive(ingest, request).await.into_response()
}
