//! Durations and sizes as people write them: `250ms`, `5m`, `30d`; `64KB`, `4MB`.

use jiff::SignedDuration;

/// A duration: a whole number and `ms`, `s`, `m`, `h` or `d`.
pub(super) fn duration(text: &str) -> Result<SignedDuration, String> {
    let wrong =
        || format!("`{text}` is not a duration; write a whole number and a unit: 250ms, 90s, 5m, 24h, 30d");
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let number = i64::try_from(number).map_err(|_| wrong())?;
    let scaled = |seconds: i64| number.checked_mul(seconds).map(SignedDuration::from_secs);
    let duration = match unit {
        "ms" => Some(SignedDuration::from_millis(number)),
        "s" => scaled(1),
        "m" => scaled(60),
        "h" => scaled(3_600),
        "d" => scaled(86_400),
        _ => None,
    };
    // Nothing here is meant for longer than a century, and sums with a time must stay times.
    duration
        .filter(|duration| *duration <= SignedDuration::from_hours(24 * 36_525))
        .ok_or_else(wrong)
}

/// A size in bytes: a whole number and `B`, `KB` (1024) or `MB`.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let wrong = || format!("`{text}` is not a size; write a whole number and a unit: 64KB, 4MB");
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let unit = match unit {
        "B" => 1,
        "KB" => 1024,
        "MB" => 1024 * 1024,
        _ => return Err(wrong()),
    };
    usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(wrong)
}

/// A duration as it would be written, in its largest whole unit.
#[must_use]
pub fn show(duration: SignedDuration) -> String {
    let millis = duration.as_millis();
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
        .iter()
        .find(|(_, unit)| millis != 0 && millis % unit == 0)
        .map_or_else(
            || format!("{millis}ms"),
            |(name, unit)| format!("{}{name}", millis / unit),
        )
}

fn split(text: &str) -> Option<(u64, &str)> {
    let at = text.find(|character: char| !character.is_ascii_digit())?;
    Some((text[..at].parse().ok()?, text[at..].trim_start()))
}
