//! Delivers one request several times, one after the other or at once. How one is posted is `post`'s.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::future::join_all;
use http::Uri;
use serde_json::{Value, json};

use crate::{
    answer::misuse,
    output,
    post::{self, Answer},
    request::Prepared,
};

/// One delivery.
#[derive(Debug)]
pub(crate) struct Sent {
    took: Duration,
    answer: Result<Answer, String>,
}

/// Makes all deliveries.
///
/// # Errors
/// When the URL cannot be used; a delivery that fails is a result.
pub(crate) async fn all(
    url: &str,
    prepared: &Prepared,
    times: u16,
    concurrently: bool,
) -> anyhow::Result<Vec<Sent>> {
    let scheme = url
        .parse::<Uri>()
        .ok()
        .and_then(|uri| uri.scheme_str().map(str::to_owned));
    if !matches!(scheme.as_deref(), Some("http" | "https")) {
        return Err(misuse(format!("`{url}` is not an http or https URL")));
    }
    let deliveries = (0..times).map(|_| deliver(url.to_owned(), prepared.clone()));
    if concurrently {
        let tasks: Vec<_> = deliveries.map(tokio::spawn).collect();
        return join_all(tasks)
            .await
            .into_iter()
            .map(|sent| sent.context("a delivery"))
            .collect();
    }
    let mut sent = Vec::new();
    for delivery in deliveries {
        sent.push(delivery.await);
    }
    Ok(sent)
}

async fn deliver(url: String, prepared: Prepared) -> Sent {
    let start = Instant::now();
    let answer = post::post(&url, &prepared.headers, prepared.body).await;
    Sent {
        took: start.elapsed(),
        answer: answer.map_err(|error| format!("{error:#}")),
    }
}

impl Sent {
    /// Whether it was answered with 2xx.
    pub(super) fn is_success(&self) -> bool {
        self.answer
            .as_ref()
            .is_ok_and(|answer| (200..300).contains(&answer.status))
    }

    /// Whether its signature was refused.
    pub(super) fn is_refused(&self) -> bool {
        self.answer.as_ref().is_ok_and(|answer| answer.status == 401)
    }

    /// For scripts.
    pub(crate) fn to_json(&self) -> Value {
        let milliseconds = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
        match &self.answer {
            Ok(Answer {
                status,
                outcome,
                replayed,
                body,
                ..
            }) => json!({
                "status": status, "outcome": outcome, "replayed": replayed,
                "body": output::body_json(body.as_bytes()), "milliseconds": milliseconds,
            }),
            Err(error) => json!({ "status": null, "error": error, "milliseconds": milliseconds }),
        }
    }

    fn row(&self, number: usize) -> Vec<String> {
        let took = format!("{} ms", self.took.as_millis());
        match &self.answer {
            Ok(Answer {
                status,
                outcome,
                replayed,
                body,
                ..
            }) => vec![
                number.to_string(),
                status.to_string(),
                output::or_dash(outcome.as_deref()),
                (if *replayed { "replayed" } else { "-" }).to_owned(),
                took,
                output::or_dash(Some(body)),
            ],
            Err(error) => vec![
                number.to_string(),
                "none".into(),
                "-".into(),
                "-".into(),
                took,
                error.clone(),
            ],
        }
    }
}

/// For people.
pub(super) fn show(url: &str, prepared: &Prepared, sent: &[Sent]) {
    output::line(format!("{} {} -> {url}", prepared.kind, prepared.id));
    let rows = sent
        .iter()
        .enumerate()
        .map(|(index, sent)| sent.row(index + 1))
        .collect();
    output::table(&["#", "status", "outcome", "replayed", "time", "answer"], rows);
    if sent.iter().any(|sent| sent.answer.is_err()) {
        output::note("No answer: does the receiver run? `oncehook dev` starts one on this machine.");
    }
}
