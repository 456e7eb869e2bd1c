//! How long a destination asks to wait: `Retry-After`, in seconds or as a date, or a header of its own. Bounds are the
//! matter of `settle`.

use http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use oncehook_core::preset::Wait;

pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<SignedDuration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(SignedDuration::from_secs(i64::from(seconds)));
    }
    let at = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(at.duration_since(now).max(SignedDuration::ZERO))
}

/// What an API says in a header of its own.
pub(crate) fn told(headers: &HeaderMap, wait: Wait, now: Timestamp) -> Option<SignedDuration> {
    let number: i64 = headers.get(wait.header)?.to_str().ok()?.trim().parse().ok()?;
    if wait.epoch {
        let at = Timestamp::from_second(number).ok()?;
        return Some(at.duration_since(now).max(SignedDuration::ZERO));
    }
    u32::try_from(number)
        .ok()
        .map(|seconds| SignedDuration::from_secs(i64::from(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_dates_and_nonsense() {
        let now: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
        let read = |text: &str| {
            let headers = [(header::RETRY_AFTER, text.parse().unwrap())]
                .into_iter()
                .collect();
            retry_after(&headers, now).map(|wait| wait.as_secs())
        };
        assert_eq!(read(" 120 "), Some(120));
        assert_eq!(read("Tue, 01 Dec 2026 00:01:00 GMT"), Some(60));
        assert_eq!(read("Mon, 30 Nov 2026 00:01:00 GMT"), Some(0));
        assert_eq!(read("soon"), None);
        assert_eq!(read("-3"), None);
    }
    #[test]
    fn an_apis_own_header_in_seconds_or_epoch_seconds() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let read = |text: &str, epoch| {
            let headers = [(http::HeaderName::from_static("x-reset"), text.parse().unwrap())]
                .into_iter()
                .collect();
            let header = "x-reset";
            told(&headers, Wait { header, epoch }, now).map(|wait| wait.as_secs())
        };
        assert_eq!(
            (read("30", false), read("-1", false), read("x", false)),
            (Some(30), None, None)
        );
        assert_eq!((read("1800000030", true), read("30", true)), (Some(30), Some(0)));
        assert_eq!(read("9223372036854775807", true), None);
    }
}
