//! One request from start to answer. Each event gets one log line, each refusal one, never a body or a secret.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::{StreamExt, stream};
use http::Method;
use jiff::Timestamp;
use lambda_http::Request;
use oncehook_core::{
    config::SourceConfig,
    decide::{Decision, decide},
    event::Event,
    verify::{Received, VerifyError, enrolment},
};
use oncehook_edge::{
    metrics::Line,
    trace::{Span, Trace},
};
use oncehook_store::{Commit, CommitError, Committed, Keep, Wakeup};
use tokio::time::Instant;

use crate::{Ingest, WAKE_LIMIT, reply::Reply, request};

/// How many events of one batch are committed at once.
const AT_ONCE: usize = 8;
/// What a provider is asked to wait, in seconds, before it comes again.
const COME_AGAIN: u32 = 5;

pub(crate) async fn receive(ingest: &Ingest, request: Request) -> Reply {
    let started = Instant::now();
    let Some(name) = request::source_name(&request) else {
        return Reply::NotFound;
    };
    let Some(config) = ingest.sources.config(&name) else {
        tracing::info!(requested = %name.escape_debug(), status = 404, "no such source");
        return Reply::NotFound;
    };
    let signed = request::signed(request);
    let asks = config.scheme.takes_challenge(&signed);
    if signed.method != Method::POST && !asks {
        return Reply::Method;
    }
    let refused = |reason: &str, reply: Reply| {
        tracing::warn!(source = %name, reason, bytes = signed.body.len(), "refused");
        count_refused(ingest, &name, reason);
        reply
    };
    if !config.networks.is_empty()
        && !signed
            .source_ip
            .is_some_and(|address| config.networks.iter().any(|network| network.contains(&address)))
    {
        return refused("network_not_allowed", Reply::Forbidden);
    }
    if signed.body.len() > config.max_body {
        return refused("body_too_large", Reply::TooLarge);
    }
    let now = ingest.clock.now();
    if asks {
        let answer = match enrolment(config, &signed, now) {
            None => ingest.sources.challenge(&name, &signed, now).await,
            enrolled => enrolled,
        };
        return match answer {
            Some(answer) => {
                tracing::info!(source = %name, status = answer.status, "handshake");
                Reply::Handshake(answer)
            }
            None => refused("bad_challenge", Reply::Forbidden),
        };
    }
    let received = match ingest.sources.receive(&name, &signed, now).await {
        Ok(received) => received,
        Err(error) => {
            let (reason, likely) = (error.reason(), error.likely(&config.scheme));
            tracing::warn!(source = %name, reason, likely, bytes = signed.body.len(), "refused");
            count_refused(ingest, &name, reason);
            return refusal(error);
        }
    };
    match received {
        Received::Handshake(handshake) => {
            tracing::info!(source = %name, status = handshake.status, "handshake");
            Reply::Handshake(handshake)
        }
        Received::Confirm { url, reply } => {
            let confirmed = ingest.sources.visit(&name, &url, now).await;
            tracing::info!(source = %name, confirmed, "subscription");
            match confirmed {
                true => Reply::Handshake(reply),
                false => Reply::Later(COME_AGAIN),
            }
        }
        Received::Events(events) => commit_all(ingest, config, events, now, started).await,
    }
}

fn refusal(error: VerifyError) -> Reply {
    match error.status() {
        503 => Reply::Later(COME_AGAIN),
        413 => Reply::TooLarge,
        status @ (400 | 431) => Reply::Malformed(status),
        _ => Reply::Unauthorized,
    }
}

/// Commits every event of a request, wakes what they left in the outbox, and answers for all of them.
async fn commit_all(
    ingest: &Ingest,
    config: &SourceConfig,
    events: Vec<Event>,
    now: Timestamp,
    started: Instant,
) -> Reply {
    let deadline = started + Duration::try_from(config.budget).unwrap_or(Duration::from_secs(2));
    let commits: Vec<_> = events
        .iter()
        .map(|event| commit_one(ingest, config, event, now, deadline))
        .collect();
    let results: Vec<Result<Committed, CommitError>> =
        stream::iter(commits).buffered(AT_ONCE).collect().await;
    let wakeups: Vec<Wakeup> = results
        .iter()
        .filter_map(|result| result.as_ref().ok())
        .flat_map(|committed| match committed {
            Committed::New(record) => record.wakeups.clone(),
            Committed::Duplicate(_) => Vec::new(),
        })
        .collect();
    let woken = wake(ingest, &wakeups).await;
    for (event, result) in events.iter().zip(&results) {
        log(event, result, woken, started);
        trace(event, result, now, started);
    }
    count(config, &results, started).emit(now);
    answer(config, results)
}

async fn commit_one(
    ingest: &Ingest,
    config: &SourceConfig,
    event: &Event,
    now: Timestamp,
    deadline: Instant,
) -> Result<Committed, CommitError> {
    let decided = std::panic::catch_unwind(AssertUnwindSafe(|| {
        decide(config.mode, config.not_before, ingest.handler.as_ref(), event)
    }));
    let decision: Decision = decided.map_err(|_| CommitError::Broken("the handler panicked".to_owned()))?;
    let keep = Keep {
        retention: config.retention,
        keys_for: config.keys_for,
    };
    ingest
        .ledger
        .commit(Commit {
            event,
            decision: &decision,
            keep,
            now,
            deadline,
        })
        .await
}

/// Whether every wake-up was sent in time. If not, the sweeper finds the items.
async fn wake(ingest: &Ingest, wakeups: &[Wakeup]) -> bool {
    if wakeups.is_empty() {
        return true;
    }
    let limit = Duration::try_from(WAKE_LIMIT).unwrap_or_default();
    match tokio::time::timeout(limit, ingest.queue.wake(wakeups)).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(%error, items = wakeups.len(), "not woken; the sweeper will");
            false
        }
        Err(_) => {
            tracing::warn!(items = wakeups.len(), "not woken in time; the sweeper will");
            false
        }
    }
}

fn answer(config: &SourceConfig, results: Vec<Result<Committed, CommitError>>) -> Reply {
    let mut records = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Ok(committed) => records.push(committed),
            Err(CommitError::Busy { .. } | CommitError::NotNow(_)) => return Reply::Later(COME_AGAIN),
            Err(CommitError::TooLarge { .. }) => return Reply::TooLarge,
            Err(CommitError::Broken(_)) => return Reply::Broken,
        }
    }
    let replayed = !records.is_empty() && records.iter().all(|one| matches!(one, Committed::Duplicate(_)));
    let first = records.into_iter().next().map(|one| match one {
        Committed::New(record) | Committed::Duplicate(record) => record,
    });
    Reply::Accepted {
        status: config.success,
        outcome: first.as_ref().map_or("ignored", |record| record.outcome.as_str()),
        body: first.and_then(|record| record.response),
        replayed,
    }
}

fn count_refused(ingest: &Ingest, source: &str, reason: &str) {
    let mut line = Line::new("ingest").by("source", source).by("reason", reason);
    line.count("Refused", 1);
    line.emit(ingest.clock.now());
}

/// The metrics of one request.
fn count(config: &SourceConfig, results: &[Result<Committed, CommitError>], started: Instant) -> Line {
    let mut line = Line::new("ingest").by("source", &config.name);
    let new = |outcome: &str| {
        let is = |one: &&Result<Committed, CommitError>| matches!(one, Ok(Committed::New(record)) if record.outcome.as_str() == outcome);
        results.iter().filter(is).count()
    };
    let duplicates = results
        .iter()
        .filter(|one| matches!(one, Ok(Committed::Duplicate(_))))
        .count();
    line.count("Received", results.len());
    line.count("Duplicates", duplicates);
    line.count("NotCommitted", results.iter().filter(|one| one.is_err()).count());
    for (name, outcome) in [
        ("Applied", "applied"),
        ("Skipped", "skipped"),
        ("Ignored", "ignored"),
        ("Observed", "observed"),
        ("Failed", "failed"),
        ("Held", "held"),
    ] {
        line.count(name, new(outcome));
    }
    line.put("CommitLatency", started.elapsed().as_secs_f64() * 1000.0);
    line
}

/// The span of an event's reception, where spans are wanted.
fn trace(event: &Event, result: &Result<Committed, CommitError>, now: Timestamp, started: Instant) {
    let of_event = || Trace::of(&event.namespace, &event.scope, &event.id);
    let first = matches!(result, Ok(Committed::New(_)));
    let Some(mut span) = Span::received(of_event, first, now) else {
        return;
    };
    span.set("oncehook.source", &event.source);
    span.set("oncehook.event.id", &event.id);
    span.set("oncehook.event.kind", &event.kind);
    let outcome = match result {
        Ok(Committed::New(record)) => record.outcome.as_str(),
        Ok(Committed::Duplicate(_)) => "duplicate",
        Err(_) => "not_committed",
    };
    span.set("oncehook.outcome", outcome);
    let end = now.saturating_add(started.elapsed()).unwrap_or(now);
    span.end("ingest", end, result.is_err());
}

fn log(event: &Event, result: &Result<Committed, CommitError>, woken: bool, started: Instant) {
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let Event {
        source,
        id,
        kind,
        scope,
        ..
    } = event;
    match result {
        Ok(committed) => {
            let (duplicate, record) = match committed {
                Committed::New(record) => (false, record),
                Committed::Duplicate(record) => (true, record),
            };
            let rules: Vec<String> = record
                .rules
                .iter()
                .map(|rule| match &rule.skipped {
                    None => format!("{}: applied", rule.rule),
                    Some(why) => format!("{}: skipped: {why}", rule.rule),
                })
                .collect();
            tracing::info!(
                %source, %id, %kind, %scope, duplicate, outcome = record.outcome.as_str(),
                reason = record.reason.as_deref(), rules = rules.join("; "),
                effects = record.wakeups.len(), woken, bytes = event.body.len(), ms, "event"
            );
        }
        Err(error) => tracing::error!(%source, %id, %kind, %scope, %error, ms, "event not committed"),
    }
}
