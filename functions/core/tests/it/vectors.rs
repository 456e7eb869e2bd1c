//! Signatures published by the providers and their libraries: each is believed or refused for the stated reason.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    config::SourceConfig,
    decide::Mode,
    event::Event,
    request::SignedRequest,
    secret::Secret,
    verify::{Received, Scheme, Source, Verified},
};
use serde_json::Value;

const VECTORS: &str = include_str!("../data/vectors.json");
const UNLIMITED: SignedDuration = SignedDuration::from_hours(24 * 365 * 100);

/// A source of a scheme, with the least that a source needs.
pub(crate) fn config(scheme: Scheme, tolerance: Option<SignedDuration>) -> SourceConfig {
    SourceConfig {
        name: "source".into(),
        namespace: scheme.name().into(),
        scheme,
        secrets: vec!["secret".into()],
        tolerance,
        success: 200,
        mode: Mode::Apply,
        not_before: None,
        networks: vec![],
        max_body: 4_000_000,
        retention: SignedDuration::from_hours(24),
        keys_for: SignedDuration::from_hours(24),
        budget: SignedDuration::from_secs(2),
    }
}

/// A request with these headers and this body.
pub(crate) fn request(headers: http::HeaderMap, body: Vec<u8>) -> SignedRequest {
    SignedRequest {
        method: http::Method::POST,
        path_and_query: "/webhooks/source".into(),
        headers,
        body: body.into(),
        source_ip: None,
    }
}

/// The one event of a genuine request.
pub(crate) fn only_event(source: &Source, verified: Verified) -> Event {
    match source.events(verified) {
        Received::Events(mut events) if events.len() == 1 => events.remove(0),
        other => panic!("not one event: {other:?}"),
    }
}

fn run(vector: &Value) -> Result<Event, &'static str> {
    let text = |name: &str| vector[name].as_str().unwrap();
    let scheme = match text("provider") {
        "standard_webhooks" => "standard-webhooks",
        "shopify_events" => "shopify",
        provider => provider,
    };
    let tolerance = vector["tolerance_s"]
        .as_i64()
        .map_or(UNLIMITED, SignedDuration::from_secs);
    let now = Timestamp::from_second(vector["now"].as_i64().unwrap_or(1_700_000_000)).unwrap();
    let mut headers = http::HeaderMap::new();
    for (name, value) in vector["headers"].as_object().unwrap() {
        let name = http::HeaderName::try_from(name).unwrap();
        headers.append(name, value.as_str().unwrap().parse().unwrap());
    }
    let body = match vector["body_base64"].as_str() {
        Some(body) => base64::Engine::decode(&base64::prelude::BASE64_STANDARD, body).unwrap(),
        None => text("body").into(),
    };
    let (secret, _) = Secret::new("secret", text("secret")).map_err(|error| error.reason())?;
    let config = config(Scheme::from_name(scheme).unwrap(), Some(tolerance));
    let source = Source::new(&config, vec![secret]).map_err(|error| error.reason())?;
    let verified = source
        .verify(request(headers, body), now)
        .map_err(|error| error.reason())?;
    Ok(only_event(&source, verified))
}

#[test]
fn every_published_signature_is_believed_or_refused_for_its_reason() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    assert!(vectors.len() > 80);
    let mut wrong = Vec::new();
    for vector in &vectors {
        let reason = vector["reason"]
            .as_str()
            .unwrap()
            .split([' ', ';'])
            .next()
            .unwrap();
        let result = run(vector).map(|_| "ok").unwrap_or_else(|reason| reason);
        if result != reason || (result == "ok") != vector["valid"].as_bool().unwrap() {
            wrong.push(format!("{}: {reason} expected, {result} found", vector["id"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_the_vectors_say_of_their_events_is_read() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    let mut seen = 0;
    for vector in vectors.iter().filter(|vector| vector["expect"].is_object()) {
        let event = run(vector).unwrap();
        for (name, value) in vector["expect"].as_object().unwrap() {
            let matches = match name.as_str() {
                "event_id" | "delivery_id" => *value == event.id,
                "event_type" => *value == event.kind,
                "created" | "event_time" => {
                    let expected = value.as_str().map_or_else(
                        || Timestamp::from_second(value.as_i64().unwrap()).unwrap(),
                        |text| text.parse().unwrap(),
                    );
                    event.occurred_at == Some(expected)
                }
                "account" => event.scope.split(':').next() == value.as_str(),
                "livemode" => event.scope.ends_with(if value.as_bool().unwrap() {
                    ":live"
                } else {
                    ":test"
                }),
                _ => panic!("unknown expectation {name}"),
            };
            assert!(matches, "{}: {name}: {event:?}", vector["id"]);
            seen += 1;
        }
    }
    assert!(seen > 8);
}
