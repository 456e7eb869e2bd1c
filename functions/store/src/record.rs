//! The record of an event: what became of it, as stored and as told to a duplicate.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;

use crate::{
    attr::{self, Item},
    queue::Wakeup,
};

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// At least one rule took effect.
    Applied,
    /// Rules matched, and each was skipped by a guard or a condition.
    Skipped,
    /// No rule matched.
    Ignored,
    /// Its source only observes.
    Observed,
    /// A rule could not be carried out; a redelivery or a replay heals it.
    Failed,
    /// Waits for a person.
    Held,
}

impl Outcome {
    /// The word that is stored and logged.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Skipped => "skipped",
            Self::Ignored => "ignored",
            Self::Observed => "observed",
            Self::Failed => "failed",
            Self::Held => "held",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [
            Self::Applied,
            Self::Skipped,
            Self::Ignored,
            Self::Observed,
            Self::Failed,
            Self::Held,
        ]
        .into_iter()
        .find(|outcome| outcome.as_str() == text)
    }
}

/// What became of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleResult {
    /// The rule.
    pub rule: String,
    /// Why it was skipped; applied if absent.
    pub skipped: Option<String>,
}

/// An event's record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// What became of it.
    pub outcome: Outcome,
    /// Why it failed or is held.
    pub reason: Option<String>,
    /// Each rule that matched.
    pub rules: Vec<RuleResult>,
    /// The answer's body, JSON text.
    pub response: Option<String>,
    /// When it was first committed.
    pub received_at: Option<Timestamp>,
    /// The outbox items to wake; empty for a duplicate.
    pub wakeups: Vec<Wakeup>,
}

impl Record {
    /// Reads a stored record; one written by a newer release may lack what this one knows.
    pub(crate) fn load(item: &Item) -> Self {
        let rules = item
            .get("rules")
            .and_then(|rules| rules.as_l().ok())
            .cloned()
            .unwrap_or_default();
        Self {
            outcome: attr::text(item, "outcome")
                .and_then(|text| Outcome::parse(&text))
                .unwrap_or(Outcome::Applied),
            reason: attr::text(item, "reason"),
            rules: rules.iter().filter_map(load_rule).collect(),
            response: attr::text(item, "response"),
            received_at: attr::time(item, "received_at"),
            wakeups: Vec::new(),
        }
    }
}

pub(crate) fn store_rules(rules: &[RuleResult]) -> AttributeValue {
    let one = |result: &RuleResult| {
        let mut map = attr::item([("rule", attr::s(&result.rule))]);
        if let Some(why) = &result.skipped {
            map.insert("skipped".to_owned(), attr::s(why));
        }
        AttributeValue::M(map)
    };
    AttributeValue::L(rules.iter().map(one).collect())
}

fn load_rule(value: &AttributeValue) -> Option<RuleResult> {
    let map = value.as_m().ok()?;
    Some(RuleResult {
        rule: attr::text(map, "rule")?,
        skipped: attr::text(map, "skipped"),
    })
}
