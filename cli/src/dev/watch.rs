//! What the store does not keep and a person wants to see: every request with its headers, refused ones too, and every
//! attempt of an effect. In the memory of this process only, in rings that never grow beyond their bounds.
//!
//! It reads what the functions log, one wide line per unit, and changes nothing in them.

mod line;
mod rings;

use std::{
    cell::RefCell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use lambda_http::{Body, Request, Response};
use oncehook_core::clock::Clock as _;
use oncehook_edge::SystemClock;
use serde_json::Value;
use tracing::{Event, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{Layer, filter::Targets, layer::Context, registry::LookupSpan};

pub(super) use self::{
    line::Line,
    rings::{Rings, Seen},
};
use super::mask::Mask;

const INGEST: &str = "oncehook_ingest";
const DRAIN: &str = "oncehook_drain";

tokio::task_local! {
    /// What the request of this task has had logged so far.
    static LINES: RefCell<Vec<Line>>;
}

/// The memory, shared by who writes and who reads.
#[derive(Debug, Clone, Default)]
pub(super) struct Watch(Arc<Mutex<Rings>>);

impl Watch {
    /// The rings, for as long as nobody waits.
    pub(super) fn rings(&self) -> MutexGuard<'_, Rings> {
        // A panic while they were held leaves whole entries: they are only pushed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What hears the functions' lines.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let heard = Targets::new()
            .with_target(INGEST, LevelFilter::INFO)
            .with_target(DRAIN, LevelFilter::INFO);
        Ear(self.clone()).with_filter(heard)
    }

    /// Has a request handled and remembers it with what came of it, without any secret or signature.
    pub(super) async fn request<F>(
        &self,
        mask: &Mask,
        request: Request,
        handle: impl FnOnce(Request) -> F,
    ) -> Response<Body>
    where
        F: Future<Output = Response<Body>>,
    {
        let at = SystemClock.now();
        let mut seen = Seen::of(&request, mask, at);
        let handled = async {
            let response = handle(request).await;
            (response, LINES.with(RefCell::take))
        };
        let (response, lines) = LINES.scope(RefCell::default(), handled).await;
        seen.ends(&response, lines, SystemClock.now());
        self.rings().request(seen);
        response
    }
}

/// The layer.
struct Ear(Watch);

impl<S: Subscriber> Layer<S> for Ear {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let line = Line::of(event);
        if event.metadata().target().starts_with(INGEST) {
            // Lines outside a request are of no request.
            let _outside = LINES.try_with(|lines| lines.borrow_mut().push(line));
        } else if line.message == "attempt" {
            self.0.rings().attempt(SystemClock.now(), line);
        }
    }
}

/// A time as JSON has it.
pub(super) fn time(at: Timestamp) -> Value {
    at.to_string().into()
}
