//! From an event to what is written for it: the source's mode and dates, then the handler's plan.

use jiff::Timestamp;

use crate::{
    event::Event,
    plan::{Handler, Plan},
};

/// What to write for an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The event with the effects of its rules; a plan without rules is recorded as ignored.
    Apply(Plan),
    /// The event alone: its source only observes. Names the rules that would have applied.
    Observe(Vec<String>),
    /// The event alone, for a person to release.
    Hold(String),
    /// The event alone, for a person or a redelivery to mend.
    Fail(String),
}

/// Whether a source's rules take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// They do.
    #[default]
    Apply,
    /// Events are recorded and planned, nothing more.
    Observe,
}

/// Decides about one event. Pure: the same event gives the same decision.
pub fn decide(mode: Mode, not_before: Option<Timestamp>, handler: &dyn Handler, event: &Event) -> Decision {
    if let Some(defect) = &event.defect {
        return Decision::Fail(defect.clone());
    }
    if let (Some(limit), Some(occurred)) = (not_before, event.occurred_at)
        && occurred < limit
    {
        return Decision::Hold(format!(
            "occurred at {occurred}, before the source's not_before {limit}"
        ));
    }
    match (handler.plan(event).and_then(Plan::combined), mode) {
        (Err(error), _) => Decision::Fail(error.to_string()),
        (Ok(plan), Mode::Apply) => Decision::Apply(plan),
        (Ok(plan), Mode::Observe) => {
            Decision::Observe(plan.rules.into_iter().map(|rule| rule.rule).collect())
        }
    }
}
