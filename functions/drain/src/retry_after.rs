//! The `Retry-After` header: seconds or a date. Bounds are the matter of `settle`.

use http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};

pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<SignedDuration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(SignedDuration::from_secs(i64::from(seconds)));
    }
    let at = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(at.duration_since(now).max(SignedDuration::ZERO))
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
}
