//! `oncehook events`: stored events as a list, or one with all that belongs to it. What changes them is in `act`.

mod act;
pub(crate) mod desk;
pub(crate) mod one;
pub(crate) mod select;

use std::path::Path;

use oncehook_store::EventView;
use serde_json::{Value, json};

pub(crate) use self::desk::effect;
use crate::{answer::Answer, configuration, output, storage::Storage};

/// Arguments of `events`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  oncehook events
  oncehook events --failed                 what a rule could not be carried out for
  oncehook events evt_1                    one event: rules, body, outbox, attempts, errors
  oncehook events evt_1 --json             the same for scripts: an array, as an id may occur in several sources
  oncehook events replay --failed          what the rules of now would make of them; --yes does it
  oncehook events replay --ignored --kind 'invoice.*'    after a rule was added
  oncehook events replay evt_1 --release   a held event, whatever holds it
  oncehook events --table oncehook-prod    on AWS: failed and held ones; --scan reads the whole table for the others"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    /// The provider's event id, or its key: shows this event alone, with all that belongs to it.
    #[arg(value_name = "ID|KEY")]
    id: Option<String>,
    #[command(flatten)]
    filter: select::Filter,
    /// The most events to list.
    #[arg(long, value_name = "N", default_value_t = 500)]
    limit: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    storage: Storage,
}

/// What can be done about events.
#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Apply failed events with the rules of now; ignored ones after a rule was added; held ones with --release.
    Replay(act::Again),
    /// Take failed or held events off their lists, with a reason. They are not applied, and expire.
    Discard(act::Args),
}

/// Lists events, shows one, or acts on them.
pub(crate) async fn run(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    match &args.act {
        Some(Act::Replay(args)) => return act::replay(config, args).await,
        Some(Act::Discard(args)) => return act::discard(config, args).await,
        None => {}
    }
    let place = args.storage.place().await?;
    let ledger = place.ledger(None);
    let config = configuration::load(config).ok();
    let Some(id) = &args.id else {
        let outcomes = args.filter.outcomes();
        let mut events = select::by_filter(&place, &ledger, config.as_ref(), &args.filter, &outcomes).await?;
        let more = events.len().saturating_sub(args.limit);
        events.truncate(args.limit);
        list(&events, args.json);
        if more > 0 {
            output::note(format!("and {more} more: narrow it down, or raise --limit"));
        }
        if outcomes.is_empty() && !place.local && !args.filter.scan {
            output::note("all other events stand in no list: --scan reads the whole table for them");
        }
        return Ok(Answer::Yes);
    };
    let mut details = Vec::new();
    for pk in select::keys_of(&place, &ledger, config.as_ref(), &args.filter, id).await? {
        details.extend(ledger.event(&pk).await?);
    }
    if args.json {
        output::json(
            &details
                .iter()
                .map(|(event, outbox)| one::to_json(event, outbox, true))
                .collect(),
        );
    } else if details.is_empty() {
        output::note(select::not_found(&place, &args.filter, id));
    } else {
        for (event, outbox) in &details {
            one::show(event, outbox, true);
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
pub(crate) fn why(event: &EventView) -> String {
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
        "expires_at": event.expires_at.map(|at| at.to_string()),
        "acts": crate::outbox::acts_json(&event.acts),
        "key": event.pk,
    })
}
