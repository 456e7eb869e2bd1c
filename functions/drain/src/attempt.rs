//! One claimed item: admit, call, settle, and one line in the log. The only place that joins the two decisions of the
//! core with the call between them; it takes no claim and reads no message.

use std::time::Duration;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    outbox::OutboxItem,
    plan::EffectBody,
    settle::{Admission, Attempt, Settled, Settlement, abandon, admit, settle},
};
use oncehook_edge::{
    metrics::Line,
    trace::{Kind, Span, Trace},
};
use oncehook_store::{Lease, Settling, StoreError, Wakeup};
use tokio::time::Instant;

use crate::{
    Drain,
    deliver::{EventBody, Unsendable},
    destination::Destination,
    handler::{End, RESERVE},
};

/// How often a settlement is tried: losing one makes a delivered effect look as if it may have happened.
const SETTLE_TRIES: u32 = 3;

impl Drain {
    pub(crate) async fn attempt(
        &self,
        wakeup: &Wakeup,
        destination: &Destination,
        lease: &Lease,
        item: &OutboxItem,
        deadline: Instant,
    ) -> Result<End, StoreError> {
        let started = Instant::now();
        let policy = destination.policy();
        let span = span(lease, item, self.clock.now());
        let (settled, outcome) = match admit(item, &policy, lease.first_send, self.clock.now()) {
            Admission::Settle(settled) => (settled, ("not_sent", None)),
            Admission::Send => match self.call(destination, lease, item, span.as_ref(), deadline).await {
                Ok(attempt) => {
                    let jitter = fastrand::f64();
                    let settled = settle(
                        item,
                        &policy,
                        &attempt,
                        lease.first_send,
                        self.clock.now(),
                        jitter,
                    );
                    let settled = match destination.missing_secret() {
                        Some(name) => Settled {
                            error: Some(format!("the secret `{name}` is missing")),
                            ..settled
                        },
                        None => settled,
                    };
                    (settled, outcome(&attempt))
                }
                Err(Unsendable(reason)) => (abandon(item, lease.first_send, &reason), ("unsendable", None)),
            },
        };
        if settled.pause.is_some() {
            destination.permits.note(settled.pause, self.clock.now());
        }
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let now = self.clock.now();
        let written = self.record(lease, item, &settled, now).await;
        tracing::info!(
            item = %wakeup.key, source = %item.source, rule = %item.rule, effect = %item.effect,
            destination = %item.destination, attempt = item.attempts, generation = item.generation,
            outcome = outcome.0, status = outcome.1, ms, settlement = name(&settled.settlement),
            settled = match &written { Ok(Settling::Written) => "written", Ok(Settling::LeaseLost) => "lease_lost", Err(_) => "failed" },
            reason = reason(&settled.settlement),
            "attempt"
        );
        if let Some(mut span) = span {
            span.set("oncehook.outcome", outcome.0);
            span.set("oncehook.settlement", name(&settled.settlement));
            if let Some(status) = outcome.1 {
                span.number("http.response.status_code", status.into());
            }
            span.end("drain", now, settled.settlement != Settlement::Done);
        }
        self.pause_or_resume(wakeup, destination, &settled).await;
        written?;
        if let Settlement::RetryAt(at) = settled.settlement {
            self.wake_at(wakeup, at).await;
        }
        Ok(End::Settled)
    }

    /// Tells the other instances of a pause, or that a probe has ended one.
    async fn pause_or_resume(&self, wakeup: &Wakeup, destination: &Destination, settled: &Settled) {
        let (name, now) = (&wakeup.destination, self.clock.now());
        let written = if let Some(pause) = settled.pause {
            self.ledger.pause(name, pause).await
        } else if wakeup.probe && settled.settlement == Settlement::Done {
            match destination.permits.paused(name, &self.ledger, now).await {
                Ok(Some(pause)) => {
                    destination.permits.note(None, now);
                    tracing::info!(destination = %name, "a probe was delivered: the pause is over");
                    self.ledger.resume(name, pause).await
                }
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            }
        } else {
            Ok(())
        };
        if let Err(error) = written {
            tracing::warn!(destination = %name, %error, "what this instance knows of the destination's pause, others do not");
        }
    }

    async fn call(
        &self,
        destination: &Destination,
        lease: &Lease,
        item: &OutboxItem,
        span: Option<&Span>,
        deadline: Instant,
    ) -> Result<Attempt, Unsendable> {
        if destination.missing_secret().is_some() {
            return Ok(Attempt::Unauthorized { status: 401 });
        }
        let event = if item.request.body == EffectBody::Event {
            match self.ledger.body(&lease.key).await {
                Ok(found) => found.map(|(bytes, content_type)| EventBody {
                    bytes: Bytes::from(bytes),
                    content_type,
                }),
                Err(error) => {
                    return Ok(Attempt::Unreached {
                        detail: error.to_string(),
                    });
                }
            }
        } else {
            None
        };
        let now = self.clock.now();
        let of_lease = lease
            .until
            .duration_since(now)
            .max(SignedDuration::ZERO)
            .unsigned_abs();
        let of_invocation = deadline.saturating_duration_since(Instant::now());
        let time = destination
            .config
            .timeout
            .unsigned_abs()
            .min(of_lease.min(of_invocation).saturating_sub(RESERVE));
        // A call cut short is one that may have happened: it is put off instead.
        if time < destination.config.timeout.unsigned_abs() {
            return Ok(Attempt::Unreached {
                detail: "too little time was left in this invocation".to_owned(),
            });
        }
        match span.filter(|_| !destination.config.kind.is_aws()) {
            None => destination.deliver(item, event, time, now).await,
            Some(span) => {
                let mut traced = item.clone();
                let header = ("traceparent".to_owned(), span.traceparent());
                traced.request.headers.push(header);
                destination.deliver(&traced, event, time, now).await
            }
        }
    }

    /// Writes a settlement, again if the database is busy: a repetition after a lost answer finds the lease gone.
    pub(crate) async fn record(
        &self,
        lease: &Lease,
        item: &OutboxItem,
        settled: &Settled,
        now: Timestamp,
    ) -> Result<Settling, StoreError> {
        let mut tries = 1;
        loop {
            match self.ledger.settle(lease, item, settled, now).await {
                Ok(Settling::Written) => {
                    count(item, settled, now).emit(now);
                    return Ok(Settling::Written);
                }
                Err(StoreError::Busy { .. }) if tries < SETTLE_TRIES => {
                    tokio::time::sleep(Duration::from_millis(100 * u64::from(tries))).await;
                    tries += 1;
                }
                result => return result,
            }
        }
    }
}

/// The span of an attempt, where spans are wanted: its trace is that of the event.
fn span(lease: &Lease, item: &OutboxItem, now: Timestamp) -> Option<Span> {
    let of_event = || {
        let (namespace, scope, id) = lease.key.event()?;
        Some(Trace::of(&namespace, &scope, &id))
    };
    let mut span = Span::below(of_event, Kind::Client, "deliver", now)?;
    if let Some((_, _, id)) = lease.key.event() {
        span.set("oncehook.event.id", &id);
    }
    span.set("oncehook.source", &item.source);
    span.set("oncehook.rule", &item.rule);
    span.set("oncehook.effect", &item.effect);
    span.set("oncehook.destination", &item.destination);
    span.number("oncehook.attempt", item.attempts.into());
    Some(span)
}

/// The metrics of one claimed item whose end was written: of a lost lease, the other claim counts it.
fn count(item: &OutboxItem, settled: &Settled, now: Timestamp) -> Line {
    let mut line = Line::new("drain").by("destination", &item.destination);
    let age = now.duration_since(item.created_at).as_secs_f64();
    line.count("Attempts", 1);
    match &settled.settlement {
        Settlement::Done => {
            line.count("Delivered", 1);
            line.put("ReceivedToDelivered", age * 1000.0);
        }
        Settlement::RetryAt(_) => {
            line.count("Retried", 1);
            line.put("OpenFor", age);
        }
        Settlement::Dead(_) => line.count("Dead", 1),
        Settlement::Parked(_) => line.count("Parked", 1),
    }
    line
}

fn outcome(attempt: &Attempt) -> (&'static str, Option<u16>) {
    match attempt {
        Attempt::Delivered { status } => ("delivered", Some(*status)),
        Attempt::Recognised { status } | Attempt::Duplicate { status, .. } => ("replayed", Some(*status)),
        Attempt::Stuck { status, .. } => ("stuck", Some(*status)),
        Attempt::Refused { status, .. } => ("refused", Some(*status)),
        Attempt::Later { status, .. } => ("later", Some(*status)),
        Attempt::Unauthorized { status } => ("unauthorized", Some(*status)),
        Attempt::Unusable { .. } => ("unusable", None),
        Attempt::Throttled { .. } => ("throttled", Some(429)),
        Attempt::Unreached { .. } => ("unreached", None),
        Attempt::Ambiguous { status, .. } => ("ambiguous", *status),
    }
}

/// Why a person must look. In our own words: what the destination answered stays in the item.
fn reason(settlement: &Settlement) -> Option<&str> {
    match settlement {
        Settlement::Dead(why) | Settlement::Parked(why) => Some(why),
        Settlement::Done | Settlement::RetryAt(_) => None,
    }
}

fn name(settlement: &Settlement) -> &'static str {
    match settlement {
        Settlement::Done => "done",
        Settlement::RetryAt(_) => "retry",
        Settlement::Dead(_) => "dead",
        Settlement::Parked(_) => "parked",
    }
}
