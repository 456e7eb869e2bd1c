//! Reads `[destination.NAME]`.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::{Auth, DestinationConfig, Idempotency, reader::Reader, units, url};
use crate::{
    outbox::{GIVE_UP_AFTER, KeyFormat, KeyShape},
    settle::{MARGIN, OnAmbiguous},
};

/// Headers that the delivery sets itself.
const OWN_HEADERS: [&str; 6] = [
    "content-type",
    "content-length",
    "host",
    "connection",
    "transfer-encoding",
    "authorization",
];

pub(super) fn destination(name: &str, reader: Reader<'_>) -> Option<DestinationConfig> {
    let url = reader.need("url").and_then(|_| reader.parsed("url", url::check));
    let method = reader.word(
        "method",
        &["POST", "PUT", "PATCH", "DELETE"].map(|method| (method, method)),
    );
    let content_type = reader.parsed("content_type", header_value);
    let headers = headers(&reader);
    let secret = reader.parsed("secret", |text| {
        super::parse::check_name(text).map(|()| text.to_owned())
    });
    let secret = secret.map(|found| found.value);
    let auth = auth(&reader, secret.is_some());
    let idempotency = idempotency(&reader);
    let ambiguous = [("park", OnAmbiguous::Park), ("resend", OnAmbiguous::Resend)];
    let on_ambiguous = reader.word("on_ambiguous", &ambiguous);
    if idempotency.is_some() && on_ambiguous == Some(OnAmbiguous::Resend) {
        reader
            .wrong("`on_ambiguous` is for destinations without idempotency keys: remove it or `idempotency`");
    }
    let timeout = reader
        .duration("timeout", "1s", "60s")
        .unwrap_or(SignedDuration::from_secs(10));
    let give_up_after = reader
        .duration("give_up_after", "1m", "14d")
        .unwrap_or(GIVE_UP_AFTER);
    let concurrency = reader
        .integer("concurrency", 1, 1000)
        .and_then(|number| usize::try_from(number).ok());
    if timeout >= give_up_after {
        reader.wrong("`timeout` must be shorter than `give_up_after`");
    }
    if let Some(keys) = idempotency
        .as_ref()
        .filter(|keys| keys.retention <= timeout + MARGIN)
    {
        reader.wrong(format_args!(
            "`idempotency.retention` ({}) must be longer than `timeout` ({}) and a minute, or nothing could be sent",
            units::show(keys.retention),
            units::show(timeout)
        ));
    }
    reader.finish();
    Some(DestinationConfig {
        name: name.to_owned(),
        url: url?.value,
        method: method.unwrap_or("POST").to_owned(),
        content_type: content_type.map_or_else(|| "application/json".to_owned(), |found| found.value),
        headers,
        auth,
        secret,
        idempotency,
        on_ambiguous: on_ambiguous.unwrap_or_default(),
        timeout,
        give_up_after,
        concurrency: concurrency.unwrap_or(8),
    })
}

/// The name of a header.
pub(super) fn header_name(text: &str) -> Result<String, String> {
    let valid = http::HeaderName::from_bytes(text.as_bytes()).is_ok();
    if valid {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not the name of a header"))
    }
}

fn header_value(text: &str) -> Result<String, String> {
    let valid = http::HeaderValue::from_str(text).is_ok() && !text.is_empty();
    if valid {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` cannot be the value of a header"))
    }
}

fn headers(reader: &Reader<'_>) -> BTreeMap<String, String> {
    let Some(table) = reader.table("headers") else {
        return BTreeMap::new();
    };
    let mut headers = BTreeMap::new();
    for (name, at, item) in table.entries() {
        let wrong = |reason: String| table.report.at(at, format!("{}: {reason}", table.place));
        let value = item
            .get_ref()
            .as_str()
            .ok_or_else(|| format!("`{name}` must be a string"));
        match header_name(name).and(value).and_then(header_value) {
            Ok(_) if OWN_HEADERS.contains(&name.to_lowercase().as_str()) => wrong(format!(
                "`{name}` is set by the delivery; use `content_type`, or `auth` and `secret`"
            )),
            Ok(value) => {
                headers.insert(name.to_owned(), value);
            }
            Err(reason) => wrong(reason),
        }
    }
    headers
}

/// `auth = "none" | "bearer" | { header = ".." }`, or `sign = "standard-webhooks"`.
fn auth(reader: &Reader<'_>, secret: bool) -> Auth {
    let sign = reader.word("sign", &[("standard-webhooks", ())]);
    let given = reader.get("auth");
    if sign.is_some() && given.is_some() {
        reader.wrong("`sign` and `auth` exclude each other");
    }
    let auth = match given {
        _ if sign.is_some() => Auth::StandardWebhooks,
        Some(item) if item.get_ref().is_table() => {
            let Some(table) = reader.table("auth") else {
                return Auth::None;
            };
            let header = table
                .need("header")
                .and_then(|_| table.parsed("header", header_name));
            table.finish();
            header.map_or(Auth::None, |found| Auth::Header(found.value))
        }
        Some(_) => match reader.word("auth", &[("none", false), ("bearer", true)]) {
            Some(true) => Auth::Bearer,
            _ => Auth::None,
        },
        None if secret => Auth::Bearer,
        None => Auth::None,
    };
    if auth != Auth::None && !secret {
        reader.wrong("`secret` is missing: the name of the secret to authenticate with");
    }
    auth
}

fn idempotency(reader: &Reader<'_>) -> Option<Idempotency> {
    let table = reader.table("idempotency")?;
    let header = table.parsed("header", header_name);
    let format = table
        .word("format", &[("hex", KeyFormat::Hex), ("uuid", KeyFormat::Uuid)])
        .unwrap_or(KeyFormat::Hex);
    // Fewer hex digits than 32 are fewer bits than 128: keys of different effects could meet.
    let max_length = table.integer("max_length", KeyShape::SHORTEST as u64, 4096);
    let max_length = max_length
        .and_then(|number| usize::try_from(number).ok())
        .unwrap_or(KeyShape::DEFAULT.max_length);
    if format == KeyFormat::Uuid && max_length < 36 {
        table.wrong("a UUID has 36 characters: raise `max_length`, or use format = \"hex\"");
    }
    let quoted = table.boolean("quoted").unwrap_or(false);
    if table.get("retention").is_none() {
        table.wrong(
            "`retention` is missing: how long the destination remembers a key, as its documentation says",
        );
    }
    let retention = table.duration("retention", "1m", "3650d");
    table.finish();
    Some(Idempotency {
        header: header.map_or_else(|| "Idempotency-Key".to_owned(), |found| found.value),
        shape: KeyShape { format, max_length },
        retention: retention?,
        quoted,
    })
}
