//! `oncehook show`: one event or outbox item with all that belongs to it. Changes nothing.

use std::path::Path;

use oncehook_store::OutboxKey;
use serde_json::Value;

use crate::{answer::Answer, configuration, events, output, storage::Storage};

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook show evt_1                                              an event by its provider's id
  oncehook show 'event#stripe#:live#evt_1'                         by its key, wherever it is
  oncehook show 'event#stripe#:live#evt_1/outbox#credit#receipt'   one item of its outbox
  oncehook show evt_1 --body                                       bodies may hold personal data: asked for only

On AWS an id is looked up under the namespace of each source and --scope, then in the lists.")]
pub(crate) struct Args {
    /// The provider's id of an event, its key, or the key of an outbox item.
    #[arg(value_name = "ID|KEY")]
    name: String,
    /// Print bodies, too.
    #[arg(long)]
    body: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: events::select::Filter,
    #[command(flatten)]
    storage: Storage,
}

/// Shows.
pub(crate) async fn run(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    let place = args.storage.place().await?;
    let ledger = place.ledger(None);
    let config = configuration::load(config).ok();
    let keys = events::select::keys_of(&place, &ledger, config.as_ref(), &args.filter, &args.name).await?;
    let item = OutboxKey::parse(&args.name);
    let mut values: Vec<Value> = Vec::new();
    let mut found = false;
    for pk in keys {
        let Some((event, mut outbox)) = ledger.event(&pk).await? else {
            continue;
        };
        if let Some(item) = &item {
            outbox.retain(|view| view.key == *item);
            if outbox.is_empty() {
                continue;
            }
        }
        found = true;
        if args.json {
            values.push(events::one::to_json(&event, &outbox, args.body));
        } else {
            events::one::show(&event, &outbox, args.body);
        }
    }
    if args.json {
        output::json(&values.into());
    }
    if !found {
        output::note(events::select::not_found(&place, &args.filter, &args.name));
    }
    Ok(Answer::from_bool(found))
}
