//! `oncehook events replay` and `discard`: events that have not taken effect, planned with the configuration of now and
//! committed on the way of every other event.

use std::{path::Path, time::Duration};

use oncehook_core::{
    clock::Clock as _,
    config::Config,
    decide::{Decision, decide},
    event::Event,
    plan::{Effect, Handler as _},
    rules::Rules,
};
use oncehook_edge::SystemClock;
use oncehook_store::{EventView, Keep, Ledger, Outcome, Queue, Replay, Replayed};
use serde_json::json;
use tokio::time::Instant;

use super::select::{self, Filter};
use crate::{
    answer::{Answer, misuse},
    operate::{How, Step, configuration},
    output,
    storage::{Place, Storage},
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

/// How long one event may take: more than a provider would wait.
const BUDGET: Duration = Duration::from_secs(10);

struct Desk {
    place: Place,
    ledger: Ledger,
    config: Config,
    rules: Rules,
    queue: Option<Queue>,
    release: bool,
}

/// What would become of an event.
struct Planned {
    event: Event,
    decision: Decision,
    keep: Keep,
    told: String,
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
    let events = desk
        .events(
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
    let events = desk.events(args, &[]).await?;
    let would = |event: &EventView| {
        if event.listed {
            return Ok(format!(
                "take it off the list of {} events, unapplied",
                event.record.outcome.as_str()
            ));
        }
        Err(format!(
            "it is {} and stands in no list",
            event.record.outcome.as_str()
        ))
    };
    let steps = events
        .iter()
        .map(|event| step("discard", event, would(event)))
        .collect();
    args.how
        .carry_out("discard", &HEAD, steps, async |pk| {
            let event = desk.read(&pk).await?;
            let told = would(&event)?;
            let keep = desk.keep(&event);
            let written = desk
                .ledger
                .dismiss(&event, keep, &args.how.actor(), SystemClock.now())
                .await;
            match written {
                Ok(true) => Ok(told),
                Ok(false) => Err("it changed meanwhile: look again".to_owned()),
                Err(error) => Err(error.to_string()),
            }
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

impl Desk {
    async fn events(&self, args: &Args, default: &[Outcome]) -> anyhow::Result<Vec<EventView>> {
        let (place, ledger, config) = (&self.place, &self.ledger, Some(&self.config));
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

    async fn read(&self, pk: &str) -> Result<EventView, String> {
        let event = self
            .ledger
            .event_alone(pk)
            .await
            .map_err(|error| error.to_string())?;
        event.ok_or_else(|| "it is gone".to_owned())
    }

    fn keep(&self, event: &EventView) -> Keep {
        const DAY: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);
        let source = self.config.sources.get(&event.source);
        Keep {
            retention: source.map_or(DAY * 30, |source| source.retention),
            keys_for: source.map_or(DAY * 400, |source| source.keys_for),
        }
    }

    /// What would become of an event, or why nothing.
    fn plan(&self, stored: &EventView) -> Result<Planned, String> {
        let outcome = stored.record.outcome;
        match outcome {
            Outcome::Failed | Outcome::Ignored => {}
            Outcome::Held if self.release => {}
            Outcome::Held => {
                let reason = stored.record.reason.as_deref().unwrap_or("for a person");
                return Err(format!("held: {reason}. --release applies it"));
            }
            Outcome::Applied | Outcome::Skipped | Outcome::Observed => {
                return Err(format!("it is {}: nothing is left to do", outcome.as_str()));
            }
        }
        let source = self.config.sources.get(&stored.source).ok_or_else(|| {
            format!(
                "the configuration has no source `{}`: give the right one with --config",
                stored.source
            )
        })?;
        let event = stored.event()?;
        let not_before = source.not_before.filter(|_| !self.release);
        let decision = decide(source.mode, not_before, &self.rules, &event);
        let told = match (&decision, outcome) {
            (Decision::Apply(plan), Outcome::Ignored) if plan.rules.is_empty() => {
                return Err("no rule matches: it stays ignored".to_owned());
            }
            (Decision::Observe(_), Outcome::Ignored) => {
                return Err("its source only observes: it stays ignored".to_owned());
            }
            (Decision::Apply(plan), _) if plan.rules.is_empty() => "no rule matches: ignore it".to_owned(),
            (Decision::Apply(plan), _) => {
                let rule = |rule: &oncehook_core::plan::RulePlan| {
                    format!(
                        "{} ({} updates, {} effects)",
                        rule.rule,
                        rule.updates.len(),
                        rule.effects.len()
                    )
                };
                let rules: Vec<String> = plan.rules.iter().map(rule).collect();
                format!("apply {}", rules.join(", "))
            }
            (Decision::Observe(_), _) => "record it as observed: its source only observes".to_owned(),
            (Decision::Hold(why), _) => return Err(format!("{why}. --release applies it")),
            (Decision::Fail(why), _) => return Err(format!("it would fail: {why}")),
        };
        Ok(Planned {
            event,
            decision,
            keep: self.keep(stored),
            told,
        })
    }

    /// Reads an event again, plans again, and commits.
    async fn act(&self, how: &How, pk: &str) -> Result<String, String> {
        let stored = self.read(pk).await?;
        let Planned {
            event,
            decision,
            keep,
            ..
        } = self.plan(&stored)?;
        let actor = how.actor();
        let replay = Replay {
            stored: &stored,
            event: &event,
            decision: &decision,
            keep,
            release: self.release,
            actor: &actor,
            now: SystemClock.now(),
            deadline: Instant::now() + BUDGET,
        };
        match self.ledger.replay(replay).await {
            Err(error) => Err(error.to_string()),
            Ok(Replayed::Stays(why)) => Err(format!("it stays {}: {why}", stored.record.outcome.as_str())),
            Ok(Replayed::Changed(record)) => Err(format!("it is {} meanwhile", record.outcome.as_str())),
            Ok(Replayed::Committed(record)) => {
                let woken = match &self.queue {
                    Some(queue) => queue.wake(&record.wakeups).await.is_ok(),
                    None => true,
                };
                let rule = |result: &oncehook_store::RuleResult| match &result.skipped {
                    Some(why) => format!("{} skipped: {why}", result.rule),
                    None => result.rule.clone(),
                };
                let rules: Vec<String> = record.rules.iter().map(rule).collect();
                let late = if woken {
                    ""
                } else {
                    " (not woken; the next sweep does it)"
                };
                Ok(format!("{} {}{late}", record.outcome.as_str(), rules.join(", ")))
            }
        }
    }
}

/// The effect of this name as the rules make it of the event now.
pub(crate) fn effect(rules: &Rules, event: &Event, rule: &str, effect: &str) -> Result<Effect, String> {
    if let Some(defect) = &event.defect {
        return Err(defect.clone());
    }
    let plan = rules.plan(event).map_err(|error| error.to_string())?;
    plan.rules
        .into_iter()
        .find(|planned| planned.rule == rule)
        .and_then(|planned| planned.effects.into_iter().find(|planned| planned.name == effect))
        .ok_or_else(|| format!("the rules no longer make the effect `{rule}/{effect}` of this event"))
}
