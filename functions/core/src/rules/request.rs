//! Renders the request of an effect. What an event contains can fill path segments and the body, never the
//! scheme, the host or a header.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::{evaluate::Evaluation, target};
use crate::{
    config::{BodyConfig, DestinationConfig, EffectConfig, KeyPlace},
    outbox::KeyShape,
    plan::{Effect, EffectBody, PlanError, RenderedRequest},
    preset,
    template::{FORM_BODY, URL_PATH},
};

pub(super) fn effect(
    evaluation: &Evaluation<'_>,
    place: &str,
    effect: &EffectConfig,
) -> Result<Effect, PlanError> {
    let destination = evaluation.destinations.get(&effect.destination);
    let destination = destination.ok_or_else(|| {
        evaluation.wrong(place, format!("there is no destination `{}`", effect.destination))
    })?;
    if destination.kind.is_aws() {
        return target::effect(evaluation, place, effect, destination);
    }
    let url = match &effect.path {
        None => destination.url.clone(),
        Some(_) => {
            let path = evaluation.rendered(&format!("{place}.{URL_PATH}"))?;
            joined(&destination.url, &path)
                .map_err(|reason| evaluation.wrong(&format!("{place}.path"), reason))?
        }
    };
    let (body, content_type) = match &effect.body {
        BodyConfig::Event => (EffectBody::Event, None),
        BodyConfig::Template(_) if destination.is_form() => {
            let text = evaluation.rendered(&format!("{place}.{FORM_BODY}"))?;
            (
                EffectBody::Text(text.trim().to_owned()),
                Some(destination.content_type.clone()),
            )
        }
        BodyConfig::Template(_) => {
            let place = format!("{place}.body");
            let text = evaluation.rendered(&place)?;
            must_be_json(evaluation, &place, &destination.content_type, &text)?;
            takes_key(destination, &text).map_err(|reason| evaluation.wrong(&place, reason))?;
            (EffectBody::Text(text), Some(destination.content_type.clone()))
        }
    };
    Ok(Effect {
        name: effect.name.clone(),
        destination: effect.destination.clone(),
        request: RenderedRequest {
            method: destination.method.clone(),
            url,
            headers: destination.headers.clone().into_iter().collect(),
            content_type,
            body,
        },
        key: destination
            .idempotency
            .as_ref()
            .map_or(KeyShape::DEFAULT, |idempotency| idempotency.shape),
        give_up_after: destination.give_up_after,
    })
}

/// A body that is said to be JSON must be.
pub(super) fn must_be_json(
    evaluation: &Evaluation<'_>,
    place: &str,
    content_type: &str,
    text: &str,
) -> Result<(), PlanError> {
    if is_json(content_type) {
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
            let reason = format!("rendered to what is not JSON ({error}); put values through `| tojson`");
            evaluation.wrong(place, reason)
        })?;
    }
    Ok(())
}

/// Whether the key of the delivery will find its place in the body, and be looked at there.
fn takes_key(destination: &DestinationConfig, body: &str) -> Result<(), String> {
    let Some(keys) = &destination.idempotency else {
        return Ok(());
    };
    let KeyPlace::Field(field) = &keys.place else {
        return Ok(());
    };
    preset::put(body, field, "key")?;
    if let Some((place, text)) = keys.needs {
        let body: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
        let found = body.pointer(place).and_then(Value::as_str);
        if !found.is_some_and(|found| found.contains(text)) {
            return Err(format!(
                "`{place}` must contain `{text}`, or the destination does not look at the key"
            ));
        }
    }
    Ok(())
}

pub(crate) fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type);
    essence == "application/json" || essence.ends_with("+json")
}

pub(crate) fn is_form(content_type: &str) -> bool {
    essence(content_type) == "application/x-www-form-urlencoded"
}

fn essence(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// The URL with path segments appended, before its query.
fn joined(url: &str, path: &str) -> Result<String, String> {
    let path = path.trim().trim_start_matches('/');
    for segment in path.split('/') {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        if plain.is_empty() || plain == "." || plain == ".." {
            return Err(format!("`{path}` has an empty or relative segment"));
        }
    }
    if let Some(wrong) = path
        .chars()
        .find(|c| !c.is_ascii_alphanumeric() && !"-._~%!$&'()*+,;=:@/".contains(*c))
    {
        return Err(format!("`{path}` has `{wrong}`, which does not belong in a path"));
    }
    let (base, query) = url
        .split_once('?')
        .map_or((url, None), |(base, query)| (base, Some(query)));
    let joined = format!("{}/{path}", base.trim_end_matches('/'));
    Ok(query.map_or_else(|| joined.clone(), |query| format!("{joined}?{query}")))
}
