//! What the answers to a round of requests mean, and what a probe says about it. Sends and prints nothing.

use std::collections::BTreeMap;

use super::report::{Check, Verdict};
use crate::post::Answer;

/// What one round of requests showed.
pub(super) struct Round {
    pub(super) answers: Vec<Result<Answer, String>>,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl Round {
    fn accepted(&self) -> usize {
        let good = |answer: &&Result<Answer, String>| answer.as_ref().is_ok_and(is_good);
        self.answers.iter().filter(good).count()
    }

    fn status(&self) -> Option<u16> {
        self.answers.first()?.as_ref().ok().map(|answer| answer.status)
    }

    /// `8 x 200`, `7 x 200, 1 x 409`.
    fn summary(&self) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for answer in &self.answers {
            let text = match answer {
                Ok(answer) if answer.replayed => format!("{} replayed", answer.status),
                Ok(answer) => answer.status.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            *counts.entry(text).or_default() += 1;
        }
        let one = |(text, count): (&String, &usize)| match count {
            1 if self.answers.len() == 1 => text.clone(),
            count => format!("{count} x {text}"),
        };
        counts.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Whether the probe shows something else than before; nothing without a probe.
    fn changed(&self) -> Option<bool> {
        Some(self.before.as_ref()? != self.after.as_ref()?)
    }

    /// By how much a probe that is a number went up.
    pub(super) fn step(&self) -> Option<f64> {
        let number = |text: &Option<String>| text.as_ref()?.trim().parse::<f64>().ok();
        Some(number(&self.after)? - number(&self.before)?)
    }

    fn effects(&self) -> String {
        match (self.step(), self.changed()) {
            (Some(step), _) => format!("{step:+}"),
            (None, Some(true)) => "changed".to_owned(),
            (None, Some(false)) => "same".to_owned(),
            (None, None) => "not seen".to_owned(),
        }
    }

    fn check(&self, name: &str, verdict: Verdict, means: impl Into<String>) -> Check {
        Check {
            name: name.to_owned(),
            answers: self.summary(),
            effects: self.effects(),
            verdict,
            means: means.into(),
        }
    }

    pub(super) fn genuine(&self) -> Check {
        let name = "genuine";
        if self.accepted() == 0 {
            let means = "a genuine request is refused: is this its signing secret, its URL, a type that it takes? The other checks \
                         mean little until this passes";
            return self.check(name, Verdict::Fail, means);
        }
        match self.changed() {
            Some(false) => self.check(
                name,
                Verdict::Unknown,
                "accepted, but the probe does not show the effect: give one that does, or a longer --settle",
            ),
            _ => self.check(name, Verdict::Pass, "accepted"),
        }
    }

    pub(super) fn repeat(&self, first: &Self) -> Check {
        let name = "the same again";
        let seen = first.changed() == Some(true);
        if self.accepted() == 0 {
            let means = match self.status() {
                Some(500..) | None => "a duplicate is an error here: the provider sends it again and again",
                Some(_) => {
                    "a duplicate is refused: it does not act, but some providers count it as a failed delivery"
                }
            };
            return self.check(name, Verdict::Unknown, means);
        }
        match self.changed() {
            Some(true) => self.check(
                name,
                Verdict::Fail,
                "the probe changed: a duplicate acts a second time",
            ),
            Some(false) if seen => self.check(
                name,
                Verdict::Pass,
                "accepted, and the probe stayed as it was: it acted once",
            ),
            _ if self.is_marked() => self.check(name, Verdict::Pass, "accepted, and marked as a replay"),
            _ => self.check(
                name,
                Verdict::Unknown,
                "accepted and not to be told from the first: whether it acted twice cannot be seen from here",
            ),
        }
    }

    pub(super) fn race(&self, once: Option<f64>) -> Check {
        let name = "at the same moment";
        let (sent, accepted) = (self.answers.len(), self.accepted());
        let marked = self
            .answers
            .iter()
            .flatten()
            .filter(|answer| answer.replayed)
            .count();
        if let (Some(step), Some(once)) = (self.step(), once.filter(|once| *once != 0.0)) {
            let times = step / once;
            return match times {
                _ if (times - 1.0).abs() < 1e-9 => self.check(
                    name,
                    Verdict::Pass,
                    format!("{sent} at once acted once, says the probe"),
                ),
                _ if times.abs() < 1e-9 => self.check(
                    name,
                    Verdict::Fail,
                    "none of them acted, says the probe: it is lost, or late",
                ),
                _ => self.check(
                    name,
                    Verdict::Fail,
                    format!("{sent} at once acted {times} times, says the probe"),
                ),
            };
        }
        let errors = self
            .answers
            .iter()
            .filter(|answer| answer.as_ref().map_or(true, |answer| answer.status >= 500))
            .count();
        if accepted == 0 {
            return self.check(
                name,
                Verdict::Fail,
                "none was accepted: the provider comes again, if it retries at all",
            );
        }
        if accepted - marked == 1 {
            return self.check(
                name,
                Verdict::Pass,
                "one was taken as new; the others were told from it",
            );
        }
        let errors = if errors > 0 {
            format!(" {errors} were errors, which the provider sends again.")
        } else {
            String::new()
        };
        let means = format!(
            "{accepted} were accepted alike: whether that was one effect or {accepted} cannot be seen from here.{errors}"
        );
        self.check(name, Verdict::Unknown, means)
    }

    pub(super) fn must_refuse(&self, name: &str) -> Check {
        if self.changed() == Some(true) {
            return self.check(name, Verdict::Fail, "the probe changed: it acted");
        }
        match self.status() {
            Some(200..=299) => self.check(
                name,
                Verdict::Fail,
                "accepted: who knows the URL can send this. (If it only answers before it verifies, see that it did not act)",
            ),
            Some(400..=499) => self.check(name, Verdict::Pass, "refused"),
            Some(status) => self.check(
                name,
                Verdict::Unknown,
                format!("not accepted, but {status} asks a provider to come again: 401 would be clear"),
            ),
            None => self.check(name, Verdict::Unknown, "no answer"),
        }
    }

    pub(super) fn disorder(&self, newer: &Self) -> Check {
        let name = "older after newer";
        let answers = format!("{}, then {}", newer.summary(), self.summary());
        let check = match (self.accepted(), self.changed()) {
            (0, _) => self.check(
                name,
                Verdict::Unknown,
                "the older one is refused: providers send it again, and do not send in order",
            ),
            (_, Some(true)) => self.check(
                name,
                Verdict::Unknown,
                "the probe changed: right if each event counts by itself, wrong if the older overwrote newer state",
            ),
            _ => self.check(
                name,
                Verdict::Unknown,
                "accepted: whether the older overwrote what the newer set cannot be seen from here",
            ),
        };
        Check { answers, ..check }
    }

    fn is_marked(&self) -> bool {
        self.answers.iter().flatten().all(|answer| answer.replayed)
    }
}

fn is_good(answer: &Answer) -> bool {
    (200..300).contains(&answer.status)
}
