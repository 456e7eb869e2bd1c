//! `oncehook verify`: signature test vectors, through the code that verifies real requests.
//!
//! Each vector says what must come of it; a request refused for another reason than its vector says is a failure.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    event::Event,
    request::SignedRequest,
    secret::{Secret, SecretError},
    verify::{Received, Scheme, Source, body_hash},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, misuse},
    configuration, output, signing,
};

/// The time of a vector that gives none: its signature has no time, so any will do.
const ANY_TIME: i64 = 1_700_000_000;
/// Beyond any age of a vector.
const UNLIMITED: SignedDuration = SignedDuration::from_hours(24 * 365 * 100);

/// Arguments of `verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook verify --vectors functions/core/tests/data/vectors.json

A vector is a JSON object with id, provider, secret (or a list), method, url, headers, body or body_base64, now,
tolerance_s, valid, reason and expect (event_id or event_ids, event_type, created). Vectors of providers that this
version does not know fail. Exits with 1 if any vector fails.")]
pub(crate) struct Args {
    /// A JSON array of vectors; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    vectors: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// One request with what must come of it.
#[derive(Debug, Deserialize)]
struct Vector {
    id: String,
    provider: String,
    #[serde(default)]
    secret: Value,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    body_base64: Option<String>,
    #[serde(default)]
    method: Option<String>,
    url: Option<String>,
    /// What a token says, where the token itself is not given.
    claims: Option<Value>,
    /// What the event must be.
    #[serde(default)]
    expect: BTreeMap<String, Value>,
    now: Option<i64>,
    tolerance_s: Option<i64>,
    valid: bool,
    #[serde(default)]
    reason: String,
}

/// Runs every vector.
pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let vectors: Vec<Vector> =
        serde_json::from_slice(&configuration::read(&args.vectors)?).map_err(|error| {
            misuse(format!(
                "{} is not an array of vectors: {error}",
                args.vectors.display()
            ))
        })?;
    let mut passed = 0_usize;
    let mut failed = Vec::new();
    for vector in &vectors {
        match vector.check() {
            Ok(()) => passed += 1,
            Err(why) => failed.push((&vector.id, format!("{why:#}"))),
        }
    }
    if args.json {
        let failures = failed
            .iter()
            .map(|(id, why)| json!({ "id": id, "why": why }))
            .collect::<Vec<_>>();
        output::json(&json!({ "passed": passed, "failed": failed.len(), "failures": failures }));
    } else {
        for (id, why) in &failed {
            output::line(format!("{id}: {why}"));
        }
        output::line(format!("{passed} passed, {} failed", failed.len()));
    }
    Ok(Answer::from_bool(failed.is_empty()))
}

/// The scheme of a provider, which vectors write with `_`.
fn scheme(provider: &str) -> anyhow::Result<Scheme> {
    let name = match provider {
        "shopify_events" => "shopify".to_owned(),
        "adyen_item" => "adyen".to_owned(),
        provider => provider.replace('_', "-"),
    };
    Scheme::from_name(&name).with_context(|| format!("there is no scheme `{name}`"))
}

impl Vector {
    fn check(&self) -> anyhow::Result<()> {
        let outcome = self.outcome()?;
        let found = outcome.as_ref().err().copied().unwrap_or("ok");
        // `ok; remark` and `signature_mismatch (remark)`.
        let stated = self.reason.split([' ', ';']).next().unwrap_or_default();
        match (self.valid, stated) {
            (false, "") => anyhow::ensure!(found != "ok", "ok, must be refused"),
            (valid, stated) => {
                let wanted = if valid { "ok" } else { stated };
                anyhow::ensure!(found == wanted, "{found}, must be {wanted}");
            }
        }
        let events = outcome.unwrap_or_default();
        let names = self.expect.iter();
        names
            .into_iter()
            .try_for_each(|(name, value)| expected(&events, name, value))
    }

    fn body(&self) -> anyhow::Result<Vec<u8>> {
        match &self.body_base64 {
            Some(text) => BASE64_STANDARD.decode(text).context("body_base64"),
            None => Ok(self.body.clone().into_bytes()),
        }
    }

    fn secrets(&self) -> anyhow::Result<Vec<&str>> {
        let text = |secret: &'_ Value| secret.as_str().map(str::len).context("the secret is not text");
        let one = std::slice::from_ref(&self.secret);
        let all = self.secret.as_array().map_or(one, Vec::as_slice);
        all.iter().try_for_each(|secret| text(secret).map(drop))?;
        Ok(all.iter().filter_map(Value::as_str).collect())
    }

    /// The events, or the cause of the refusal.
    fn outcome(&self) -> anyhow::Result<Result<Vec<Event>, &'static str>> {
        let body = self.body()?;
        if let Some(claims) = &self.claims {
            // Without the token itself its hash rule is all that can be checked.
            let hash = claims["request_body_sha256"]
                .as_str()
                .context("request_body_sha256")?;
            return Ok(body_hash(&body, hash)
                .map(|()| Vec::new())
                .map_err(|error| error.reason()));
        }
        let mut config = signing::plain_source("vector", scheme(&self.provider)?);
        config.tolerance = Some(self.tolerance_s.map_or(UNLIMITED, SignedDuration::from_secs));
        config.public_url = self.url.clone();
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
        }
        let request = SignedRequest {
            method: self.method.as_deref().unwrap_or("POST").parse::<Method>()?,
            path_and_query: "/".to_owned(),
            headers,
            body: body.into(),
            source_ip: None,
        };
        let secrets = self.secrets()?.into_iter();
        let secrets: Result<Vec<Secret>, SecretError> = secrets
            .map(|secret| Secret::new("vector", secret).map(|(secret, _)| secret))
            .collect();
        let source = match secrets.and_then(|secrets| Source::new(&config, secrets)) {
            Ok(source) => source,
            Err(error) => return Ok(Err(error.reason())),
        };
        let now = Timestamp::from_second(self.now.unwrap_or(ANY_TIME)).context("now")?;
        Ok(match source.verify(request, now) {
            Ok(verified) => Ok(match source.events(verified) {
                Received::Events(events) => events,
                Received::Handshake(_) | Received::Confirm { .. } => Vec::new(),
            }),
            Err(error) => Err(error.reason()),
        })
    }
}

/// Whether the events are what a vector says. What it says beyond identity, kind and time is not looked at.
fn expected(events: &[Event], name: &str, value: &Value) -> anyhow::Result<()> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    // Some ids are made of several values; vectors give the first.
    let is_id = |event: &Event, id: &str| event.id == id || event.id.split(':').next() == Some(id);
    let event = events.first().context("no event")?;
    let time = event.occurred_at;
    let holds = match name {
        "event_id" | "delivery_id" => is_id(event, &text),
        "event_ids" => {
            let ids = value.as_array().context("event_ids is no list")?.iter();
            let ids: Vec<String> = ids
                .map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned))
                .collect();
            ids.len() == events.len() && events.iter().zip(&ids).all(|(event, id)| is_id(event, id))
        }
        "event_type" => event.kind == text,
        "occurred_at_ms" => time.map(Timestamp::as_millisecond) == value.as_i64(),
        "created" | "created_at" | "event_time" => match value {
            Value::String(text) => time == text.parse().ok(),
            number => time.map(Timestamp::as_second) == number.as_f64().map(floor),
        },
        "account" => event.scope.split(':').next() == Some(text.as_str()),
        _ => true,
    };
    let kind = &event.kind;
    anyhow::ensure!(
        holds,
        "{name} must be {text}, and there are {} events, the first `{}` of kind `{kind}` at {time:?}",
        events.len(),
        event.id
    );
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "seconds of this century fit")]
fn floor(seconds: f64) -> i64 {
    seconds.floor() as i64
}
