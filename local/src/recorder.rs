//! A destination that takes anything: it keeps each request as it came.
//!
//! It recognises no idempotency keys; a repeated request is recorded twice.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde_json::json;

use crate::{
    behaviour::{Behaviour, Script},
    server::{self, Background},
};

/// One request, as it came.
#[derive(Debug, Clone)]
pub struct Received {
    /// The method.
    pub method: Method,
    /// The path and, after `?`, the query.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The exact body.
    pub body: Bytes,
    /// Whether the behaviour scripted for this call let it act.
    pub acted: bool,
}

impl Received {
    /// The value of a header that came once, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A running recorder. It answers `200 {}` unless told otherwise.
#[derive(Debug)]
pub struct Recorder {
    server: Background,
    script: Script,
    received: Arc<Mutex<Vec<Received>>>,
    answer: Arc<Mutex<serde_json::Value>>,
}

impl Recorder {
    /// Starts a recorder on `port`, or on any free one.
    ///
    /// # Errors
    /// When the port is not free.
    pub fn start(port: Option<u16>) -> Result<Self> {
        let script = Script::default();
        let received = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(Mutex::new(json!({})));
        let (next, log, answers) = (script.clone(), Arc::clone(&received), Arc::clone(&answer));
        let server = Background::serve("recorder", port, move |request| {
            let (next, log, answers) = (next.clone(), Arc::clone(&log), Arc::clone(&answers));
            async move {
                let behaviour = next.next();
                let (head, body) = request.into_parts();
                let path = head
                    .uri
                    .path_and_query()
                    .map_or("/", |path| path.as_str())
                    .to_owned();
                let acted = behaviour.acts();
                log.lock().unwrap_or_else(PoisonError::into_inner).push(Received {
                    method: head.method,
                    path,
                    headers: head.headers,
                    body,
                    acted,
                });
                let answer = answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let answer = match answer.as_str() {
                    Some(text) => server::text(StatusCode::OK, text),
                    None => server::json(StatusCode::OK, &answer),
                };
                behaviour.finish(answer).await
            }
        })?;
        Ok(Self {
            server,
            script,
            received,
            answer,
        })
    }

    /// `http://127.0.0.1:port`
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.server.endpoint()
    }

    /// Answers this from now on: JSON, or a text as it is.
    pub fn answer(&self, answer: serde_json::Value) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// Scripts the next call not yet scripted.
    pub fn next(&self, behaviour: Behaviour) {
        self.script.add([behaviour]);
    }

    /// What has come so far, in order.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
