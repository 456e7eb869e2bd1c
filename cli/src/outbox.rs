//! `oncehook outbox`: effects and where they stand. Changes nothing.

use oncehook_core::plan::EffectBody;
use oncehook_store::{EventFilter, OutboxView};
use serde_json::{Value, json};

use crate::{answer::Answer, output, storage::Storage};

/// Arguments of `outbox`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook outbox
  oncehook outbox --state parked           may have happened: a person decides
  oncehook outbox --destination mail --json")]
pub(crate) struct Args {
    /// Only items in this state.
    #[arg(long, value_parser = ["open", "done", "dead", "parked", "discarded"])]
    state: Option<String>,
    /// Only items for this destination.
    #[arg(long, value_name = "NAME")]
    destination: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    storage: Storage,
}

/// Lists outbox items, oldest first.
pub(crate) async fn run(args: &Args) -> anyhow::Result<Answer> {
    let ledger = args.storage.open().await?;
    let (_, mut items) = ledger.scan(&EventFilter::default()).await?;
    items.retain(|view| {
        args.state.as_ref().is_none_or(|state| *state == view.state)
            && args
                .destination
                .as_ref()
                .is_none_or(|destination| *destination == view.item.destination)
    });
    if args.json {
        output::json(&items.iter().map(to_json).collect());
    } else if items.is_empty() {
        output::note("no outbox items");
    } else {
        let head = [
            "created",
            "event",
            "rule",
            "effect",
            "destination",
            "state",
            "attempts",
            "due",
            "last error",
        ];
        output::table(&head, items.iter().map(row).collect());
    }
    Ok(Answer::Yes)
}

fn row(view: &OutboxView) -> Vec<String> {
    let due = view.at.filter(|_| view.state == "open");
    vec![
        output::time(view.item.created_at),
        view.event_id.clone(),
        view.item.rule.clone(),
        view.item.effect.clone(),
        view.item.destination.clone(),
        view.state.clone(),
        view.item.attempts.to_string(),
        output::time_or_dash(due),
        output::or_dash(view.reason.as_deref().or(view.last_error.as_deref())),
    ]
}

/// An item for scripts.
pub(crate) fn to_json(view: &OutboxView) -> Value {
    let item = &view.item;
    json!({
        "event": view.event_id,
        "source": item.source,
        "rule": item.rule,
        "effect": item.effect,
        "destination": item.destination,
        "state": view.state,
        "reason": view.reason,
        "attempts": item.attempts,
        "idempotency_key": item.idempotency_key,
        "generation": item.generation,
        "created_at": item.created_at.to_string(),
        "give_up_at": item.give_up_at.to_string(),
        "maybe_sent_at": item.maybe_sent_at.map(|at| at.to_string()),
        "due_at": view.at.filter(|_| view.state == "open").map(|at| at.to_string()),
        "last_status": item.last_status,
        "last_error": view.last_error,
        "request": {
            "method": item.request.method,
            "url": item.request.url,
            "body": body_json(&item.request.body),
        },
        "key": view.key.to_string(),
    })
}

/// An item for people, below its event.
pub(crate) fn show(view: &OutboxView) {
    let item = &view.item;
    output::line(format!(
        "  {}/{} -> {}: {}",
        item.rule, item.effect, item.destination, view.state
    ));
    output::fields(&[
        (
            "  request",
            Some(format!("{} {}", item.request.method, item.request.url)),
        ),
        ("  body", Some(body_text(&item.request.body))),
        (
            "  idempotency key",
            Some(format!(
                "{} (generation {})",
                item.idempotency_key, item.generation
            )),
        ),
        ("  attempts", Some(item.attempts.to_string())),
        ("  may have acted since", item.maybe_sent_at.map(output::time)),
        (
            "  due",
            view.at.filter(|_| view.state == "open").map(output::time),
        ),
        (
            "  given up after",
            Some(item.give_up_at)
                .filter(|_| view.state == "open")
                .map(output::time),
        ),
        ("  why", view.reason.clone()),
        ("  last error", view.last_error.clone()),
    ]);
}

/// A rendered body for people.
pub(crate) fn body_text(body: &EffectBody) -> String {
    match body {
        EffectBody::Text(text) => text.clone(),
        EffectBody::Event => "(the event's own bytes)".to_owned(),
    }
}

/// A rendered body for scripts.
pub(crate) fn body_json(body: &EffectBody) -> Value {
    match body {
        EffectBody::Text(text) => output::body_json(text.as_bytes()),
        EffectBody::Event => json!({ "event": true }),
    }
}
