//! One act on one event: what the rules of now would make of it, and doing that on the way of every other event.

use std::time::Duration;

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
use tokio::time::Instant;

use crate::{operate::How, storage::Place};

/// How long one event may take: more than a provider would wait.
const BUDGET: Duration = Duration::from_secs(10);

/// What acts are decided with.
pub(crate) struct Desk {
    pub(crate) place: Place,
    pub(crate) ledger: Ledger,
    pub(crate) config: Config,
    pub(crate) rules: Rules,
    pub(crate) queue: Option<Queue>,
    pub(crate) release: bool,
}

/// What would become of an event.
pub(crate) struct Planned {
    event: Event,
    decision: Decision,
    keep: Keep,
    pub(crate) told: String,
}

impl Desk {
    pub(crate) async fn read(&self, pk: &str) -> Result<EventView, String> {
        let event = self
            .ledger
            .event_alone(pk)
            .await
            .map_err(|error| error.to_string())?;
        event.ok_or_else(|| "it is gone".to_owned())
    }

    pub(crate) fn keep(&self, event: &EventView) -> Keep {
        const DAY: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);
        let source = self.config.sources.get(&event.source);
        Keep {
            retention: source.map_or(DAY * 30, |source| source.retention),
            keys_for: source.map_or(DAY * 400, |source| source.keys_for),
        }
    }

    /// What would become of an event, or why nothing.
    pub(crate) fn plan(&self, stored: &EventView) -> Result<Planned, String> {
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
        let mut event = stored.event(&source.scheme)?;
        event.guard_body &= source.body_guard;
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
                    let count = |number: usize, what: &str| match number {
                        1 => format!("1 {what}"),
                        _ => format!("{number} {what}s"),
                    };
                    let (updates, effects) = (rule.updates.len(), rule.effects.len());
                    format!(
                        "{} ({}, {})",
                        rule.rule,
                        count(updates, "update"),
                        count(effects, "effect")
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
    pub(crate) async fn act(&self, how: &How, pk: &str) -> Result<String, String> {
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

    /// Reads an event again and takes it off its list.
    pub(crate) async fn dismiss(&self, how: &How, pk: &str) -> Result<String, String> {
        let event = self.read(pk).await?;
        let told = may_dismiss(&event)?;
        let keep = self.keep(&event);
        let written = self
            .ledger
            .dismiss(&event, keep, &how.actor(), SystemClock.now())
            .await;
        match written {
            Ok(true) => Ok(told),
            Ok(false) => Err("it changed meanwhile: look again".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// What taking an event off its list means, or why it is on none.
pub(crate) fn may_dismiss(event: &EventView) -> Result<String, String> {
    let outcome = event.record.outcome.as_str();
    if event.listed {
        return Ok(format!("take it off the list of {outcome} events, unapplied"));
    }
    Err(format!("it is {outcome} and stands in no list"))
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
