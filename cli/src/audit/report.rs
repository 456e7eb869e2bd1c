//! What an audit found, for people and for scripts.

use serde_json::{Value, json};

use crate::output;

/// What a check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As it should be.
    Pass,
    /// Not as it should be.
    Fail,
    /// Cannot be told from outside.
    Unknown,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Pass => "ok",
            Self::Fail => "FAILED",
            Self::Unknown => "look",
        }
    }
}

/// One check.
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) answers: String,
    pub(super) effects: String,
    pub(super) verdict: Verdict,
    pub(super) means: String,
}

impl Check {
    pub(super) fn unknown(name: &str, means: &str) -> Self {
        Self {
            name: name.to_owned(),
            answers: "-".to_owned(),
            effects: "-".to_owned(),
            verdict: Verdict::Unknown,
            means: means.to_owned(),
        }
    }
}

/// For scripts.
pub(super) fn json(url: &str, checks: &[Check]) -> Value {
    let one = |check: &Check| {
        json!({
            "check": check.name,
            "answers": check.answers,
            "effects": check.effects,
            "verdict": match check.verdict {
                Verdict::Pass => "ok",
                Verdict::Fail => "failed",
                Verdict::Unknown => "unknown",
            },
            "means": check.means,
        })
    };
    json!({ "url": url, "checks": checks.iter().map(one).collect::<Vec<_>>() })
}

/// For people.
pub(super) fn show(url: &str, checks: &[Check], probed: bool) {
    output::line(format!("audit of {url}\n"));
    let row = |check: &Check| {
        vec![
            check.name.clone(),
            check.answers.clone(),
            check.effects.clone(),
            check.verdict.word().to_owned(),
            check.means.clone(),
        ]
    };
    let head = ["check", "answers", "effects", "verdict", "means"];
    output::table(&head, checks.iter().map(row).collect());
    if checks.iter().all(|check| check.verdict != Verdict::Unknown) {
        return;
    }
    output::line("\n`look`: answers do not show what happened inside. Where to look:");
    if !probed {
        output::line(
            "  --probe-url: an address that shows a count, a balance or a list, read before and after each check",
        );
    }
    for hint in [
        "rows with equal event ids: select event_id, count(*) from .. group by 1 having count(*) > 1",
        "mails, charges and tickets made within the last minute, by their time",
        "the log of the endpoint: how often its handler ran for one event id",
    ] {
        output::line(format!("  {hint}"));
    }
}
