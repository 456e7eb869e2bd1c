//! Whether bodies outside the table are there for as long as the records that name them.

use oncehook_core::timing::BODIES_BEYOND_RETENTION;
use oncehook_edge::BODIES;
use oncehook_local::template::{Part, Place};

use super::{Context, at, timeouts::from};
use crate::check::finding::Findings;

/// The prefix of what expires by its age.
const PREFIX: &str = "bodies/";

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let set = ["Ingest", "Drain", "Sweep"].map(|id| {
        let function = context.template.resource(id);
        function.filter(|function| function.variables().contains_key(BODIES))
    });
    if set.iter().all(Option::is_none) {
        let message =
            format!("{BODIES} is not set: events above 64 KiB after compression are refused with 413");
        return findings.note(Some(context.start.clone()), message);
    }
    for (id, _) in ["Ingest", "Drain", "Sweep"]
        .iter()
        .zip(&set)
        .filter(|(_, function)| function.is_none())
    {
        findings.error(
            context.start.clone(),
            format!("{id} is without {BODIES}, which others have: set it in Globals, or nowhere"),
        );
    }
    expiry(context, findings);
}

fn expiry(context: &Context<'_>, findings: &mut Findings) {
    let Some(bucket) = context.template.resource("Bodies") else {
        let message = format!(
            "{BODIES} names a bucket outside this template: not checked whether {PREFIX} is kept longer than the events"
        );
        return findings.note(Some(context.start.clone()), message);
    };
    let longest = context
        .config
        .sources
        .values()
        .max_by_key(|source| source.retention);
    let Some(longest) = longest else { return };
    let least = days(longest.retention) + days(BODIES_BEYOND_RETENTION);
    let rules = bucket
        .property("LifecycleConfiguration")
        .and_then(|part| part.get("Rules"));
    for (part, place) in rules
        .map(Part::items)
        .unwrap_or_default()
        .into_iter()
        .filter_map(expiring)
    {
        let Ok(values) = part.numbers() else { continue };
        for value in values.into_iter().filter(|value| *value < least) {
            findings.error(
                place.clone(),
                format!(
                    "large bodies are deleted after {value} days{}, but [source.{}] in {} keeps its events for {} days: make it at \
                     least {least}",
                    from(part),
                    longest.name,
                    at(&context.places.of(&["source", &longest.name, "retention"])),
                    days(longest.retention),
                ),
            );
        }
    }
}

/// When a rule of the lifecycle deletes bodies by their age, and where it says so.
fn expiring(rule: Part<'_>) -> Option<(Part<'_>, Place)> {
    let prefix = rule.get("Prefix").map(Part::texts).unwrap_or_default();
    let ours = prefix.iter().all(|prefix| PREFIX.starts_with(prefix.as_str()));
    let days = rule
        .get("ExpirationInDays")
        .filter(|_| ours && rule.get("TagFilters").is_none())?;
    Some((days, days.place()))
}

fn days(duration: jiff::SignedDuration) -> u64 {
    duration.unsigned_abs().as_secs().div_ceil(24 * 60 * 60)
}
