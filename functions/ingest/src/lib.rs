//! The ingest function: request, verify, event, plan, commit, wake, answer.
//!
//! Answers 2xx only for what is durable. Delivers nothing itself.

mod receive;
mod reply;
mod request;

use std::{collections::BTreeMap, sync::Arc};

use jiff::SignedDuration;
use lambda_http::{Body, Request, Response};
use oncehook_core::{
    clock::Clock,
    config::{Config, SourceConfig},
    plan::Handler,
    verify::Source,
};
use oncehook_store::{Ledger, Queue};

pub use reply::{OUTCOME, REPLAYED};

/// All that ingest works with, made once at start.
pub struct Ingest {
    /// Each source: its configuration, and itself unless its secret is missing or bad.
    pub sources: BTreeMap<String, (SourceConfig, Result<Source, String>)>,
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
            .field("sources", &self.sources.keys())
            .finish_non_exhaustive()
    }
}

impl Ingest {
    /// Puts the parts together. `sources` are those of `config`, each ready or with the reason why not.
    pub fn new(
        config: &Config,
        mut sources: BTreeMap<String, Result<Source, String>>,
        handler: Arc<dyn Handler>,
        ledger: Ledger,
        queue: Queue,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let sources = config
            .sources
            .iter()
            .map(|(name, source)| {
                let ready = sources
                    .remove(name)
                    .unwrap_or_else(|| Err("no secret was given".to_owned()));
                (name.clone(), (source.clone(), ready))
            })
            .collect();
        Self {
            sources,
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
