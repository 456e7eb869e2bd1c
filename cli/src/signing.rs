//! Requests as a provider makes them, and the event that such a request carries. Sends nothing.

use anyhow::Context as _;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    config::SourceConfig,
    decide::Mode,
    event::Event,
    request::SignedRequest,
    secret::Secret,
    verify::{Received, Scheme, SignError, Source},
};

use crate::{answer::misuse, secrets};

/// A source with nothing but its name and scheme: for schemes that need no configuration.
pub(crate) fn plain_source(name: &str, scheme: Scheme) -> SourceConfig {
    const DAY: SignedDuration = SignedDuration::from_hours(24);
    SourceConfig {
        name: name.to_owned(),
        namespace: scheme.name().to_owned(),
        secrets: vec![name.to_owned()],
        public_url: scheme
            .signs_url()
            .then(|| format!("http://127.0.0.1:3000/webhooks/{name}")),
        verify_token: None,
        tolerance: None,
        success: scheme.success(),
        mode: Mode::Apply,
        not_before: None,
        enrol_until: None,
        body_guard: true,
        networks: Vec::new(),
        max_body: 4_000_000,
        retention: DAY * 30,
        keys_for: DAY * 30,
        budget: SignedDuration::from_secs(2),
        scheme,
    }
}

/// A source with one secret.
///
/// # Errors
/// When the secret is not what the scheme expects.
pub(crate) fn source(config: &SourceConfig, secret: &str) -> anyhow::Result<Source> {
    let name = config
        .secrets
        .first()
        .map_or(config.name.as_str(), String::as_str);
    let secret = secrets::fitting(&config.scheme, secret);
    let (secret, _) = Secret::new(name, &secret).map_err(|error| misuse(error.to_string()))?;
    Source::new(config, vec![secret]).map_err(|error| misuse(error.to_string()))
}

/// The request that the provider would make. A header that the scheme signs and nobody gave gets a made-up value.
///
/// # Errors
/// When the source cannot sign.
pub(crate) fn sign(
    source: &Source,
    id: &str,
    kind: &str,
    body: Bytes,
    at: Timestamp,
    extra: &HeaderMap,
) -> anyhow::Result<SignedRequest> {
    let mut draft = SignedRequest {
        method: Method::POST,
        path_and_query: format!("/webhooks/{}", source.name()),
        headers: extra.clone(),
        body,
        source_ip: None,
    };
    draft
        .headers
        .entry(http::header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("application/json"));
    loop {
        match source.make(draft.clone(), id, kind, at) {
            Ok(request) => return Ok(request),
            Err(SignError::MissingHeader(name)) if !draft.headers.contains_key(&name) => {
                let name = HeaderName::try_from(&name).with_context(|| format!("the header `{name}`"))?;
                draft.headers.insert(name, HeaderValue::from_static("made-up"));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The event of a request, read by the code that reads real ones; none for a handshake.
///
/// # Errors
/// When the source does not believe the request.
pub(crate) fn event(source: &Source, request: SignedRequest, at: Timestamp) -> anyhow::Result<Option<Event>> {
    let verified = source.verify(request, at)?;
    Ok(match source.events(verified) {
        Received::Handshake(_) | Received::Confirm { .. } => None,
        Received::Events(events) => events.into_iter().next(),
    })
}
