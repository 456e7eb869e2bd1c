//! `oncehook outbox retry`, `resend`, `park` and `discard`: which items, in what order, with what configuration.

use std::path::Path;

use anyhow::Context as _;
use oncehook_core::{outbox::OutboxState, rules::Rules};
use oncehook_store::{OutboxKey, StoredItem};
use serde_json::json;

use super::{
    desk::{Desk, Verb},
    select::{self, Filter},
};
use crate::{
    answer::{Answer, misuse},
    operate::{How, Step, configuration},
    output,
    storage::Storage,
};

/// Which items, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The keys of items, as `oncehook show EVENT_ID` prints them [default: those that the filters take].
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    #[command(flatten)]
    filter: Filter,
    /// All items that the act is for, without a filter: parked and dead ones; for `park`, open and dead ones.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    storage: Storage,
}

/// Which items to send under a new key, and what.
#[derive(Debug, clap::Args)]
pub(crate) struct Resend {
    /// Send what the rule makes of the event now, not the request that was stored.
    #[arg(long)]
    render: bool,
    #[command(flatten)]
    args: Args,
}

/// Sends items again under the keys they have.
pub(crate) async fn retry(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    run(config, args, Verb::Retry).await
}

/// Sends items under new keys.
pub(crate) async fn resend(config: &Path, args: &Resend) -> anyhow::Result<Answer> {
    run(config, &args.args, Verb::Resend { render: args.render }).await
}

/// Parks items.
pub(crate) async fn park(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    needs_reason(args)?;
    run(config, args, Verb::Park).await
}

/// Drops items.
pub(crate) async fn discard(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    needs_reason(args)?;
    run(config, args, Verb::Discard).await
}

fn needs_reason(args: &Args) -> anyhow::Result<()> {
    match args.how.reason {
        Some(_) => Ok(()),
        None => Err(misuse("say why with --reason: it is recorded on the item")),
    }
}

async fn run(file: &Path, args: &Args, verb: Verb) -> anyhow::Result<Answer> {
    if args.keys.is_empty() && !args.filter.is_narrow() && !args.all {
        return Err(misuse(
            "which items? Give keys, a filter such as --destination NAME, or --all",
        ));
    }
    let place = args.storage.place().await?;
    let config = match (verb, configuration(file, &place, false)) {
        (_, Ok(config)) => Some(config),
        // Dropping or parking an item needs no configuration.
        (Verb::Park | Verb::Discard, Err(_)) => None,
        (_, Err(error)) => return Err(error),
    };
    let rules = match (&config, verb) {
        (Some(config), Verb::Resend { render: true }) => {
            Some(Rules::new(config).map_err(|error| misuse(error.to_string()))?)
        }
        _ => None,
    };
    let desk = Desk {
        ledger: place.ledger(config.as_ref()),
        queue: place.queue().await,
        client: oncehook_drain::client().context("the system's certificates")?,
        place,
        config,
        rules,
    };
    let items = if args.keys.is_empty() {
        let usual = match verb {
            Verb::Park => [OutboxState::Open, OutboxState::Dead],
            _ => [OutboxState::Parked, OutboxState::Dead],
        };
        let states = select::states(&args.filter.state, &usual);
        select::by_filter(
            &desk.place,
            &desk.ledger,
            desk.config.as_ref(),
            &args.filter,
            &states,
        )
        .await?
    } else {
        select::by_keys(&desk.ledger, &args.keys).await?
    };
    let mut steps = Vec::with_capacity(items.len());
    for item in items {
        let would = desk.would(verb, &item).await?;
        steps.push(step(verb, &item, would));
    }
    let head = ["event", "rule", "effect", "destination", "state"];
    let answer = args
        .how
        .carry_out(verb.word(), &head, steps, async |key| {
            desk.act(verb, &args.how, &key).await
        })
        .await?;
    if desk.queue.is_none() && !desk.place.local && args.how.yes && verb.wakes() {
        output::note("the next sweep wakes them; with ONCEHOOK_QUEUE_URL set they are woken at once");
    }
    Ok(answer)
}

fn step(verb: Verb, item: &StoredItem, would: Result<String, String>) -> Step<OutboxKey> {
    let view = item.view.as_ref();
    let text = |text: Option<&String>| output::or_dash(text.map(String::as_str));
    Step {
        on: item.key.clone(),
        what: vec![
            text(view.map(|view| &view.event_id)),
            text(view.map(|view| &view.item.rule)),
            text(view.map(|view| &view.item.effect)),
            item.destination.clone(),
            item.state.map_or("unknown", OutboxState::as_str).to_owned(),
        ],
        names: json!({
            "act": verb.word(),
            "key": item.key.to_string(),
            "event": view.map(|view| &view.event_id),
            "rule": view.map(|view| &view.item.rule),
            "effect": view.map(|view| &view.item.effect),
            "destination": item.destination,
            "state": item.state.map(OutboxState::as_str),
        }),
        would,
    }
}
