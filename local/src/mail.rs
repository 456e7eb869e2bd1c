//! A mail API with idempotency keys as Resend documents them: the same key and body get the first answer
//! again, the same key with another body gets 409, and a key is forgotten after 24 hours.
//!
//! It sends no mail, checks no API key, limits no rate, and looks at a body only to tell whether it is JSON
//! and the same as before.
//!
//! Over HTTP: `POST /emails`; `GET /emails` and `GET /calls` show what came; `POST /next` scripts the calls to
//! come, such as `{"behaviour": "accept-and-drop"}`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Result;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    behaviour::{Behaviour, Order, Script},
    server::{self, Answer, Background, Dropped},
};

/// How long a key is remembered.
pub const KEY_RETENTION: Duration = Duration::from_hours(24);

/// A mail that was accepted: what a recipient would have received.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mail {
    /// Its `Idempotency-Key`.
    pub key: Option<String>,
    /// The request's body.
    pub body: Value,
    /// The number of the call that brought it, from 1.
    pub at: usize,
}

/// A call to `POST /emails`, whatever came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    /// Its `Idempotency-Key`.
    pub key: Option<String>,
    /// Its `Authorization`.
    pub authorization: Option<String>,
    /// The request's body; null if it was not JSON.
    pub body: Value,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a call, whether or not its caller was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A mail was sent.
    Sent,
    /// The key and the body were known: nothing was sent again.
    Replayed,
    /// The key was known with another body: refused.
    Changed,
    /// Refused for its form.
    Invalid,
    /// The script let nothing happen.
    Untouched,
}

#[derive(Debug)]
struct Known {
    body: Value,
    answer: Value,
    at: Duration,
}

#[derive(Debug)]
struct State {
    started: Instant,
    skipped: Duration,
    keys: HashMap<String, Known>,
    mails: Vec<Mail>,
    calls: Vec<Call>,
}

/// A running mail API.
#[derive(Debug)]
pub struct MailServer {
    server: Background,
    script: Script,
    state: Arc<Mutex<State>>,
}

impl MailServer {
    /// Starts the API on `port`, or on any free one.
    ///
    /// # Errors
    /// When the port is not free.
    pub fn start(port: Option<u16>) -> Result<Self> {
        let script = Script::default();
        let state = Arc::new(Mutex::new(State {
            started: Instant::now(),
            skipped: Duration::ZERO,
            keys: HashMap::new(),
            mails: Vec::new(),
            calls: Vec::new(),
        }));
        let shared = (script.clone(), Arc::clone(&state));
        let server = Background::serve("mail", port, move |request| {
            let (script, state) = shared.clone();
            async move { route(&request, &script, &state).await }
        })?;
        Ok(Self {
            server,
            script,
            state,
        })
    }

    /// `http://127.0.0.1:port`; mail goes to `/emails`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.server.endpoint()
    }

    /// Scripts the next call not yet scripted.
    pub fn next(&self, behaviour: Behaviour) {
        self.script.add([behaviour]);
    }

    /// The mails sent so far, in order.
    #[must_use]
    pub fn mails(&self) -> Vec<Mail> {
        lock(&self.state).mails.clone()
    }

    /// Every call so far, repeated and refused ones included, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.state).calls.clone()
    }

    /// Lets time pass for the API: keys older than [`KEY_RETENTION`] are forgotten.
    pub fn advance(&self, by: Duration) {
        lock(&self.state).skipped += by;
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn route(request: &Request<Bytes>, script: &Script, state: &Mutex<State>) -> Result<Answer, Dropped> {
    match (request.method(), request.uri().path()) {
        (&Method::POST, "/emails") => {
            let behaviour = script.next();
            let answer = lock(state).receive(request, behaviour.acts());
            behaviour.finish(answer).await
        }
        (&Method::GET, "/emails") => Ok(server::json(StatusCode::OK, &json!(lock(state).mails))),
        (&Method::GET, "/calls") => Ok(server::json(StatusCode::OK, &json!(lock(state).calls))),
        (&Method::POST, "/next") => {
            let order = serde_json::from_slice::<Order>(request.body()).map_err(|error| error.to_string());
            Ok(match order.and_then(|order| order.behaviours()) {
                Ok(behaviours) => {
                    script.add(behaviours);
                    server::json(StatusCode::OK, &json!({}))
                }
                Err(message) => refusal(StatusCode::BAD_REQUEST, "invalid_order", &message),
            })
        }
        _ => Ok(refusal(
            StatusCode::NOT_FOUND,
            "not_found",
            "POST /emails, GET /emails, GET /calls, POST /next",
        )),
    }
}

impl State {
    fn receive(&mut self, request: &Request<Bytes>, acts: bool) -> Answer {
        let header = |name| request.headers().get(name)?.to_str().ok().map(str::to_owned);
        let key = header("idempotency-key");
        let body = serde_json::from_slice::<Value>(request.body()).ok();
        let (outcome, answer) = if acts {
            self.act(key.as_deref(), body.as_ref())
        } else {
            (Outcome::Untouched, server::json(StatusCode::OK, &json!({})))
        };
        let authorization = header("authorization");
        self.calls.push(Call {
            key,
            authorization,
            body: body.unwrap_or_default(),
            outcome,
        });
        answer
    }

    fn act(&mut self, key: Option<&str>, body: Option<&Value>) -> (Outcome, Answer) {
        let Some(body) = body else {
            let answer = refusal(
                StatusCode::UNPROCESSABLE_ENTITY,
                "validation_error",
                "The body is not JSON.",
            );
            return (Outcome::Invalid, answer);
        };
        if key.is_some_and(|key| !(1..=256).contains(&key.len())) {
            let message = "The key must be between 1-256 chars.";
            return (
                Outcome::Invalid,
                refusal(StatusCode::BAD_REQUEST, "invalid_idempotency_key", message),
            );
        }
        let now = self.started.elapsed() + self.skipped;
        self.keys
            .retain(|_, known| now.saturating_sub(known.at) < KEY_RETENTION);
        if let Some(known) = key.and_then(|key| self.keys.get(key)) {
            if known.body == *body {
                return (Outcome::Replayed, server::json(StatusCode::OK, &known.answer));
            }
            let message = "Same idempotency key used with a different request payload.";
            return (
                Outcome::Changed,
                refusal(StatusCode::CONFLICT, "invalid_idempotent_request", message),
            );
        }
        let answer = json!({ "id": Uuid::new_v4().to_string() });
        let reply = server::json(StatusCode::OK, &answer);
        let at = self.calls.len() + 1;
        self.mails.push(Mail {
            key: key.map(str::to_owned),
            body: body.clone(),
            at,
        });
        if let Some(key) = key {
            self.keys.insert(
                key.to_owned(),
                Known {
                    body: body.clone(),
                    answer,
                    at: now,
                },
            );
        }
        (Outcome::Sent, reply)
    }
}

fn refusal(status: StatusCode, name: &str, message: &str) -> Answer {
    server::json(
        status,
        &json!({ "statusCode": status.as_u16(), "name": name, "message": message }),
    )
}
