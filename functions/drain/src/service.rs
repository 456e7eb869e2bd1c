//! One call of SQS, Lambda or EventBridge: signed with this function's own role, sent once. What its answer means is in
//! `answer`; what the message looks like is the core's.

mod answer;

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use jiff::Timestamp;
use oncehook_core::{
    config::Kind,
    message::{Body, Call},
    outbox::OutboxItem,
    plan::EffectBody,
    settle::Attempt,
};
use oncehook_edge::{SignError, Unsigned};
use tokio::time::{Instant, timeout_at};

use crate::{
    deliver::{
        BODY, BODY_TO_UNDERSTAND, EventBody, READ, READ_TO_UNDERSTAND, Unsendable, ambiguous, chain, read,
        shorten,
    },
    destination::Destination,
};

impl Destination {
    /// Sends an item to a service once, within `deadline`.
    pub(crate) async fn call_service(
        &self,
        item: &OutboxItem,
        event: Option<EventBody>,
        deadline: Duration,
        now: Timestamp,
    ) -> Result<Attempt, Unsendable> {
        self.fits(item)?;
        let call = self.message(item, event)?;
        let Some(signer) = &self.signer else {
            return Ok(unusable("this process signs no calls of AWS"));
        };
        let unsigned = Unsigned {
            service: call.service,
            method: Method::POST,
            region: call.region.as_deref(),
            origin: call.origin.as_deref(),
            path: &call.path,
            headers: &call.headers,
            body: Bytes::from(call.body),
        };
        let request = match signer.sign(&unsigned, now).await {
            Ok(request) => request,
            Err(error @ SignError::Credentials(_)) => {
                return Ok(Attempt::Unreached {
                    detail: error.to_string(),
                });
            }
            Err(error) => return Ok(unusable(&error.to_string())),
        };
        let end = Instant::now() + deadline;
        let (head, body) = match timeout_at(end, self.client.request(request)).await {
            Err(_) => return Ok(ambiguous(format!("no answer within {} ms", deadline.as_millis()))),
            Ok(Err(error)) if error.is_connect() => {
                return Ok(Attempt::Unreached {
                    detail: chain(&error),
                });
            }
            Ok(Err(error)) => return Ok(ambiguous(chain(&error))),
            Ok(Ok(answer)) => answer.into_parts(),
        };
        let left = end.saturating_duration_since(Instant::now());
        // What a bus or an error says is in the body; a function's or queue's success needs none of it.
        let needed = matches!(self.config.kind, Kind::EventBridge { .. }) || !head.status.is_success();
        let (most, wait) = if needed {
            (READ_TO_UNDERSTAND, BODY_TO_UNDERSTAND.min(left))
        } else {
            (READ, BODY.min(left))
        };
        let text = read(body, most, wait).await;
        let hidden = signer.hidden();
        let answer = answer::Answer {
            kind: &self.config.kind,
            target: &item.request.url,
            head: &head,
            text: &text,
            now,
        };
        Ok(answer.attempt(|text| shorten(&hidden, text.as_bytes())))
    }

    fn message(&self, item: &OutboxItem, event: Option<EventBody>) -> Result<Call, Unsendable> {
        let request = &item.request;
        let gone = || Unsendable("the event's body is no longer there".to_owned());
        let (bytes, content_type, received) = match &request.body {
            EffectBody::Text(text) => (Bytes::from(text.clone()), request.content_type.clone(), false),
            EffectBody::Event => {
                let event = event.ok_or_else(gone)?;
                (event.bytes, event.content_type, true)
            }
        };
        let body = Body {
            bytes: &bytes,
            content_type: content_type.as_deref(),
            received,
        };
        Call::new(&self.config.kind, request, body, &item.idempotency_key).map_err(Unsendable)
    }
}

fn unusable(why: &str) -> Attempt {
    Attempt::Unusable {
        detail: why.to_owned(),
    }
}
