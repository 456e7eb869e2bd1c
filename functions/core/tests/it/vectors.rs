//! Signatures published by the providers and their libraries: each is believed or refused for the stated reason.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    config::SourceConfig,
    decide::Mode,
    event::Event,
    request::SignedRequest,
    secret::Secret,
    verify::{Received, Scheme, Source, Verified, body_hash},
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
        public_url: None,
        verify_token: None,
        tolerance,
        success: 200,
        mode: Mode::Apply,
        not_before: None,
        enrol_until: None,
        body_guard: true,
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

/// The scheme that vectors call so.
fn scheme(provider: &str) -> Scheme {
    let name = match provider {
        "shopify_events" => "shopify".to_owned(),
        "adyen_item" => "adyen".to_owned(),
        provider => provider.replace('_', "-"),
    };
    Scheme::from_name(&name).unwrap_or_else(|| panic!("no scheme {name}"))
}

fn run(vector: &Value) -> Result<Vec<Event>, &'static str> {
    let text = |name: &str| vector[name].as_str().unwrap();
    let body: Vec<u8> = match vector["body_base64"].as_str() {
        Some(body) => base64::Engine::decode(&base64::prelude::BASE64_STANDARD, body).unwrap(),
        None => text("body").into(),
    };
    if let Some(hash) = vector["claims"]["request_body_sha256"].as_str() {
        // Only the claims of a token are known: its hash rule alone.
        return body_hash(&body, hash)
            .map(|()| vec![])
            .map_err(|error| error.reason());
    }
    let tolerance = vector["tolerance_s"]
        .as_i64()
        .map_or(UNLIMITED, SignedDuration::from_secs);
    let now = Timestamp::from_second(vector["now"].as_i64().unwrap_or(1_700_000_000)).unwrap();
    let mut headers = http::HeaderMap::new();
    for (name, value) in vector["headers"].as_object().unwrap() {
        let name = http::HeaderName::try_from(name).unwrap();
        headers.append(name, value.as_str().unwrap().parse().unwrap());
    }
    let secrets = match &vector["secret"] {
        Value::Array(secrets) => secrets.iter().map(|secret| secret.as_str().unwrap()).collect(),
        secret => vec![secret.as_str().unwrap()],
    };
    let secrets: Result<Vec<Secret>, _> = secrets
        .into_iter()
        .map(|secret| Secret::new("secret", secret).map(|(secret, _)| secret))
        .collect();
    let mut config = config(scheme(text("provider")), Some(tolerance));
    config.public_url = vector["url"].as_str().map(str::to_owned);
    let secrets = secrets.map_err(|error| error.reason())?;
    let source = Source::new(&config, secrets).map_err(|error| error.reason())?;
    let mut request = request(headers, body);
    request.method = text("method").parse().unwrap();
    let verified = source.verify(request, now).map_err(|error| error.reason())?;
    Ok(match source.events(verified) {
        Received::Events(events) => events,
        Received::Handshake(_) | Received::Confirm { .. } => vec![],
    })
}

#[test]
fn every_published_signature_is_believed_or_refused_for_its_reason() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    assert!(vectors.len() >= 194);
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

/// Whether this is the event's id, or the first of the values that its id is made of.
fn is_id(event: &Event, id: &Value) -> bool {
    let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    event.id == id || event.id.split(':').next() == Some(&id)
}

#[test]
fn what_the_vectors_say_of_their_events_is_read() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    let mut seen = 0;
    for vector in vectors.iter().filter(|vector| vector["expect"].is_object()) {
        let events = run(vector).unwrap();
        let event = &events[0];
        for (name, value) in vector["expect"].as_object().unwrap() {
            let matches = match name.as_str() {
                "event_id" | "delivery_id" => is_id(event, value),
                "event_ids" => {
                    let ids = value.as_array().unwrap();
                    ids.len() == events.len() && events.iter().zip(ids).all(|(event, id)| is_id(event, id))
                }
                "event_type" => *value == event.kind,
                "occurred_at_ms" => event.occurred_at.map(Timestamp::as_millisecond) == value.as_i64(),
                "created" | "created_at" | "event_time" => {
                    let expected: Timestamp = match value {
                        Value::String(text) => text.parse().unwrap(),
                        number => {
                            let text = number.to_string();
                            let (seconds, decimals) = text.split_once('.').unwrap_or((&text, "0"));
                            let nanos: i32 = format!("{decimals:0<9}").parse().unwrap();
                            Timestamp::new(seconds.parse().unwrap(), nanos).unwrap()
                        }
                    };
                    event.occurred_at == Some(expected)
                }
                "account" => event.scope.split(':').next() == value.as_str(),
                "livemode" => event.scope.ends_with(if value.as_bool().unwrap() {
                    ":live"
                } else {
                    ":test"
                }),
                "attempt_number" => event.data["attempt_number"] == *value,
                "replay_token" => event.data["signature"]["token"] == *value,
                _ => panic!("unknown expectation {name}"),
            };
            assert!(matches, "{}: {name}: {event:?}", vector["id"]);
            seen += 1;
        }
    }
    assert!(seen >= 27, "{seen}");
}
