//! Requests made here: a sample of what a provider sends, what the rules would make of one, and sending it, signed.

use bytes::Bytes;
use http::StatusCode;
use jiff::SignedDuration;
use oncehook_core::config::{Config, SourceConfig};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Inspect, Told, parameter, refused, rules};
use crate::{
    plan,
    request::{self, Options, payload},
    send::deliveries,
};

/// The most deliveries at one press.
const MOST: u16 = 50;

/// A request to make.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Make {
    source: String,
    /// The event type.
    kind: String,
    /// The event's id, where the provider sends it in a header; a new one if absent.
    #[serde(default)]
    id: Option<String>,
    /// Sent byte for byte; a sample if absent.
    #[serde(default)]
    body: Option<String>,
    /// How often.
    #[serde(default = "once")]
    times: u16,
    /// All at once.
    #[serde(default)]
    concurrently: bool,
    #[serde(default)]
    spoilt: Spoilt,
}

const fn once() -> u16 {
    1
}

/// What is wrong with it, on purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Spoilt {
    /// Nothing.
    #[default]
    Genuine,
    /// A byte is changed after signing.
    Tampered,
    /// Signed with a wrong secret.
    Forged,
    /// Signed an hour ago.
    Old,
}

impl Inspect {
    /// `source`, `kind`: the body that `send` would make up.
    pub(super) fn sample(&self, query: &str) -> Told {
        let kind = parameter(query, "kind").unwrap_or_default();
        let config = self.config()?;
        let source = source(&config, &parameter(query, "source").unwrap_or_default())?;
        let id = payload::new_id(&source.scheme);
        let made = payload::make(&source.scheme, &kind, &id, self.now());
        let text = crate::output::body(&made.body);
        // What is indented for reading is another body only where it is JSON anyway.
        Ok(json!({ "id": id, "body": text }))
    }

    /// What the rules would make of it.
    pub(super) fn plan(&self, make: Make) -> Told {
        let config = self.config()?;
        let source = source(&config, &make.source)?;
        let id = make.id.unwrap_or_else(|| payload::new_id(&source.scheme));
        let body = match make.body {
            Some(body) => body.into_bytes(),
            None => payload::make(&source.scheme, &make.kind, &id, self.now()).body,
        };
        let event = plan::event(source, Bytes::from(body), &make.kind, &id).map_err(refused)?;
        let Some(event) = event else {
            return Ok(json!({ "decision": "handshake", "rules": [] }));
        };
        Ok(plan::to_json(source, &rules(&config)?, event))
    }

    /// Signs and delivers it to this process, by the way that every request takes.
    pub(super) async fn send(&self, make: Make) -> Told {
        if !(1..=MOST).contains(&make.times) {
            return Err((StatusCode::BAD_REQUEST, format!("1 to {MOST} times")));
        }
        let config = self.config()?;
        let source = source(&config, &make.source)?;
        let options = Options {
            tamper: make.spoilt == Spoilt::Tampered,
            forge: make.spoilt == Spoilt::Forged,
            age: match make.spoilt {
                Spoilt::Old => SignedDuration::from_hours(1),
                _ => SignedDuration::ZERO,
            },
            id: make.id.filter(|id| !id.is_empty()),
            ..Options::default()
        };
        let body = make.body.map(Bytes::from);
        let prepared =
            request::prepare_with(source, &make.kind, &options, body, self.now()).map_err(refused)?;
        let url = prepared.url(&self.running.webhook(&source.name));
        let sent = deliveries::all(&url, &prepared, make.times, make.concurrently)
            .await
            .map_err(refused)?;
        let answers: Vec<Value> = sent.iter().map(deliveries::Sent::to_json).collect();
        Ok(json!({ "id": prepared.id, "type": prepared.kind, "answers": answers }))
    }
}

fn source<'c>(config: &'c Config, name: &str) -> Result<&'c SourceConfig, (StatusCode, String)> {
    let missing = || {
        (
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("the configuration has no source `{name}`"),
        )
    };
    config.sources.get(name).ok_or_else(missing)
}
