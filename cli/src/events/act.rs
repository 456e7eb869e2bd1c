//! `oncehook events replay` and `discard`: which events, in what order, with what configuration.

use std::path::Path;

use oncehook_core::rules::Rules;
use oncehook_store::{EventView, Outcome};
use serde_json::json;

use super::{
    desk::{self, Desk},
    select::{self, Filter},
};
use crate::{
    answer::{Answer, misuse},
    operate::{How, Step, configuration},
    output,
    storage::Storage,
};

/// Which events, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Ids or keys of events [default: those that the filters take].
    #[arg(value_name = "ID|KEY")]
    names: Vec<String>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    storage: Storage,
}

/// Which events, and whether held ones as well.
#[derive(Debug, clap::Args)]
pub(crate) struct Again {
    /// Apply held events, too: whatever `not_before` says, and although their body came before under another id.
    #[arg(long)]
    release: bool,
    #[command(flatten)]
    args: Args,
}

/// Replays.
pub(crate) async fn replay(file: &Path, args: &Again) -> anyhow::Result<Answer> {
    let place = args.args.storage.place().await?;
    let config = configuration(file, &place, true)?;
    let desk = Desk {
        ledger: place.ledger(Some(&config)),
        rules: Rules::new(&config).map_err(|error| misuse(error.to_string()))?,
        queue: place.queue().await,
        place,
        config,
        release: args.release,
    };
    let events = events(
        &desk,
        &args.args,
        if args.release {
            &[Outcome::Held]
        } else {
            &[Outcome::Failed]
        },
    )
    .await?;
    let steps = events
        .iter()
        .map(|event| step("replay", event, desk.plan(event).map(|planned| planned.told)))
        .collect();
    output::note(format!("planned with {}", file.display()));
    let how = &args.args.how;
    how.carry_out("replay", &HEAD, steps, async |pk| desk.act(how, &pk).await)
        .await
}

/// Takes events off their lists.
pub(crate) async fn discard(file: &Path, args: &Args) -> anyhow::Result<Answer> {
    if args.how.reason.is_none() {
        return Err(misuse("say why with --reason: it is recorded on the event"));
    }
    let place = args.storage.place().await?;
    let config = configuration(file, &place, false)?;
    let desk = Desk {
        ledger: place.ledger(Some(&config)),
        rules: Rules::new(&config).map_err(|error| misuse(error.to_string()))?,
        queue: None,
        place,
        config,
        release: false,
    };
    if args.names.is_empty() && args.filter.outcomes().is_empty() {
        return Err(misuse(
            "which events? Give ids, or --failed or --held, and filters",
        ));
    }
    let events = events(&desk, args, &[]).await?;
    let steps = events
        .iter()
        .map(|event| step("discard", event, desk::may_dismiss(event)))
        .collect();
    args.how
        .carry_out("discard", &HEAD, steps, async |pk| {
            desk.dismiss(&args.how, &pk).await
        })
        .await
}

const HEAD: [&str; 4] = ["event", "source", "type", "outcome"];

fn step(act: &str, event: &EventView, would: Result<String, String>) -> Step<String> {
    Step {
        on: event.pk.clone(),
        what: vec![
            event.id.clone(),
            event.source.clone(),
            output::or_dash(Some(&event.kind)),
            event.record.outcome.as_str().to_owned(),
        ],
        names: json!({
            "act": act,
            "key": event.pk,
            "event": event.id,
            "source": event.source,
            "type": event.kind,
            "outcome": event.record.outcome.as_str(),
        }),
        would,
    }
}

/// The events that are named, or that the filters take, in the order in which they came.
async fn events(desk: &Desk, args: &Args, default: &[Outcome]) -> anyhow::Result<Vec<EventView>> {
    let (place, ledger, config) = (&desk.place, &desk.ledger, Some(&desk.config));
    if args.names.is_empty() {
        let named = args.filter.outcomes();
        let outcomes = if named.is_empty() { default.to_vec() } else { named };
        let mut events = select::by_filter(place, ledger, config, &args.filter, &outcomes).await?;
        // In the order in which they came.
        events.reverse();
        return Ok(events);
    }
    let mut events = Vec::new();
    for name in &args.names {
        let keys = select::keys_of(place, ledger, config, &args.filter, name).await?;
        if keys.is_empty() {
            anyhow::bail!(select::not_found(place, &args.filter, name));
        }
        for pk in keys {
            events.extend(ledger.event_alone(&pk).await?);
        }
    }
    Ok(events)
}
