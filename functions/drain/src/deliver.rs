//! One HTTP call and what its end says about the effect. Never repeats a call, never follows a redirect; what follows
//! from the answer is decided by `settle`.

use std::{error::Error, time::Duration};

use bytes::{Bytes, BytesMut};
use http::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use jiff::Timestamp;
use oncehook_core::{outbox::OutboxItem, preset::Preset, secret::Secret, settle::Attempt};
use tokio::time::{Instant, timeout, timeout_at};

use crate::{answer::Read, destination::Destination};

/// An event's body as it was received, for effects that pass it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBody {
    /// The exact bytes.
    pub bytes: Bytes,
    /// Its content type.
    pub content_type: Option<String>,
}

/// The stored request cannot be made into an HTTP request: no attempt will ever mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsendable(pub String);

/// As much of an answer is read, for the record.
pub(crate) const READ: usize = 4096;
/// As much of it is kept, in characters.
const KEPT: usize = 300;
/// The longest wait for the body of an answer whose status is known.
pub(crate) const BODY: Duration = Duration::from_secs(1);
/// The same where the body says what the answer means.
pub(crate) const READ_TO_UNDERSTAND: usize = 64 * 1024;
pub(crate) const BODY_TO_UNDERSTAND: Duration = Duration::from_secs(5);

impl Destination {
    /// Sends an item once, within `deadline`.
    ///
    /// # Errors
    /// When nothing was sent because the item cannot be made into a request.
    pub async fn deliver(
        &self,
        item: &OutboxItem,
        event: Option<EventBody>,
        deadline: Duration,
        now: Timestamp,
    ) -> Result<Attempt, Unsendable> {
        if self.config.kind.is_aws() {
            return self.call_service(item, event, deadline, now).await;
        }
        let secret = self.secret();
        if secret.is_none() && self.config.secret.is_some() {
            return Ok(Attempt::Unauthorized { status: 401 });
        }
        let request = self.request(item, event, secret.as_ref(), now)?;
        let end = Instant::now() + deadline;
        let attempt = match timeout_at(end, self.client.request(request)).await {
            Err(_) => ambiguous(format!("no answer within {} ms", deadline.as_millis())),
            Ok(Err(error)) if error.is_connect() => Attempt::Unreached {
                detail: chain(&error),
            },
            Ok(Err(error)) => ambiguous(chain(&error)),
            Ok(Ok(answer)) => {
                let wait = end.saturating_duration_since(Instant::now());
                self.classify(answer, secret.as_ref(), now, wait).await
            }
        };
        Ok(attempt)
    }

    async fn classify(
        &self,
        answer: Response<Incoming>,
        secret: Option<&Secret>,
        now: Timestamp,
        wait: Duration,
    ) -> Attempt {
        let (head, body) = answer.into_parts();
        // Read even where it does not matter: hanging up early can abort the destination's work.
        let (most, wait) = if self.config.preset.is_some_and(Preset::needs_body) {
            (READ_TO_UNDERSTAND, BODY_TO_UNDERSTAND.min(wait))
        } else {
            (READ, BODY.min(wait))
        };
        let text = read(body, most, wait).await;
        let answer = Read {
            preset: self.config.preset,
            head: &head,
            text: &text,
            now,
        };
        let hidden = secret.map(|secret| self.shown_as(secret)).unwrap_or_default();
        let attempt = answer.attempt(|| shorten(&hidden, &text));
        if matches!(attempt, Attempt::Unauthorized { .. }) {
            self.note_refusal();
        }
        attempt
    }
}

/// One short line, without the secret should the destination repeat it.
pub(crate) fn shorten(hidden: &[String], text: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(text).into_owned();
    for form in hidden {
        text = text.replace(form.as_str(), "[secret]");
    }
    let line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = line.take(KEPT).collect();
    line.trim().to_owned()
}

pub(crate) async fn read(mut body: Incoming, most: usize, wait: Duration) -> Bytes {
    let mut text = BytesMut::new();
    let reading = async {
        while text.len() < most {
            let Some(Ok(frame)) = body.frame().await else {
                break;
            };
            if let Some(data) = frame.data_ref() {
                text.extend_from_slice(&data[..data.len().min(most - text.len())]);
            }
        }
    };
    // A body that breaks or lingers changes nothing: the status is known.
    let _late = timeout(wait, reading).await;
    text.freeze()
}

pub(crate) fn ambiguous(detail: String) -> Attempt {
    Attempt::Ambiguous {
        status: None,
        retry_after: None,
        detail,
    }
}

/// An error with its causes in one line; the cause is what helps ("connection refused").
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line.push_str(": ");
        line.push_str(&cause.to_string());
        source = cause.source();
    }
    line
}
