//! One effect as a call of SQS, Lambda or EventBridge: what goes into the message, where the idempotency key travels in
//! it, and whether it fits. Signs and sends nothing; what an answer means is the drain's.
//!
//! The key always travels, so that a receiver can tell a repetition: with SQS in the attribute `idempotency-key` (and as
//! `MessageDeduplicationId` where the queue is FIFO), with Lambda in the client context's `custom.idempotency_key` and in
//! a rendered body, with EventBridge in `detail.idempotency_key`.

mod document;
mod wrap;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{config::Kind, plan::RenderedRequest};
pub use document::{Service, markdown};
use wrap::{detail, is_allowed, payload};

/// A message with its attributes, in bytes: "1 MiB or 1,048,576 bytes".
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
pub const SQS_MOST: usize = 1_048_576;
/// The payload of a synchronous invocation: "6 MB".
/// <https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html>
pub const LAMBDA_MOST: usize = 6 * 1024 * 1024;
/// An entry, "less than 1MB" since January 2026; whether 1000 or 1024 is meant is not said, so it is the smaller.
/// <https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html>
pub const EVENTBRIDGE_MOST: usize = 1_000_000;
/// `DetailType`, in characters.
/// <https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html>
pub const DETAIL_TYPE_MOST: usize = 128;
/// `MessageGroupId` and `MessageDeduplicationId`, in characters: letters, digits and punctuation.
const GROUP_MOST: usize = 128;

/// The stored parameter with the message group of a queue.
pub const GROUP: &str = "MessageGroupId";
/// The stored parameter with the `source` of an event on a bus.
pub const SOURCE: &str = "Source";
/// The stored parameter with the type of an event on a bus.
pub const DETAIL_TYPE: &str = "DetailType";

/// What an effect carries.
#[derive(Debug, Clone, Copy)]
pub struct Body<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Their type, as far as it is known.
    pub content_type: Option<&'a str>,
    /// Whether these are an event's exact bytes, not a rendered template.
    pub received: bool,
}

/// A call of a service's HTTP API, not yet signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The service as signatures and endpoints name it: `sqs`, `lambda`, `events`.
    pub service: &'static str,
    /// Where the target says in which Region it is.
    pub region: Option<String>,
    /// Where the target says at which host it is: `https://host`.
    pub origin: Option<String>,
    /// The path.
    pub path: String,
    /// Headers beside those of the signature.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Call {
    /// The call that an effect comes to. The same effect and key always make the same bytes.
    ///
    /// # Errors
    /// When the message is one that the service would refuse; says why, without showing it.
    pub fn new(kind: &Kind, request: &RenderedRequest, body: Body<'_>, key: &str) -> Result<Self, String> {
        match kind {
            Kind::Http => Err("this is an HTTP API, and takes no message".to_owned()),
            Kind::Sqs { fifo } => sqs(request, body, key, *fifo),
            Kind::Lambda => lambda(request, body, key),
            Kind::EventBridge { .. } => eventbridge(request, body, key),
        }
    }
}

fn sqs(request: &RenderedRequest, body: Body<'_>, key: &str, fifo: bool) -> Result<Call, String> {
    if body.bytes.is_empty() {
        return Err("the body is empty, and a queue takes no empty message".to_owned());
    }
    let plain = std::str::from_utf8(body.bytes)
        .ok()
        .filter(|text| text.chars().all(is_allowed));
    let message = plain.map_or_else(|| BASE64_STANDARD.encode(body.bytes), str::to_owned);
    let mut attributes = vec![("idempotency-key", key)];
    let header =
        |text: &&str| !text.is_empty() && text.len() <= 256 && text.chars().all(|c| matches!(c, ' '..='~'));
    attributes.extend(
        body.content_type
            .filter(header)
            .map(|text| ("content-type", text)),
    );
    attributes.extend(plain.is_none().then_some(("encoding", "base64")));
    let size = message.len()
        + attributes
            .iter()
            .map(|(name, value)| name.len() + "String".len() + value.len())
            .sum::<usize>();
    fits("message", size, SQS_MOST)?;
    let mut sent = json!({ "QueueUrl": request.url, "MessageBody": message });
    sent["MessageAttributes"] = attributes
        .iter()
        .map(|(name, value)| {
            (
                (*name).to_owned(),
                json!({ "DataType": "String", "StringValue": value }),
            )
        })
        .collect::<Map<_, _>>()
        .into();
    if fifo {
        sent["MessageDeduplicationId"] = key.into();
        sent["MessageGroupId"] = parameter(request, GROUP).unwrap_or(key).into();
    } else if let Some(group) = parameter(request, GROUP) {
        sent["MessageGroupId"] = group.into();
    }
    let origin = request.url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    let host = origin.split("//").last().unwrap_or_default();
    let region = host
        .strip_prefix("sqs.")
        .and_then(|rest| rest.split('.').next())
        .filter(|region| region.contains('-'));
    Ok(Call {
        service: "sqs",
        region: region.map(str::to_owned),
        path: "/".to_owned(),
        headers: json_call("1.0", "AmazonSQS.SendMessage"),
        body: sent.to_string().into_bytes(),
        origin: Some(origin),
    })
}

fn lambda(request: &RenderedRequest, body: Body<'_>, key: &str) -> Result<Call, String> {
    let payload = payload(body, key)?;
    fits("payload", payload.len(), LAMBDA_MOST)?;
    let context = json!({ "custom": { "idempotency_key": key } }).to_string();
    let function = request.url.replace('$', "%24").replace(':', "%3A");
    Ok(Call {
        service: "lambda",
        region: region_of(&request.url),
        origin: None,
        path: format!("/2015-03-31/functions/{function}/invocations"),
        headers: vec![
            ("content-type", "application/json".to_owned()),
            ("x-amz-invocation-type", "RequestResponse".to_owned()),
            ("x-amz-client-context", BASE64_STANDARD.encode(context)),
        ],
        body: payload,
    })
}

fn eventbridge(request: &RenderedRequest, body: Body<'_>, key: &str) -> Result<Call, String> {
    let detail = detail(body, key)?;
    let source = parameter(request, SOURCE).unwrap_or("oncehook");
    let kind = parameter(request, DETAIL_TYPE).unwrap_or("event");
    if kind.chars().count() > DETAIL_TYPE_MOST {
        return Err(format!(
            "the event's type is longer than the {DETAIL_TYPE_MOST} characters of a DetailType"
        ));
    }
    fits(
        "event",
        source.len() + kind.len() + detail.len(),
        EVENTBRIDGE_MOST,
    )?;
    let entry = json!({
        "EventBusName": request.url, "Source": source, "DetailType": kind, "Detail": detail,
    });
    Ok(Call {
        service: "events",
        region: region_of(&request.url),
        origin: None,
        path: "/".to_owned(),
        headers: json_call("1.1", "AWSEvents.PutEvents"),
        body: json!({ "Entries": [entry] }).to_string().into_bytes(),
    })
}

/// A message group that a queue takes: the text itself, or its hash if it is too long or has other characters.
#[must_use]
pub fn group(text: &str) -> String {
    let fits = (1..=GROUP_MOST).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic());
    if fits {
        text.to_owned()
    } else {
        hex::encode(Sha256::digest(text))
    }
}

fn json_call(version: &str, target: &str) -> Vec<(&'static str, String)> {
    vec![
        ("content-type", format!("application/x-amz-json-{version}")),
        ("x-amz-target", target.to_owned()),
    ]
}

fn parameter<'a>(request: &'a RenderedRequest, name: &str) -> Option<&'a str> {
    let mut found = request.headers.iter().filter(|(known, _)| known == name);
    found.next().map(|(_, value)| value.as_str())
}

/// The Region in an ARN.
fn region_of(target: &str) -> Option<String> {
    let region = target.strip_prefix("arn:")?.split(':').nth(2)?;
    (!region.is_empty()).then(|| region.to_owned())
}

fn fits(what: &str, size: usize, most: usize) -> Result<(), String> {
    if size > most {
        return Err(format!(
            "the {what} has {size} bytes, and {most} are the most that the service takes"
        ));
    }
    Ok(())
}

/// The value of a string as JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
