//! What a refused commit means: the reasons of a cancelled transaction, read in a fixed order.
//!
//! Pure. DynamoDB reports several reasons together, and the list can be short or missing; unknown is a conflict.

use oncehook_core::plan::OnCondition;

use crate::{
    actions::Place,
    attr::{self, Item},
};

/// One reason, as DynamoDB gives it for the action at the same position.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reason {
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) item: Option<Item>,
}

/// What to do about a refused commit.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The event is there already, with this record.
    Exists(Item),
    /// The same plan again.
    Again(String),
    /// The event alone, as failed.
    Fail(String),
    /// The event alone, as held.
    Hold(String),
    /// Again without these rules, each for its reason.
    Skip(Vec<(usize, String)>),
    /// Nothing now; the provider comes again.
    NotNow(String),
    /// Somebody must change something first.
    Broken(String),
}

const FAILED: &str = "ConditionalCheckFailed";

/// Reads the reasons over all places, in the order of precedence.
pub(crate) fn verdict(places: &[Place], reasons: &[Reason]) -> Verdict {
    if reasons.len() < places.len() {
        return Verdict::Again("cancelled without a full list of reasons".to_owned());
    }
    let all = || {
        places
            .iter()
            .zip(reasons)
            .filter(|(_, reason)| code(reason) != "None")
    };
    let failed = || all().filter(|(_, reason)| code(reason) == FAILED);

    if let Some((_, reason)) = failed().find(|(place, _)| **place == Place::Event) {
        return Verdict::Exists(reason.item.clone().unwrap_or_default());
    }
    if let Some((_, reason)) = all().find(|(_, reason)| is_busy(code(reason))) {
        return Verdict::Again(code(reason).to_owned());
    }
    if let Some(verdict) = all().find_map(|(place, reason)| refused(place, reason)) {
        return verdict;
    }
    let holds = |place: &Place| matches!(place, Place::BodyGuard | Place::TokenGuard | Place::Outbox);
    if let Some((place, reason)) = failed().find(|(place, _)| holds(place)) {
        return Verdict::Hold(held_by(place, reason));
    }
    let guards: Vec<(usize, String)> = failed()
        .filter_map(|(place, reason)| skipped(place, reason))
        .collect();
    if !guards.is_empty() {
        return Verdict::Skip(guards);
    }
    conditions(failed().map(|(place, _)| place))
        .unwrap_or_else(|| Verdict::Again("cancelled for no reason given".to_owned()))
}

fn code(reason: &Reason) -> &str {
    reason.code.as_deref().unwrap_or("None")
}

fn is_busy(code: &str) -> bool {
    matches!(
        code,
        "TransactionConflict"
            | "ThrottlingError"
            | "ProvisionedThroughputExceeded"
            | "RequestLimitExceeded"
            | "InternalServerError"
            | "DuplicateItem"
    )
}

/// Reasons other than an unmet condition: the rule's fault, or the set-up's.
fn refused(place: &Place, reason: &Reason) -> Option<Verdict> {
    let code = code(reason);
    if code == FAILED {
        return None;
    }
    let message = reason.message.as_deref().unwrap_or_default();
    let told = format!("{code}: {message}");
    let rules_fault = matches!(code, "ValidationError" | "ItemCollectionSizeLimitExceeded");
    Some(match place {
        Place::Update { what, .. } if rules_fault => Verdict::Fail(format!("{what}: {told}")),
        Place::Once { .. } | Place::Newer { .. } | Place::Outbox if rules_fault => Verdict::Fail(told),
        _ => Verdict::Broken(told),
    })
}

fn held_by(place: &Place, reason: &Reason) -> String {
    match place {
        Place::Outbox => "an earlier effect of this event still stands in the outbox".to_owned(),
        Place::TokenGuard => {
            let holder = holder(reason);
            format!("its token, which serves once, came before with another event or body ({holder})")
        }
        _ => {
            let holder = holder(reason);
            format!("the same body came before under another id ({holder}), and the signature covers no id")
        }
    }
}

/// The event that a guard names.
fn holder(reason: &Reason) -> String {
    let item = reason.item.as_ref();
    item.and_then(|item| attr::text(item, "event"))
        .unwrap_or_default()
}

fn skipped(place: &Place, reason: &Reason) -> Option<(usize, String)> {
    let item = reason.item.as_ref();
    match place {
        Place::Once { rule, key } => {
            let holder = item
                .and_then(|item| attr::text(item, "event"))
                .unwrap_or_default();
            Some((*rule, format!("once_per `{key}`: taken by {holder}")))
        }
        Place::Newer { rule, of } => {
            let highest = item
                .and_then(|item| attr::number::<String>(item, "highest"))
                .unwrap_or_default();
            Some((
                *rule,
                format!("newer_by `{of}`: a newer one ({highest}) was applied"),
            ))
        }
        _ => None,
    }
}

fn conditions<'a>(failed: impl Iterator<Item = &'a Place>) -> Option<Verdict> {
    let mut skips = Vec::new();
    let mut fail = None;
    for place in failed {
        let Place::Update {
            rule,
            on_condition,
            what,
        } = place
        else {
            continue;
        };
        let why = format!("{what} does not exist or does not meet the condition");
        match on_condition {
            OnCondition::Retry => return Some(Verdict::NotNow(why)),
            OnCondition::Fail => fail = fail.or(Some(why)),
            OnCondition::Skip => skips.push((*rule, why)),
        }
    }
    match fail {
        Some(why) => Some(Verdict::Fail(why)),
        None => (!skips.is_empty()).then_some(Verdict::Skip(skips)),
    }
}
