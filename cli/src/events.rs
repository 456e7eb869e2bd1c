//! `oncehook events`: stored events as a list, or one with all that belongs to it. Changes nothing.

mod one;

use oncehook_store::{EventFilter, EventView, Outcome};
use serde_json::{Value, json};

use crate::{answer::Answer, output, storage::Storage};

/// Arguments of `events`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook events
  oncehook events --failed                 what a rule could not be carried out for
  oncehook events evt_1                    one event: rules, body, outbox, attempts, errors
  oncehook events evt_1 --json             the same for scripts: an array, as an id may occur in several sources
  oncehook events --table oncehook-prod    on AWS; reads the whole table")]
pub(crate) struct Args {
    /// The provider's event id: shows this event alone, with all that belongs to it.
    id: Option<String>,
    /// Only events of this source.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only failed events.
    #[arg(long)]
    failed: bool,
    /// Only held events.
    #[arg(long)]
    held: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    storage: Storage,
}

/// Lists events, or shows one.
pub(crate) async fn run(args: &Args) -> anyhow::Result<Answer> {
    let ledger = args.storage.open().await?;
    let filter = EventFilter {
        source: args.source.clone(),
        id: args.id.clone(),
    };
    let (mut events, _) = ledger.scan(&filter).await?;
    if args.failed || args.held {
        events.retain(|event| match event.record.outcome {
            Outcome::Failed => args.failed,
            Outcome::Held => args.held,
            _ => false,
        });
    }
    let Some(id) = &args.id else {
        list(&events, args.json);
        return Ok(Answer::Yes);
    };
    let mut details = Vec::new();
    for event in &events {
        details.extend(ledger.event(&event.pk).await?);
    }
    if args.json {
        output::json(
            &details
                .iter()
                .map(|(event, outbox)| one::to_json(event, outbox))
                .collect(),
        );
    } else if details.is_empty() {
        output::note(format!("no event `{id}` is stored here"));
    } else {
        for (event, outbox) in &details {
            one::show(event, outbox);
        }
    }
    Ok(Answer::from_bool(!details.is_empty()))
}

fn list(events: &[EventView], as_json: bool) {
    if as_json {
        output::json(&events.iter().map(summary).collect());
        return;
    }
    if events.is_empty() {
        output::note("no events");
        return;
    }
    let row = |event: &EventView| {
        vec![
            output::time_or_dash(event.record.received_at),
            event.source.clone(),
            output::or_dash(Some(&event.kind)),
            event.id.clone(),
            event.record.outcome.as_str().to_owned(),
            output::or_dash(Some(&why(event))),
        ]
    };
    output::table(
        &["received", "source", "type", "id", "outcome", "why"],
        events.iter().map(row).collect(),
    );
}

/// The rules that applied, or why nothing did.
fn why(event: &EventView) -> String {
    if let Some(reason) = &event.record.reason {
        return reason.clone();
    }
    let rule = |result: &oncehook_store::RuleResult| match &result.skipped {
        Some(why) => format!("{} skipped: {why}", result.rule),
        None => result.rule.clone(),
    };
    event.record.rules.iter().map(rule).collect::<Vec<_>>().join(", ")
}

/// An event without its body.
fn summary(event: &EventView) -> Value {
    let rule =
        |result: &oncehook_store::RuleResult| json!({ "rule": result.rule, "skipped": result.skipped });
    json!({
        "source": event.source,
        "id": event.id,
        "type": event.kind,
        "occurred_at": event.occurred_at,
        "received_at": event.record.received_at.map(|at| at.to_string()),
        "outcome": event.record.outcome.as_str(),
        "reason": event.record.reason,
        "rules": event.record.rules.iter().map(rule).collect::<Vec<_>>(),
        "key": event.pk,
    })
}
