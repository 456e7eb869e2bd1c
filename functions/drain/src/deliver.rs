//! One HTTP call and what its end says about the effect. Never repeats a call, never follows a redirect; what follows
//! from the answer is decided by `settle`.

use std::{error::Error, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use jiff::Timestamp;
use oncehook_core::{outbox::OutboxItem, secret::Secret, settle::Attempt};
use tokio::time::{Instant, timeout, timeout_at};

use crate::{destination::Destination, retry_after::retry_after};

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
const READ: usize = 4096;
/// As much of it is kept, in characters.
const KEPT: usize = 300;
/// The longest wait for the body of an answer whose status is known.
const BODY: Duration = Duration::from_secs(1);

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
                let wait = BODY.min(end.saturating_duration_since(Instant::now()));
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
        let status = answer.status();
        let retry_after = retry_after(answer.headers(), now);
        // Read even where it does not matter: hanging up early can abort the destination's work.
        let text = read(answer.into_body(), wait).await;
        let code = status.as_u16();
        match status {
            status if status.is_success() => Attempt::Delivered { status: code },
            StatusCode::TOO_MANY_REQUESTS => Attempt::Throttled { retry_after },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                self.note_refusal();
                Attempt::Unauthorized { status: code }
            }
            StatusCode::REQUEST_TIMEOUT
            | StatusCode::CONFLICT
            | StatusCode::LOCKED
            | StatusCode::TOO_EARLY => Attempt::Later {
                status: code,
                retry_after,
            },
            status if status.is_client_error() => Attempt::Refused {
                status: code,
                detail: shorten(secret, &text),
            },
            _ => Attempt::Ambiguous {
                status: Some(code),
                retry_after,
                detail: shorten(secret, &text),
            },
        }
    }
}

/// One short line, without the secret should the destination repeat it.
fn shorten(secret: Option<&Secret>, text: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(text).into_owned();
    if let Some(secret) = secret {
        text = text.replace(secret.expose(), "[secret]");
    }
    let line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = line.take(KEPT).collect();
    line.trim().to_owned()
}

async fn read(mut body: Incoming, wait: Duration) -> Bytes {
    let mut text = BytesMut::new();
    let reading = async {
        while text.len() < READ {
            let Some(Ok(frame)) = body.frame().await else {
                break;
            };
            if let Some(data) = frame.data_ref() {
                text.extend_from_slice(&data[..data.len().min(READ - text.len())]);
            }
        }
    };
    // A body that breaks or lingers changes nothing: the status is known.
    let _late = timeout(wait, reading).await;
    text.freeze()
}

fn ambiguous(detail: String) -> Attempt {
    Attempt::Ambiguous {
        status: None,
        retry_after: None,
        detail,
    }
}

/// An error with its causes in one line; the cause is what helps ("connection refused").
fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line.push_str(": ");
        line.push_str(&cause.to_string());
        source = cause.source();
    }
    line
}
