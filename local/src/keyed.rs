//! An API with idempotency keys, as its provider's document describes them: one fake for all, driven by a contract.
//!
//! The contracts are written from the documents and not from Oncehook's presets, so that each checks the other. What a
//! document does not say, the fake does not do: it then answers as it would without a key. It looks at no API key and
//! limits no rate.

mod contracts;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, StatusCode};
use serde_json::Value;

use crate::{
    behaviour::{Behaviour, Script},
    server::{self, Answer, Background},
};

pub use contracts::{Contract, KeyIn, OtherBody, Repeat, Reply, contract, names};

#[derive(Debug)]
struct Known {
    body: Bytes,
    answer: Reply,
    at: Duration,
}

#[derive(Debug)]
struct State {
    started: Instant,
    skipped: Duration,
    busy: bool,
    keys: HashMap<String, Known>,
    acts: Vec<Bytes>,
    calls: usize,
}

/// A running API.
#[derive(Debug)]
pub struct KeyedApi {
    server: Background,
    script: Script,
    contract: Contract,
    state: Arc<Mutex<State>>,
}

impl KeyedApi {
    /// Starts the API of this name on any free port.
    ///
    /// # Errors
    /// When no contract has this name, or no port is free.
    pub fn start(api: &str) -> Result<Self> {
        let contract = contract(api).with_context(|| format!("there is no contract `{api}`"))?;
        let script = Script::default();
        let state = Arc::new(Mutex::new(State {
            started: Instant::now(),
            skipped: Duration::ZERO,
            busy: false,
            keys: HashMap::new(),
            acts: Vec::new(),
            calls: 0,
        }));
        let shared = (script.clone(), Arc::clone(&state), contract.clone());
        let server = Background::serve("keyed", None, move |request| {
            let (script, state, contract) = shared.clone();
            async move {
                let behaviour = script.next();
                let answer = lock(&state).receive(&contract, &request, behaviour);
                match behaviour {
                    // It acted and then failed: the answer is the failure, marked or stored as the API does.
                    Behaviour::AcceptAndAnswer(_) => Ok(answer),
                    other => other.finish(answer).await,
                }
            }
        })?;
        Ok(Self {
            server,
            script,
            contract,
            state,
        })
    }

    /// What it does.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// `http://127.0.0.1:port`; every path is the API.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.server.endpoint()
    }

    /// Scripts the next call not yet scripted.
    pub fn next(&self, behaviour: Behaviour) {
        self.script.add([behaviour]);
    }

    /// From now on a known key is one whose first request is under way, or no longer.
    pub fn busy(&self, busy: bool) {
        lock(&self.state).busy = busy;
    }

    /// Lets time pass for the API: keys older than its contract keeps them are forgotten.
    pub fn advance(&self, by: Duration) {
        lock(&self.state).skipped += by;
    }

    /// The bodies of the calls that had their effect, in order.
    #[must_use]
    pub fn acts(&self) -> Vec<Bytes> {
        lock(&self.state).acts.clone()
    }

    /// How many calls came.
    #[must_use]
    pub fn calls(&self) -> usize {
        lock(&self.state).calls
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn receive(&mut self, contract: &Contract, request: &Request<Bytes>, behaviour: Behaviour) -> Answer {
        self.calls += 1;
        if !behaviour.acts() {
            return contract.success.answer();
        }
        let now = self.started.elapsed() + self.skipped;
        self.keys
            .retain(|_, known| now.saturating_sub(known.at) < contract.kept);
        let key = key(contract, request);
        let body = request.body();
        if let Some(known) = key.as_ref().and_then(|key| self.keys.get(key)) {
            if self.busy
                && let Some(reply) = &contract.in_flight
            {
                return reply.answer();
            }
            return match (&contract.other_body, &contract.repeat) {
                (OtherBody::Refused(reply), _) if known.body != *body => reply.answer(),
                (_, Repeat::Same) => known.answer.answer(),
                (_, Repeat::Marked(header)) => marked(known.answer.answer(), header),
                (_, Repeat::Error(reply)) => reply.answer(),
            };
        }
        let answer = match behaviour {
            Behaviour::AcceptAndAnswer(status) => Reply {
                status,
                headers: &[],
                body: serde_json::json!({ "error": "scripted" }),
            },
            _ => contract.success.clone(),
        };
        self.acts.push(body.clone());
        if let Some(key) = key.filter(|_| contract.stores_errors || answer.status < 300) {
            let known = Known {
                body: body.clone(),
                answer: answer.clone(),
                at: now,
            };
            self.keys.insert(key, known);
        }
        answer.answer()
    }
}

/// The key of a request that fits the document's limits; any other is as good as none.
fn key(contract: &Contract, request: &Request<Bytes>) -> Option<String> {
    let key = match &contract.key {
        KeyIn::Nowhere => None,
        KeyIn::Header(name) => request.headers().get(*name)?.to_str().ok().map(str::to_owned),
        KeyIn::Body(pointer) => {
            let body: Value = serde_json::from_slice(request.body()).ok()?;
            body.pointer(pointer)?.as_str().map(str::to_owned)
        }
    };
    key.filter(|key| (1..=contract.longest).contains(&key.len()) && key.bytes().all(contract.charset))
}

fn marked(mut answer: Answer, header: &'static str) -> Answer {
    answer
        .headers_mut()
        .insert(HeaderName::from_static(header), HeaderValue::from_static("true"));
    answer
}

impl Reply {
    fn answer(&self) -> Answer {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = server::json(status, &self.body);
        for (name, value) in self.headers {
            answer
                .headers_mut()
                .insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        answer
    }
}
