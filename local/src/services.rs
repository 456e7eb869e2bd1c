//! Stands in for SQS, Lambda and EventBridge where a delivery meets them: `SendMessage`, `Invoke` and `PutEvents`. It takes
//! every queue, function and bus, keeps what came, and recognises a FIFO queue's `MessageDeduplicationId` for 5 minutes.
//!
//! It checks no signature, gives no message to a consumer, runs no function and matches no rule.
//!
//! Over HTTP beside those: `GET /messages` shows what was taken.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Result;
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    behaviour::Behaviour,
    recorder::Received,
    server::{self, Answer, Background, Dropped},
};

/// How long a FIFO queue recognises a message.
const RECOGNISED: Duration = Duration::from_mins(5);

/// A message that was taken: what a consumer would have got.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Taken {
    /// `SendMessage`, `Invoke` or `PutEvents`.
    pub call: &'static str,
    /// The queue's URL, the function or the bus.
    pub target: String,
    /// The idempotency key where a consumer would look for it.
    pub key: Option<String>,
    /// The body, payload or detail; text if it is not JSON.
    pub body: Value,
}

/// What the next call comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// As any other fake.
    Like(Behaviour),
    /// Nothing is done, and this error is answered: its status, its name and its message.
    Error(u16, String, String),
    /// A function runs and fails.
    FunctionError,
    /// A bus answers 200 and does not take the event, with this code.
    Entry(String),
}

#[derive(Debug)]
struct State {
    started: Instant,
    skipped: Duration,
    known: HashMap<(String, String), Duration>,
    taken: Vec<Taken>,
    received: Vec<Received>,
    next: VecDeque<Next>,
}

/// The running stand-in.
#[derive(Debug)]
pub struct Services {
    server: Background,
    state: Arc<Mutex<State>>,
}

impl Services {
    /// Starts it on `port`, or on any free one.
    ///
    /// # Errors
    /// When the port is not free.
    pub fn start(port: Option<u16>) -> Result<Self> {
        let state = Arc::new(Mutex::new(State {
            started: Instant::now(),
            skipped: Duration::ZERO,
            known: HashMap::new(),
            taken: Vec::new(),
            received: Vec::new(),
            next: VecDeque::new(),
        }));
        let shared = Arc::clone(&state);
        let server = Background::serve("services", port, move |request| {
            let state = Arc::clone(&shared);
            async move { route(request, &state).await }
        })?;
        Ok(Self { server, state })
    }

    /// `http://127.0.0.1:port`
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.server.endpoint()
    }

    /// Scripts the next call not yet scripted.
    pub fn next(&self, next: Next) {
        lock(&self.state).next.push_back(next);
    }

    /// What was taken so far, in order; a FIFO queue takes a message once.
    #[must_use]
    pub fn taken(&self) -> Vec<Taken> {
        lock(&self.state).taken.clone()
    }

    /// Every request so far, as it came.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        lock(&self.state).received.clone()
    }

    /// Lets time pass: what is older than 5 minutes is no longer recognised.
    pub fn advance(&self, by: Duration) {
        lock(&self.state).skipped += by;
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn route(request: Request<Bytes>, state: &Mutex<State>) -> Result<Answer, Dropped> {
    if request.method() == Method::GET && request.uri().path() == "/messages" {
        return Ok(server::json(StatusCode::OK, &json!(lock(state).taken)));
    }
    let (head, body) = request.into_parts();
    let next = {
        let mut state = lock(state);
        let next = state.next.pop_front().unwrap_or(Next::Like(Behaviour::Normal));
        state.received.push(Received {
            method: head.method,
            path: head.uri.path().to_owned(),
            headers: head.headers.clone(),
            body: body.clone(),
            acted: matches!(&next, Next::FunctionError) || matches!(&next, Next::Like(like) if like.acts()),
        });
        next
    };
    let Some((taken, deduplication)) = message(head.uri.path(), &head.headers, &body) else {
        return Ok(error(
            400,
            "UnknownOperationException",
            "neither SendMessage, Invoke nor PutEvents",
        ));
    };
    let call = taken.call;
    match next {
        Next::Error(status, name, message) => Ok(error(status, &name, &message)),
        Next::Entry(code) => Ok(server::json(
            StatusCode::OK,
            &json!({ "FailedEntryCount": 1, "Entries": [{ "ErrorCode": code, "ErrorMessage": "as told by the test" }] }),
        )),
        Next::FunctionError => {
            lock(state).take(taken, deduplication);
            let mut answer = server::json(
                StatusCode::OK,
                &json!({ "errorMessage": "as told by the test", "errorType": "Error" }),
            );
            header(&mut answer, "x-amz-function-error", "Unhandled");
            Ok(answer)
        }
        Next::Like(behaviour) => {
            if behaviour.acts() {
                lock(state).take(taken, deduplication);
            }
            behaviour
                .finish(server::json(StatusCode::OK, &success(call)))
                .await
        }
    }
}

fn success(call: &str) -> Value {
    let id = Uuid::new_v4().to_string();
    match call {
        "SendMessage" => json!({ "MessageId": id }),
        "PutEvents" => json!({ "FailedEntryCount": 0, "Entries": [{ "EventId": id }] }),
        _ => json!({}),
    }
}

/// What a request asks for, and the token by which a FIFO queue recognises it.
fn message(path: &str, headers: &HeaderMap, body: &Bytes) -> Option<(Taken, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(rest) = path.strip_prefix("/2015-03-31/functions/") {
        let context = headers.get("x-amz-client-context").map(HeaderValue::as_bytes);
        let context = context.and_then(|context| BASE64_STANDARD.decode(context).ok());
        let context: Value = serde_json::from_slice(&context.unwrap_or_default()).unwrap_or_default();
        let function = rest.strip_suffix("/invocations")?;
        let taken = Taken {
            call: "Invoke",
            target: function.replace("%3A", ":").replace("%24", "$"),
            key: text(&context["custom"]["idempotency_key"]),
            body: read(&String::from_utf8_lossy(body)),
        };
        return Some((taken, None));
    }
    let sent: Value = serde_json::from_slice(body).ok()?;
    match headers.get("x-amz-target")?.to_str().ok()? {
        "AmazonSQS.SendMessage" => Some((
            Taken {
                call: "SendMessage",
                target: text(&sent["QueueUrl"])?,
                key: text(&sent["MessageAttributes"]["idempotency-key"]["StringValue"]),
                body: read(sent["MessageBody"].as_str()?),
            },
            text(&sent["MessageDeduplicationId"]),
        )),
        "AWSEvents.PutEvents" => {
            let entry = &sent["Entries"][0];
            let detail = read(entry["Detail"].as_str()?);
            let taken = Taken {
                call: "PutEvents",
                target: text(&entry["EventBusName"])?,
                key: text(&detail["idempotency_key"]),
                body: detail,
            };
            Some((taken, None))
        }
        _ => None,
    }
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

impl State {
    fn take(&mut self, taken: Taken, deduplication: Option<String>) {
        let now = self.started.elapsed() + self.skipped;
        self.known.retain(|_, at| now.saturating_sub(*at) < RECOGNISED);
        if let Some(token) = deduplication {
            let known = (taken.target.clone(), token);
            if self.known.contains_key(&known) {
                return;
            }
            self.known.insert(known, now);
        }
        self.taken.push(taken);
    }
}

fn error(status: u16, name: &str, message: &str) -> Answer {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = server::json(
        code,
        &json!({ "__type": format!("com.amazonaws#{name}"), "message": message }),
    );
    header(&mut answer, "x-amzn-errortype", name);
    answer
}

fn header(answer: &mut Answer, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(HeaderName::from_static(name), value);
    }
}
