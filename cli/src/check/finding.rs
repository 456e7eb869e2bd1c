//! What a check found: how bad it is, where it stands, what to do. Finds nothing itself.

use oncehook_local::template::Place;
use serde_json::{Value, json};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// What is deployed would not work, or would lose something.
    Error,
    /// It would work, but is probably not meant.
    Warning,
    /// Worth knowing; for instance what could not be checked.
    Note,
}

/// One finding.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    place: String,
    position: Option<Place>,
    message: String,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn error(&mut self, place: Place, message: impl Into<String>) {
        self.add(Severity::Error, Some(place), message);
    }

    pub(super) fn warning(&mut self, place: Place, message: impl Into<String>) {
        self.add(Severity::Warning, Some(place), message);
    }

    pub(super) fn note(&mut self, place: Option<Place>, message: impl Into<String>) {
        self.add(Severity::Note, place, message);
    }

    /// A mistake that already begins with its place.
    pub(super) fn placed(&mut self, line: &str) {
        let mut parts = line.splitn(4, ':');
        let place = (|| {
            Some(Place {
                file: parts.next()?.to_owned(),
                line: parts.next()?.parse().ok()?,
                column: parts.next()?.parse().ok()?,
            })
        })();
        match place {
            Some(place) => self.error(place, parts.next().unwrap_or_default().trim()),
            None => self.add(Severity::Error, None, line),
        }
    }

    fn add(&mut self, severity: Severity, position: Option<Place>, message: impl Into<String>) {
        let place = position
            .as_ref()
            .map(|place| format!("{place}: "))
            .unwrap_or_default();
        let message = message.into();
        let known = |finding: &Finding| finding.message == message && finding.position == position;
        if !self.0.iter().any(known) {
            self.0.push(Finding {
                severity,
                place,
                position,
                message,
            });
        }
    }

    pub(super) fn count(&self, severity: Severity) -> usize {
        self.0
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    }

    /// All, the worst last, where a terminal shows it.
    pub(super) fn into_sorted(mut self) -> Vec<Finding> {
        self.0.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        self.0
    }
}

impl Finding {
    pub(super) fn line(&self) -> String {
        let word = match self.severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
            Severity::Note => "note: ",
        };
        format!("{}{word}{}", self.place, self.message)
    }

    pub(super) fn json(&self) -> Value {
        let position = self.position.as_ref();
        json!({
            "severity": match self.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            },
            "file": position.map(|place| &place.file),
            "line": position.map(|place| place.line),
            "column": position.map(|place| place.column),
            "message": self.message,
        })
    }
}
