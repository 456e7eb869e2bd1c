//! `oncehook outbox`: effects and where they stand. What changes them is in `act`.

mod act;
pub(crate) mod desk;
pub(crate) mod select;

use std::path::Path;

use oncehook_core::{outbox::OutboxState, plan::EffectBody};
use oncehook_store::{OutboxView, StoredItem};
use serde_json::{Value, json};

use crate::{answer::Answer, configuration, output, storage::Storage};
use select::Filter;

/// Arguments of `outbox`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  oncehook outbox
  oncehook outbox --state parked --destination mail    may have happened: a person decides
  oncehook outbox retry --destination mail             what would be sent again under the same keys
  oncehook outbox retry --destination mail --yes --reason 'mail API is back'
  oncehook outbox resend --event evt_1                 under a new key; says what may happen twice
  oncehook outbox park --all --reason 'restored'       nothing is sent until somebody has looked
  oncehook outbox discard KEY --reason 'sent by hand'

Open, parked and dead items are read from their lists. Delivered and discarded ones stand in none: on AWS they need
--scan, which reads the whole table."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    filter: Filter,
    /// The most items to show.
    #[arg(long, value_name = "N", default_value_t = 500)]
    limit: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    storage: Storage,
}

/// What can be done about items.
#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Send items again under the keys they have; refused once the destination may have forgotten the key.
    Retry(act::Args),
    /// Send items under a new key: what may have happened may happen twice.
    Resend(act::Resend),
    /// Take items to have happened, perhaps, with a reason: nothing sends them until a person decides.
    Park(act::Args),
    /// Drop items, with a reason. They are not sent, and expire with their events.
    Discard(act::Args),
}

/// Lists outbox items, oldest first, or acts on them.
pub(crate) async fn run(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    match &args.act {
        None => list(config, args).await,
        Some(Act::Retry(args)) => act::retry(config, args).await,
        Some(Act::Resend(args)) => act::resend(config, args).await,
        Some(Act::Park(args)) => act::park(config, args).await,
        Some(Act::Discard(args)) => act::discard(config, args).await,
    }
}

async fn list(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    const LISTED: [OutboxState; 3] = [OutboxState::Open, OutboxState::Parked, OutboxState::Dead];
    const ALL: [OutboxState; 5] = [
        OutboxState::Open,
        OutboxState::Parked,
        OutboxState::Dead,
        OutboxState::Done,
        OutboxState::Discarded,
    ];
    let place = args.storage.place().await?;
    let config = configuration::load(config).ok();
    let whole = args.filter.scan || place.local;
    let states = select::states(&args.filter.state, if whole { &ALL } else { &LISTED });
    let ledger = place.ledger(None);
    let items = select::by_filter(&place, &ledger, config.as_ref(), &args.filter, &states).await?;
    let more = items.len().saturating_sub(args.limit);
    let (readable, broken): (Vec<_>, Vec<_>) = items
        .iter()
        .take(args.limit)
        .partition(|item| item.view.is_some());
    let views: Vec<&OutboxView> = readable.iter().filter_map(|item| item.view.as_ref()).collect();
    if args.json {
        output::json(
            &views
                .into_iter()
                .map(to_json)
                .chain(broken.iter().map(|item| unreadable(item)))
                .collect(),
        );
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
        output::table(&head, views.into_iter().map(row).collect());
        for item in broken {
            output::line(format!(
                "{}  cannot be read: it can only be parked or discarded",
                item.key
            ));
        }
    }
    if more > 0 {
        output::note(format!("and {more} more: narrow it down, or raise --limit"));
    }
    if !whole && args.filter.state.is_empty() {
        output::note("delivered and discarded items stand in no list: --scan reads the whole table for them");
    }
    Ok(Answer::Yes)
}

/// What is known of an item that cannot be read.
fn unreadable(item: &StoredItem) -> Value {
    json!({
        "key": item.key.to_string(),
        "destination": item.destination,
        "state": item.state.map(OutboxState::as_str),
        "reason": item.reason,
        "unreadable": true,
    })
}

/// Acts for scripts.
pub(crate) fn acts_json(acts: &[oncehook_store::Act]) -> Value {
    acts.iter()
        .map(|act| {
            json!({
                "act": act.act,
                "by": act.by,
                "at": act.at.map(|at| at.to_string()),
                "why": act.why,
                "before": act.before,
                "detail": act.detail,
            })
        })
        .collect()
}

/// An act for people.
pub(crate) fn act_line(act: &oncehook_store::Act) -> String {
    let why = act.why.as_ref().map(|why| format!(": {why}"));
    let detail = act.detail.as_ref().map(|detail| format!(" ({detail})"));
    format!(
        "{} {} by {}, was {}{}{}",
        output::time_or_dash(act.at),
        act.act,
        act.by,
        act.before,
        why.unwrap_or_default(),
        detail.unwrap_or_default()
    )
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
        "type": view.kind,
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
        "lease_until": view.lease_until.map(|at| at.to_string()),
        "finished_at": view.done_at.map(|at| at.to_string()),
        "acts": acts_json(&view.acts),
        "request": {
            "method": item.request.method,
            "url": item.request.url,
            "body": body_json(&item.request.body),
        },
        "key": view.key.to_string(),
    })
}

/// An item for people, below its event.
pub(crate) fn show(view: &OutboxView, with_body: bool) {
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
        ("  key", Some(view.key.to_string())),
        ("  body", with_body.then(|| body_text(&item.request.body))),
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
        ("  held by an attempt until", view.lease_until.map(output::time)),
        ("  finished", view.done_at.map(output::time)),
    ]);
    for act in &view.acts {
        output::line(format!("    {}", act_line(act)));
    }
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
