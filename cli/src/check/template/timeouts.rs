//! Whether the time-outs of the template leave room for those of the configuration.

use jiff::SignedDuration;
use oncehook_core::timing::{DRAIN_BEYOND_CALL, GATEWAY_LIMIT, INGEST_BEYOND_BUDGET, VISIBILITY_FACTOR};
use oncehook_local::template::{Part, Place, Resource};

use super::{Context, at};
use crate::check::finding::Findings;

/// Lambda's time-out where nothing is said.
const LAMBDA: u64 = 3;
/// The visibility time-out of SQS where nothing is said.
const SQS: u64 = 30;

/// A number of seconds, where it stands and how to change it.
struct Seconds {
    values: Vec<u64>,
    place: Place,
    from: String,
}

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    drain(context, findings);
    ingest(context, findings);
}

fn drain(context: &Context<'_>, findings: &mut Findings) {
    let Some(longest) = context
        .config
        .destinations
        .values()
        .max_by_key(|destination| destination.timeout)
    else {
        return;
    };
    let Some(drain) = context.resource("Drain", "the function that makes the calls", findings) else {
        return;
    };
    let Some(timeout) = seconds(&drain, "Timeout", LAMBDA, findings) else {
        return;
    };
    let least = whole(longest.timeout + DRAIN_BEYOND_CALL);
    for value in timeout.values.iter().filter(|value| **value < least) {
        let configured = context.places.of(&["destination", &longest.name, "timeout"]);
        findings.error(
            timeout.place.clone(),
            format!(
                "Drain's time-out is {value} s{}, but [destination.{}] in {} may take {} s and needs {} s around it: make it at \
                 least {least} s",
                timeout.from,
                longest.name,
                at(&configured),
                whole(longest.timeout),
                whole(DRAIN_BEYOND_CALL),
            ),
        );
    }
    let Some(queue) = context.resource("Queue", "the queue of wake-ups", findings) else {
        return;
    };
    let Some(visibility) = seconds(&queue, "VisibilityTimeout", SQS, findings) else {
        return;
    };
    let window = window(&drain);
    let least =
        timeout.values.iter().max().copied().unwrap_or_default() * u64::from(VISIBILITY_FACTOR) + window;
    for value in visibility.values.iter().filter(|value| **value < least) {
        findings.error(
            visibility.place.clone(),
            format!(
                "the queue's VisibilityTimeout is {value} s{}, but must be {VISIBILITY_FACTOR} times Drain's time-out ({}){}: make \
                 it at least {least} s",
                visibility.from,
                at(&timeout.place),
                if window > 0 { format!(" and its batching window of {window} s") } else { String::new() },
            ),
        );
    }
}

/// The longest batching window of a function's queues.
fn window(drain: &Resource<'_>) -> u64 {
    let events = drain.property("Events").map(Part::entries).unwrap_or_default();
    let windows = events.into_iter().filter_map(|(_, event)| {
        event
            .get("Properties")?
            .get("MaximumBatchingWindowInSeconds")?
            .numbers()
            .ok()?
            .into_iter()
            .max()
    });
    windows.max().unwrap_or_default()
}

fn ingest(context: &Context<'_>, findings: &mut Findings) {
    let Some(slowest) = context.config.sources.values().max_by_key(|source| source.budget) else {
        return;
    };
    let Some(ingest) = context.resource("Ingest", "the function that takes webhooks", findings) else {
        return;
    };
    let Some(timeout) = seconds(&ingest, "Timeout", LAMBDA, findings) else {
        return;
    };
    let (least, most) = (
        rounded_up(slowest.budget + INGEST_BEYOND_BUDGET),
        whole(GATEWAY_LIMIT),
    );
    for value in &timeout.values {
        if *value > most {
            findings.error(
                timeout.place.clone(),
                format!(
                    "Ingest's time-out is {value} s{}, but API Gateway gives up after {most} s and the provider never sees the \
                     answer: make it at most {most} s",
                    timeout.from
                ),
            );
        }
        if *value < least {
            findings.error(
                timeout.place.clone(),
                format!(
                    "Ingest's time-out is {value} s{}, but `budget` of [source.{}] in {} and {} s around it do not fit: make it at \
                     least {least} s",
                    timeout.from,
                    slowest.name,
                    at(&context.places.of(&["source", &slowest.name, "budget"])),
                    whole(INGEST_BEYOND_BUDGET),
                ),
            );
        }
    }
}

/// A property in seconds; `None`, with a note, if only a deployment knows it.
fn seconds(resource: &Resource<'_>, name: &str, default: u64, findings: &mut Findings) -> Option<Seconds> {
    let Some(part) = resource.property(name) else {
        return Some(Seconds {
            values: vec![default],
            place: resource.part.place(),
            from: format!(", the default: {name} is not set"),
        });
    };
    match part.numbers() {
        Ok(values) => Some(Seconds {
            values,
            place: part.place(),
            from: from(part),
        }),
        Err(text) => {
            let message = format!(
                "{name} of {} is `{text}`, known only when it is deployed: not checked",
                resource.id
            );
            findings.note(Some(part.place()), message);
            None
        }
    }
}

/// Which parameter to change.
pub(super) fn from(part: Part<'_>) -> String {
    match part.parameters().as_slice() {
        [] => String::new(),
        names => format!(" (by the parameter {})", names.join(" and ")),
    }
}

fn whole(duration: SignedDuration) -> u64 {
    duration.unsigned_abs().as_secs()
}

fn rounded_up(duration: SignedDuration) -> u64 {
    let duration = duration.unsigned_abs();
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
