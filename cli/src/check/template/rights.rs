//! Whether a function's policy, as far as it is in the template, allows a call; and what to add if it does not.

use oncehook_local::template::{Policy, Resource, Statement};

use crate::check::finding::Findings;

/// A right that a function needs.
pub(super) struct Right<'a> {
    /// Such as `sqs:SendMessage`.
    pub(super) action: &'a str,
    /// Who needs it and for what, as the beginning of a sentence.
    pub(super) needs: String,
    /// What to write.
    pub(super) remedy: String,
}

/// Finds a right that is missing, denied, or given under a condition.
pub(super) fn demand(
    right: &Right<'_>,
    reaches: impl Fn(&Statement) -> bool,
    policy: &Policy,
    function: &Resource<'_>,
    findings: &mut Findings,
) {
    let Right {
        action,
        needs,
        remedy,
    } = right;
    let about: Vec<_> = policy
        .statements
        .iter()
        .filter(|statement| statement.covers(action) && reaches(statement))
        .collect();
    let place = ["Policies", "Role"]
        .into_iter()
        .find_map(|key| function.property(key));
    let place = place.map_or_else(|| function.part.place(), |part| part.place());
    let certain = |allow| {
        about
            .iter()
            .find(move |statement| statement.allow == allow && !statement.conditional)
    };
    if let Some(denied) = certain(false) {
        findings.error(denied.place.clone(), format!("{needs}, which is denied here"));
        return;
    }
    let conditional = about.iter().find(|statement| statement.conditional);
    match (certain(true), conditional, policy.unread.first()) {
        (Some(_), None, _) => {}
        (Some(_), Some(statement), _) if statement.allow => {}
        (_, Some(statement), _) => findings.note(
            Some(statement.place.clone()),
            format!("{needs}, which is allowed or denied here under a condition: see that it works"),
        ),
        (None, None, Some((place, _))) => findings.note(
            Some(place.clone()),
            format!("{needs}; the statements in this template do not allow it, see that the rest does"),
        ),
        (None, None, None) => findings.error(
            place,
            format!("{needs}, but {} is not allowed it: {remedy}", function.id),
        ),
    }
}
