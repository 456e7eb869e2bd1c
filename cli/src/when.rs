//! Times and kinds on the command line, as filters take them. Reads the clock once, when arguments are parsed.

use jiff::{SignedDuration, Timestamp};
use oncehook_core::clock::Clock as _;
use oncehook_edge::SystemClock;

use crate::request;

/// An instant: RFC 3339, seconds since 1970, or how long ago, such as 2h.
pub(crate) fn when(text: &str) -> Result<Timestamp, String> {
    if let Ok(at) = request::time(text) {
        return Ok(at);
    }
    let ago = days(text).or_else(|| text.parse().ok()).ok_or_else(|| {
        "neither how long ago, such as 2h or 7d, nor a time, such as 2026-12-01T00:00:00Z".to_owned()
    })?;
    SystemClock
        .now()
        .checked_sub(ago)
        .map_err(|error| error.to_string())
}

/// Whole days, each of 24 hours.
fn days(text: &str) -> Option<SignedDuration> {
    let days: i32 = text.strip_suffix('d')?.parse().ok()?;
    Some(SignedDuration::from_hours(24 * i64::from(days)))
}

/// Whether a kind is the wanted one; `*` at the end stands for anything.
pub(crate) fn kind_matches(wanted: Option<&str>, kind: &str) -> bool {
    match wanted.map(|wanted| (wanted, wanted.strip_suffix('*'))) {
        None => true,
        Some((_, Some(start))) => kind.starts_with(start),
        Some((wanted, None)) => kind == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_absolute_or_ago() {
        assert_eq!(when("2026-12-01T00:00:00Z").unwrap().as_second(), 1_796_083_200);
        assert_eq!(when("1796083200").unwrap().as_second(), 1_796_083_200);
        let ago = SystemClock.now().duration_since(when("2h").unwrap());
        assert!((ago - SignedDuration::from_hours(2)).abs() < SignedDuration::from_secs(5));
        let ago = SystemClock.now().duration_since(when("7d").unwrap());
        assert!((ago - SignedDuration::from_hours(168)).abs() < SignedDuration::from_secs(5));
        assert!(when("yesterday").is_err() && when("d").is_err());
        assert!(
            kind_matches(Some("invoice.*"), "invoice.paid") && !kind_matches(Some("invoice"), "invoice.paid")
        );
    }
}
