//! The proxy itself: counts, looks for a scripted fault, forwards.
//!
//! It does not retry and keeps no answers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};

use super::Fault;
use crate::server::{self, Answer, Background, Dropped};

type Upstream = Client<HttpConnector, Full<Bytes>>;

/// A request that came, whatever became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Such as `TransactWriteItems`; empty if the request named none.
    pub operation: String,
    /// The exact body.
    pub body: Bytes,
}

impl Seen {
    /// The body as JSON; null if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

#[derive(Debug)]
struct Scripted {
    operation: String,
    at: Option<usize>,
    fault: Fault,
}

#[derive(Debug, Default)]
struct State {
    counts: HashMap<String, usize>,
    seen: Vec<Seen>,
    script: Vec<Scripted>,
}

/// A running proxy in front of a DynamoDB endpoint.
#[derive(Debug)]
pub struct Proxy {
    server: Background,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    /// Starts a proxy in front of `upstream`, such as `http://127.0.0.1:8000`.
    ///
    /// # Errors
    /// When `upstream` is not a URL or no port is free.
    pub fn start(upstream: &str) -> Result<Self> {
        let parts = upstream
            .parse::<Uri>()
            .with_context(|| format!("`{upstream}` is not a URL"))?;
        let upstream = format!(
            "{}://{}",
            parts.scheme_str().unwrap_or("http"),
            parts
                .authority()
                .with_context(|| format!("`{upstream}` names no host"))?
        );
        let state = Arc::new(Mutex::new(State::default()));
        let client = Client::builder(TokioExecutor::new()).build_http();
        let shared = (Arc::clone(&state), client, Arc::<str>::from(upstream));
        let server = Background::serve("faults", None, move |request| {
            let (state, client, upstream) = shared.clone();
            async move { pass(request, &state, &client, &upstream).await }
        })?;
        Ok(Self { server, state })
    }

    /// `http://127.0.0.1:port`, for the SDK's `endpoint_url`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.server.endpoint()
    }

    /// Breaks the next request of `operation` that no other fault is meant for. Faults queue up.
    pub fn fault(&self, operation: &str, fault: Fault) {
        lock(&self.state).script.push(Scripted {
            operation: operation.to_owned(),
            at: None,
            fault,
        });
    }

    /// Breaks the `nth` request of `operation`, counted from 1 since the start or [`Proxy::reset`].
    pub fn fault_at(&self, operation: &str, nth: usize, fault: Fault) {
        lock(&self.state).script.push(Scripted {
            operation: operation.to_owned(),
            at: Some(nth),
            fault,
        });
    }

    /// How many requests of `operation` came.
    #[must_use]
    pub fn count(&self, operation: &str) -> usize {
        lock(&self.state).counts.get(operation).copied().unwrap_or(0)
    }

    /// The operations that came, in order.
    #[must_use]
    pub fn operations(&self) -> Vec<String> {
        lock(&self.state)
            .seen
            .iter()
            .map(|seen| seen.operation.clone())
            .collect()
    }

    /// The requests that came, in order.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.state).seen.clone()
    }

    /// How many scripted faults no request has met yet.
    #[must_use]
    pub fn unmet(&self) -> usize {
        lock(&self.state).script.len()
    }

    /// Forgets counts, requests and scripted faults.
    pub fn reset(&self) {
        *lock(&self.state) = State::default();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Counts and records a request, and takes the fault meant for it.
    fn arrive(&mut self, operation: &str, body: &Bytes) -> Option<Fault> {
        let count = self.counts.entry(operation.to_owned()).or_default();
        *count += 1;
        let count = *count;
        self.seen.push(Seen {
            operation: operation.to_owned(),
            body: body.clone(),
        });
        let meant = |at| {
            self.script
                .iter()
                .position(|scripted| scripted.operation == operation && scripted.at == at)
        };
        let index = meant(Some(count)).or_else(|| meant(None))?;
        Some(self.script.remove(index).fault)
    }
}

async fn pass(
    request: Request<Bytes>,
    state: &Mutex<State>,
    client: &Upstream,
    upstream: &str,
) -> Result<Answer, Dropped> {
    let target = request
        .headers()
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok());
    let operation = target
        .and_then(|target| target.rsplit('.').next())
        .unwrap_or_default();
    let fault = lock(state).arrive(operation, request.body());
    match fault {
        None => forward(request, client, upstream).await,
        Some(Fault::Answer { status, body }) => Ok(scripted(status, &body)),
        Some(Fault::ActThenAnswer { status, body }) => {
            forward(request, client, upstream).await?;
            Ok(scripted(status, &body))
        }
        Some(Fault::LoseAnswer) => {
            forward(request, client, upstream).await?;
            Err(Dropped)
        }
        Some(Fault::Refuse) => Err(Dropped),
        Some(Fault::Delay(wait)) => {
            tokio::time::sleep(wait).await;
            forward(request, client, upstream).await
        }
        Some(Fault::Hang) => loop {
            tokio::time::sleep(Duration::from_hours(1)).await;
        },
    }
}

fn scripted(status: u16, body: &Value) -> Answer {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    server::json(status, body)
}

async fn forward(request: Request<Bytes>, client: &Upstream, upstream: &str) -> Result<Answer, Dropped> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = format!("{upstream}{path}").parse().map_err(|_| Dropped)?;
    head.headers.remove(header::CONNECTION);
    // `Host` stays as the client signed it.
    match client.request(Request::from_parts(head, Full::new(body))).await {
        Ok(answer) => {
            let (mut head, body) = answer.into_parts();
            let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
            head.headers.remove(header::TRANSFER_ENCODING);
            Ok(Answer::from_parts(head, Full::new(body)))
        }
        Err(error) => {
            let message = format!("the proxy cannot reach {upstream}: {error}");
            Ok(server::json(
                StatusCode::BAD_GATEWAY,
                &json!({ "message": message }),
            ))
        }
    }
}
