//! `oncehook verify`: signature test vectors, through the code that verifies real requests.
//!
//! Each vector says what must come of it; a request refused for another reason than its vector says is a failure.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    request::SignedRequest,
    secret::Secret,
    verify::{Scheme, Source},
};
use serde::Deserialize;
use serde_json::json;

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

A vector is a JSON object with id, provider, secret, headers, body or body_base64, now, tolerance_s, valid and
reason. Providers that this version does not know are skipped and named. Exits with 1 if any vector fails.")]
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
    secret: serde_json::Value,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    body_base64: Option<String>,
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
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    for vector in &vectors {
        let Some(scheme) = scheme(&vector.provider) else {
            *skipped.entry(&vector.provider).or_default() += 1;
            continue;
        };
        match vector.check(scheme) {
            Ok(()) => passed += 1,
            Err(why) => failed.push((&vector.id, format!("{why:#}"))),
        }
    }
    if args.json {
        let failures = failed
            .iter()
            .map(|(id, why)| json!({ "id": id, "why": why }))
            .collect::<Vec<_>>();
        output::json(
            &json!({ "passed": passed, "failed": failed.len(), "failures": failures, "skipped": skipped }),
        );
    } else {
        for (id, why) in &failed {
            output::line(format!("{id}: {why}"));
        }
        if !skipped.is_empty() {
            let names: Vec<String> = skipped
                .iter()
                .map(|(name, count)| format!("{name} ({count})"))
                .collect();
            output::line(format!(
                "{} skipped: {}",
                skipped.values().sum::<usize>(),
                names.join(", ")
            ));
        }
        output::line(format!("{passed} passed, {} failed", failed.len()));
    }
    Ok(Answer::from_bool(failed.is_empty()))
}

/// The scheme of a provider, which vectors write with `_`.
fn scheme(provider: &str) -> Option<Scheme> {
    let name = if provider == "shopify_events" {
        "shopify".to_owned()
    } else {
        provider.replace('_', "-")
    };
    Scheme::from_name(&name)
}

impl Vector {
    fn check(&self, scheme: Scheme) -> anyhow::Result<()> {
        let found = self.outcome(scheme)?;
        // `ok; remark` and `signature_mismatch (remark)`.
        let stated = self.reason.split([' ', ';']).next().unwrap_or_default();
        let wanted = match (self.valid, stated) {
            (true, _) => "ok",
            (false, "") if found != "ok" => return Ok(()),
            (false, stated) => stated,
        };
        anyhow::ensure!(found == wanted, "{found}, must be {wanted}");
        Ok(())
    }

    /// `ok`, or the cause of the refusal.
    fn outcome(&self, scheme: Scheme) -> anyhow::Result<&'static str> {
        let mut config = signing::plain_source("vector", scheme);
        config.tolerance = Some(self.tolerance_s.map_or(UNLIMITED, SignedDuration::from_secs));
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
        }
        let body = match &self.body_base64 {
            Some(text) => BASE64_STANDARD.decode(text).context("body_base64")?,
            None => self.body.clone().into_bytes(),
        };
        let method = Method::POST;
        let request = SignedRequest {
            method,
            path_and_query: "/".to_owned(),
            headers,
            body: body.into(),
            source_ip: None,
        };
        let secret = self.secret.as_str().context("the secret is not text")?;
        let source =
            match Secret::new("vector", secret).and_then(|(secret, _)| Source::new(&config, vec![secret])) {
                Ok(source) => source,
                Err(error) => return Ok(error.reason()),
            };
        let now = Timestamp::from_second(self.now.unwrap_or(ANY_TIME)).context("now")?;
        Ok(source
            .verify(request, now)
            .err()
            .map_or("ok", |error| error.reason()))
    }
}
