//! Renders an effect for a queue, a function or a bus. What an event contains can fill the message and its group, never
//! say where it goes.

use super::evaluate::Evaluation;
use crate::{
    config::{BodyConfig, DestinationConfig, EffectConfig, Kind},
    message::{Body, Call, DETAIL_TYPE, GROUP, SOURCE, group},
    outbox::KeyShape,
    plan::{Effect, EffectBody, PlanError, RenderedRequest},
};

/// The effect, if the service would take it.
pub(super) fn effect(
    evaluation: &Evaluation<'_>,
    place: &str,
    effect: &EffectConfig,
    destination: &DestinationConfig,
) -> Result<Effect, PlanError> {
    if destination.url.is_empty() {
        return Err(evaluation.wrong(
            place,
            format!(
                "the destination `{0}` has no {1}: write `{1}` in oncehook.toml, or set its variable ONCEHOOK_TARGET_.. for this \
                 function",
                destination.name,
                destination.kind.target()
            ),
        ));
    }
    let body = match &effect.body {
        BodyConfig::Event => EffectBody::Event,
        BodyConfig::Template(_) => {
            let place = format!("{place}.body");
            let text = evaluation.rendered(&place)?;
            super::request::must_be_json(evaluation, &place, &destination.content_type, &text)?;
            EffectBody::Text(text)
        }
    };
    let content_type = match body {
        EffectBody::Event => None,
        EffectBody::Text(_) => Some(destination.content_type.clone()),
    };
    let request = RenderedRequest {
        method: destination.method.clone(),
        url: destination.url.clone(),
        headers: parameters(evaluation, place, effect, &destination.kind)?,
        content_type,
        body,
    };
    let shape = destination
        .idempotency
        .as_ref()
        .map_or(KeyShape::DEFAULT, |idempotency| idempotency.shape);
    fits(evaluation, destination, &request, shape)
        .map_err(|reason| evaluation.wrong(&format!("{place}.body"), reason))?;
    Ok(Effect {
        name: effect.name.clone(),
        destination: effect.destination.clone(),
        request,
        key: shape,
        give_up_after: destination.give_up_after,
    })
}

/// What the call says beside its body.
fn parameters(
    evaluation: &Evaluation<'_>,
    place: &str,
    effect: &EffectConfig,
    kind: &Kind,
) -> Result<Vec<(String, String)>, PlanError> {
    let mut parameters = Vec::new();
    if effect.group.is_some() {
        let text = evaluation.rendered(&format!("{place}.group"))?;
        parameters.push((GROUP.to_owned(), group(text.trim())));
    }
    if let Kind::EventBridge { source } = kind {
        let kind = evaluation.event.kind.as_str();
        let kind = if kind.is_empty() { "event" } else { kind };
        parameters.push((SOURCE.to_owned(), source.clone()));
        parameters.push((DETAIL_TYPE.to_owned(), kind.to_owned()));
    }
    Ok(parameters)
}

/// Whether the message that the delivery will make is one that the service takes.
fn fits(
    evaluation: &Evaluation<'_>,
    destination: &DestinationConfig,
    request: &RenderedRequest,
    shape: KeyShape,
) -> Result<(), String> {
    let event = evaluation.event;
    let body = match &request.body {
        EffectBody::Text(text) => Body {
            bytes: text.as_bytes(),
            content_type: request.content_type.as_deref(),
            received: false,
        },
        EffectBody::Event => Body {
            bytes: &event.body,
            content_type: event.content_type.as_deref(),
            received: true,
        },
    };
    let key = "k".repeat(shape.max_length);
    Call::new(&destination.kind, request, body, &key).map(drop)
}
