//! How long a source's events are kept and their ids known, and that this outlasts the provider's own repetitions: what
//! is delivered once more after that would be applied once more.

use jiff::SignedDuration;

use super::{reader::Reader, units};
use crate::verify::Scheme;

const DAY: SignedDuration = SignedDuration::from_hours(24);
const RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long ids are remembered where a request could be sent again at any time.
const KEYS_WITHOUT_TIME: SignedDuration = SignedDuration::from_hours(400 * 24);
/// Taken for a provider that does not say how long it repeats: longer than nearly all that do.
const UNSAID: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Between a provider's last repetition and the end of memory: for queues and clocks in between.
const MARGIN: SignedDuration = DAY;

/// How long a source remembers.
pub(super) struct Kept {
    /// Bodies.
    pub(super) retention: SignedDuration,
    /// Ids: at least as long.
    pub(super) keys_for: SignedDuration,
}

/// Reads `retention`, `keys_for` and `retried_for`.
pub(super) fn kept(reader: &Reader<'_>, scheme: Option<&Scheme>) -> Kept {
    let said = scheme.and_then(Scheme::retried_for);
    let told = reader.duration("retried_for", "1m", "60d");
    if let (Some(said), Some(item)) = (said, reader.get("retried_for")) {
        reader.note::<()>(
            item,
            format_args!(
                "`retried_for` is only for providers that do not say how long they deliver again; this one does, and it is {}: \
                 leave it out",
                units::show(said)
            ),
        );
    }
    let least = said.or(told).unwrap_or(UNSAID) + MARGIN;
    let given = reader.duration("retention", "1d", "3650d");
    let retention = given.unwrap_or(RETENTION.max(least));
    if let (true, Some(item)) = (retention < least && scheme.is_some(), reader.get("retention")) {
        let repeats = units::show(least - MARGIN);
        let why = match (said, told) {
            (None, None) => format!(
                "the provider does not say for how long it delivers an event again, so {repeats} are assumed: write at least \
                 \"{}\", or, if you know better, `retried_for`",
                units::show(least)
            ),
            _ => format!(
                "the provider delivers an event again for up to {repeats}: write at least \"{}\"",
                units::show(least)
            ),
        };
        reader.note::<()>(
            item,
            format_args!(
                "`retention` is {}, and what comes after it is applied once more; {why}",
                units::show(retention)
            ),
        );
    }
    let keys_for = reader.duration("keys_for", "1d", "3650d");
    if let Some(keys_for) = keys_for.filter(|keys_for| *keys_for < retention) {
        reader.wrong(format_args!(
            "`keys_for` is {}, shorter than `retention` ({}): an event's id must be known as long as its body",
            units::show(keys_for),
            units::show(retention)
        ));
    }
    let remembered = match scheme {
        Some(scheme) if !scheme.signs_time() => KEYS_WITHOUT_TIME.max(retention),
        _ => retention,
    };
    Kept {
        retention,
        keys_for: keys_for.unwrap_or(remembered),
    }
}
