//! `oncehook outbox retry`, `resend` and `discard`. What is allowed is the core's to say, and the store writes it under
//! the condition that nothing has changed since.

use std::path::Path;

use anyhow::Context as _;
use oncehook_core::{
    clock::Clock as _,
    config::Config,
    operate::{self, Refusal, Standing, give_up_at, may_discard, may_resend, may_retry},
    outbox::{KeyShape, OutboxState},
    plan::{Effect, EffectBody},
    rules::Rules,
    settle::Policy,
};
use oncehook_edge::SystemClock;
use oncehook_store::{Acting, Fresh, Ledger, OutboxKey, Queue, StoredItem};
use serde_json::json;

use super::select::{self, Filter};
use crate::{
    answer::{Answer, misuse},
    events,
    operate::{How, Step, configuration},
    output,
    storage::{Place, Storage},
};

/// Which items, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The keys of items, as `oncehook show EVENT_ID` prints them [default: those that the filters take].
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    #[command(flatten)]
    filter: Filter,
    /// All parked and dead items, without a filter.
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

/// An act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Retry,
    Resend { render: bool },
    Discard,
}

/// What acts are decided with.
struct Desk {
    place: Place,
    ledger: Ledger,
    config: Option<Config>,
    rules: Option<Rules>,
    queue: Option<Queue>,
    client: oncehook_drain::Client,
}

/// Sends items again under the keys they have.
pub(crate) async fn retry(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    run(config, args, Verb::Retry).await
}

/// Sends items under new keys.
pub(crate) async fn resend(config: &Path, args: &Resend) -> anyhow::Result<Answer> {
    run(config, &args.args, Verb::Resend { render: args.render }).await
}

/// Drops items.
pub(crate) async fn discard(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    if args.how.reason.is_none() {
        return Err(misuse("say why with --reason: it is recorded on the item"));
    }
    run(config, args, Verb::Discard).await
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
        // Dropping an item needs no configuration.
        (Verb::Discard, Err(_)) => None,
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
        let states = select::states(&args.filter.state, &[OutboxState::Parked, OutboxState::Dead]);
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
    if desk.queue.is_none() && !desk.place.local && args.how.yes && verb != Verb::Discard {
        output::note("the next sweep wakes them; with ONCEHOOK_QUEUE_URL set they are woken at once");
    }
    Ok(answer)
}

impl Verb {
    const fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Resend { .. } => "resend",
            Self::Discard => "discard",
        }
    }
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

impl Desk {
    /// What would be done with an item, in words, or why nothing.
    async fn would(&self, verb: Verb, item: &StoredItem) -> anyhow::Result<Result<String, String>> {
        let now = SystemClock.now();
        let Some(state) = item.state else {
            return Ok(Err("its state is none that this release knows".to_owned()));
        };
        if verb == Verb::Discard {
            let allowed = may_discard(state, item.lease_until, now).map(|()| "discard".to_owned());
            return Ok(allowed.map_err(|why| why.to_string()));
        }
        let Some(view) = &item.view else {
            return Ok(Err(
                "the stored item cannot be read: it can only be discarded".to_owned()
            ));
        };
        let standing = Standing {
            item: &view.item,
            state,
            lease_until: item.lease_until,
        };
        let policy = self.policy(&item.destination);
        if verb == Verb::Retry {
            let allowed = may_retry(&standing, policy.as_ref(), now);
            let told = || format!("send again under the same key, {}", view.item.idempotency_key);
            return Ok(allowed.map(|()| told()).map_err(|why| why.to_string()));
        }
        if let Err(why) = may_resend(&standing, policy.is_some(), now) {
            return Ok(Err(why.to_string()));
        }
        let render = verb == Verb::Resend { render: true };
        let fresh = match self.fresh(item, render).await {
            Ok(fresh) => fresh,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let request = match &fresh.request {
            None => "the stored request",
            Some(request) if *request == view.item.request => {
                "the request as rendered now, which is the stored one"
            }
            Some(_) => "the request as rendered now, which is another than the stored one",
        };
        Ok(Ok(format!(
            "send {request} under a new key. {}",
            operate::twice(&standing)
        )))
    }

    /// Reads an item again, decides again, and writes.
    async fn act(&self, verb: Verb, how: &How, key: &OutboxKey) -> Result<String, String> {
        let told = |error: anyhow::Error| format!("{error:#}");
        let ledger = &self.ledger;
        let item = ledger.item(key).await.map_err(|error| error.to_string())?;
        let item = item.ok_or("it is gone")?;
        let would = self.would(verb, &item).await.map_err(told)??;
        let (actor, now) = (how.actor(), SystemClock.now());
        let give_up = give_up_at(now, self.give_up_after(&item.destination));
        let written = match verb {
            Verb::Retry => ledger.retry(&item, give_up, &actor, now).await,
            Verb::Resend { render } => {
                let fresh = self.fresh(&item, render).await.map_err(|why| why.to_string())?;
                ledger.resend(&item, &fresh, &actor, now).await
            }
            Verb::Discard => ledger.discard(&item, &actor, now).await,
        };
        match written {
            Err(error) => return Err(error.to_string()),
            Ok(Acting::Changed) => return Err("it changed meanwhile: look again".to_owned()),
            Ok(Acting::Written) => {}
        }
        if let (Some(queue), true) = (&self.queue, verb != Verb::Discard)
            && let Err(error) = queue.wake(&[item.wakeup()]).await
        {
            return Ok(format!("{would} (not woken: {error}; the next sweep does it)"));
        }
        Ok(would)
    }

    /// What `settle` knows of a destination: what the drain would take from the same configuration.
    fn policy(&self, destination: &str) -> Option<Policy> {
        let config = self.config.as_ref()?.destinations.get(destination)?;
        let destination = oncehook_drain::Destination::new(config.clone(), None, self.client.clone());
        Some(destination.policy())
    }

    fn give_up_after(&self, destination: &str) -> jiff::SignedDuration {
        let config = self.config.as_ref();
        config
            .and_then(|config| config.destinations.get(destination))
            .map_or(oncehook_core::outbox::GIVE_UP_AFTER, |config| {
                config.give_up_after
            })
    }

    /// What the next generation is sent with.
    async fn fresh(&self, item: &StoredItem, render: bool) -> Result<Fresh, Refusal> {
        let other = |why: String| Refusal::Other(why);
        let missing = || other("the stored item cannot be read".to_owned());
        let stored = item.item().ok_or_else(missing)?;
        let shape = self
            .config
            .as_ref()
            .and_then(|config| config.destinations.get(&item.destination))
            .and_then(|config| config.idempotency.as_ref())
            .map_or(KeyShape::DEFAULT, |idempotency| idempotency.shape);
        let give_up_at = give_up_at(SystemClock.now(), self.give_up_after(&item.destination));
        if !render && stored.request.body != EffectBody::Event {
            return Ok(Fresh {
                shape,
                request: None,
                give_up_at,
            });
        }
        let (pk, _) = item.key.parts();
        let event = self
            .ledger
            .event_alone(pk)
            .await
            .map_err(|error| other(error.to_string()))?;
        let event = event.ok_or_else(|| other("its event is gone".to_owned()))?;
        let event = event.event().map_err(other)?;
        let (Some(rules), true) = (&self.rules, render) else {
            return Ok(Fresh {
                shape,
                request: None,
                give_up_at,
            });
        };
        let effect: Effect = events::effect(rules, &event, &stored.rule, &stored.effect).map_err(other)?;
        if effect.destination != item.destination {
            return Err(other(format!(
                "the rule now sends this to `{}`, not to `{}`",
                effect.destination, item.destination
            )));
        }
        Ok(Fresh {
            shape: effect.key,
            request: Some(effect.request),
            give_up_at,
        })
    }
}
