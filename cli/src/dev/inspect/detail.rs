//! One event, or one request that left none, with all that belongs to it.

use http::StatusCode;
use oncehook_core::plan::EffectBody;
use oncehook_store::{EventView, OutboxView, event_key};
use serde_json::{Value, json};

use super::{Inspect, Told, parameter, refused, rules};
use crate::{events, outbox, output, plan};

/// So much of a body is shown, in characters.
const SHOWN: usize = 256 * 1024;

impl Inspect {
    /// `key`: the event's.
    pub(super) async fn event(&self, query: &str) -> Told {
        let key = parameter(query, "key").unwrap_or_default();
        let found = self.ledger.event(&key).await.map_err(refused)?;
        let Some((event, items)) = found else {
            return Err((StatusCode::NOT_FOUND, format!("no event `{key}` is stored here")));
        };
        let mut value = events::one::to_json(&event, &[], false);
        value["scope"] = json!(event.scope);
        value["content_type"] = json!(event.content_type);
        value["why"] = json!(event.record.reason);
        value["body"] = event.body.as_deref().map(shown).unwrap_or_default();
        value["requests"] = json!(self.requests_of(&event));
        let mut effects = Vec::with_capacity(items.len());
        for view in &items {
            effects.push(self.effect(view).await);
        }
        value["outbox"] = json!(effects);
        value["may"] = self.may_event(&event);
        match self.planned(&event) {
            Ok(planned) => value["plan"] = planned,
            Err((_, why)) => value["no_plan"] = json!(why),
        }
        Ok(value)
    }

    /// `number`: the request's.
    pub(super) fn request(&self, query: &str) -> Told {
        let number = parameter(query, "number").and_then(|text| text.parse::<u64>().ok());
        let rings = self.watch.rings();
        let seen = rings.requests().find(|seen| Some(seen.number) == number);
        let mut value = seen.map(super::super::watch::Seen::to_json).ok_or((
            StatusCode::NOT_FOUND,
            "this request is no longer remembered: only the latest 1000 are, while this process runs"
                .to_owned(),
        ))?;
        if let Some(body) = value["body"].as_str() {
            value["body"] = shown(body.as_bytes());
        }
        Ok(value)
    }

    /// The requests that brought this event, newest first.
    fn requests_of(&self, event: &EventView) -> Vec<Value> {
        let rings = self.watch.rings();
        let of_event = rings.requests().filter(|seen| {
            seen.source == event.source
                && seen.events.iter().any(|line| {
                    let part = |name| line.text(name).unwrap_or_default();
                    event_key(&event.namespace, part("scope"), part("id")) == event.pk
                })
        });
        of_event
            .map(super::super::watch::Seen::to_json)
            .take(100)
            .collect()
    }

    async fn effect(&self, view: &OutboxView) -> Value {
        let mut value = outbox::to_json(view);
        let key = view.key.to_string();
        value["history"] = json!(self.watch.rings().attempts(&key));
        value["request"]["body"] = match &view.item.request.body {
            EffectBody::Text(text) => shown(text.as_bytes()),
            EffectBody::Event => json!({ "text": "(the event's own bytes)", "bytes": null }),
        };
        value["request"]["content_type"] = json!(view.item.request.content_type);
        value["may"] = self.may_effect(&view.key).await;
        value
    }

    /// What the rules of the configuration's file make of it now.
    fn planned(&self, event: &EventView) -> Told {
        let config = self.config()?;
        let source = config.sources.get(&event.source).ok_or_else(|| {
            let why = format!("the configuration has no source `{}` any more", event.source);
            (StatusCode::UNPROCESSABLE_ENTITY, why)
        })?;
        let event = event.event(&source.scheme).map_err(refused)?;
        Ok(plan::to_json(source, &rules(&config)?, event))
    }
}

/// A body for reading, and as it is.
pub(super) fn shown(bytes: &[u8]) -> Value {
    let text = output::body(bytes);
    let cut: String = text.chars().take(SHOWN).collect();
    json!({
        "text": cut,
        "bytes": bytes.len(),
        "cut": cut.len() < text.len(),
        "raw": std::str::from_utf8(bytes).ok().filter(|raw| raw.len() <= SHOWN),
    })
}
