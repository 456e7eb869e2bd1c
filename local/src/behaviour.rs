//! How a fake destination misbehaves when told to.
//!
//! A behaviour is used up by one call. What "acting" means is the fake's own matter.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::json;

use crate::server::{self, Answer, Dropped};

/// What a fake destination does with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Acts and answers as it should; holds a place in the queue.
    Normal,
    /// Acts, then closes the connection without an answer: the caller cannot know.
    AcceptAndDrop,
    /// Acts, then answers with this status.
    AcceptAndAnswer(u16),
    /// Does not act; answers with this status and, if given, `Retry-After` in seconds.
    Status(u16, Option<u64>),
    /// Does not act; closes the connection without an answer.
    Drop,
    /// Acts, keeps the caller waiting this long, then answers as it should.
    Hang(Duration),
}

impl Behaviour {
    /// Whether the call has its effect.
    #[must_use]
    pub fn acts(self) -> bool {
        !matches!(self, Self::Status(..) | Self::Drop)
    }

    /// Ends the call; `answer` is what it should be answered with.
    pub(crate) async fn finish(self, answer: Answer) -> Result<Answer, Dropped> {
        match self {
            Self::Normal => Ok(answer),
            Self::AcceptAndDrop | Self::Drop => Err(Dropped),
            Self::AcceptAndAnswer(status) => Ok(scripted(status, None)),
            Self::Status(status, retry_after) => Ok(scripted(status, retry_after)),
            Self::Hang(wait) => {
                tokio::time::sleep(wait).await;
                Ok(answer)
            }
        }
    }
}

fn scripted(status: u16, retry_after: Option<u64>) -> Answer {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({ "statusCode": status, "name": "scripted", "message": "as told by the test" });
    let mut answer = server::json(code, &body);
    if let Some(seconds) = retry_after {
        answer
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// A behaviour as `POST /next` takes it: `{"behaviour": "status", "status": 429, "retry_after": 5, "times": 2}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    behaviour: String,
    status: Option<u16>,
    retry_after: Option<u64>,
    millis: Option<u64>,
    times: Option<usize>,
}

impl Order {
    /// The behaviours ordered, or what is wrong with the order.
    pub(crate) fn behaviours(&self) -> Result<Vec<Behaviour>, String> {
        let status = || match self.status {
            Some(status @ 200..=599) => Ok(status),
            _ => Err(format!("`{}` needs a `status` from 200 to 599", self.behaviour)),
        };
        let one = match self.behaviour.as_str() {
            "normal" => Behaviour::Normal,
            "accept-and-drop" => Behaviour::AcceptAndDrop,
            "accept-and-answer" => Behaviour::AcceptAndAnswer(status()?),
            "status" => Behaviour::Status(status()?, self.retry_after),
            "drop" => Behaviour::Drop,
            "hang" => Behaviour::Hang(Duration::from_millis(self.millis.ok_or("`hang` needs `millis`")?)),
            other => {
                return Err(format!(
                    "unknown behaviour `{other}`: one of normal, accept-and-drop, accept-and-answer, status, drop, hang"
                ));
            }
        };
        Ok(vec![one; self.times.unwrap_or(1).min(1000)])
    }
}

/// The behaviours of the calls to come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script(Arc<Mutex<VecDeque<Behaviour>>>);

impl Script {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Behaviour>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, behaviours: impl IntoIterator<Item = Behaviour>) {
        self.queue().extend(behaviours);
    }

    pub(crate) fn next(&self) -> Behaviour {
        self.queue().pop_front().unwrap_or(Behaviour::Normal)
    }
}
