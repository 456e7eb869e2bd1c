//! Reads `[destination.NAME]`. What a preset knows stands in for what the table does not say.

mod auth;
mod aws;
mod keys;

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::{
    DestinationConfig, Idempotency, KeyPlace, Kind,
    reader::{Found, Reader},
    units, url,
};
use crate::{
    outbox::GIVE_UP_AFTER,
    preset::Preset,
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
    match aws::kind(&reader) {
        Kind::Http => http(name, reader),
        kind => aws::destination(name, kind, reader),
    }
}

fn http(name: &str, reader: Reader<'_>) -> Option<DestinationConfig> {
    let preset = reader.parsed("preset", preset).map(|found| found.value);
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
    let auth = auth::auth(&reader, secret.is_some(), preset);
    let idempotency = keys::idempotency(&reader, preset);
    if let Some(preset) = preset.filter(|preset| preset.keys.is_some()) {
        fits(&reader, preset, method.unwrap_or("POST"), url.as_ref());
    }
    let kept_type = preset.map_or("application/json", |preset| preset.content_type);
    let content_type = content_type.map_or_else(|| kept_type.to_owned(), |found| found.value);
    if matches!(&idempotency, Some(keys) if matches!(keys.place, KeyPlace::Field(_)))
        && !crate::rules::request::is_json(&content_type)
    {
        reader.wrong(format_args!(
            "the key goes into a JSON body, and `content_type` is {content_type}: a header could carry it"
        ));
    }
    let tried = Tried::read(&reader, idempotency.as_ref());
    reader.finish();
    Some(DestinationConfig {
        name: name.to_owned(),
        kind: Kind::Http,
        preset,
        url: url?.value,
        method: method.unwrap_or("POST").to_owned(),
        content_type,
        headers,
        auth,
        secret,
        idempotency,
        on_ambiguous: tried.on_ambiguous,
        timeout: tried.timeout,
        give_up_after: tried.give_up_after,
        concurrency: tried.concurrency,
    })
}

/// How a delivery is tried, whatever the kind.
struct Tried {
    on_ambiguous: OnAmbiguous,
    timeout: SignedDuration,
    give_up_after: SignedDuration,
    concurrency: usize,
}

impl Tried {
    fn read(reader: &Reader<'_>, idempotency: Option<&Idempotency>) -> Self {
        let ambiguous = [("park", OnAmbiguous::Park), ("resend", OnAmbiguous::Resend)];
        let on_ambiguous = reader.word("on_ambiguous", &ambiguous);
        if idempotency.is_some() && on_ambiguous == Some(OnAmbiguous::Resend) {
            reader.wrong(
                "`on_ambiguous` is for destinations without idempotency keys: remove it or `idempotency`",
            );
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
        if let Some(keys) = idempotency.filter(|keys| keys.retention <= timeout + MARGIN) {
            reader.wrong(format_args!(
                "`idempotency.retention` ({}) must be longer than `timeout` ({}) and a minute, or nothing could be sent",
                units::show(keys.retention),
                units::show(timeout)
            ));
        }
        Self {
            on_ambiguous: on_ambiguous.unwrap_or_default(),
            timeout,
            give_up_after,
            concurrency: concurrency.unwrap_or(8),
        }
    }
}

fn preset(name: &str) -> Result<&'static Preset, String> {
    let preset = Preset::named(name)?;
    match preset.barred {
        Some(why) => Err(format!("{} cannot be called directly: {why}", preset.title)),
        None => Ok(preset),
    }
}

/// Keys of a preset are for some methods and paths only: elsewhere they would be ignored, and a repetition act twice.
fn fits(reader: &Reader<'_>, preset: &Preset, method: &str, url: Option<&Found<String>>) {
    if !preset.methods.contains(&method) {
        reader.wrong(format_args!(
            "the preset `{}` knows keys for {} only, not for {method}: describe this call without it",
            preset.name,
            preset.methods.join(" and ")
        ));
    }
    let path = |url: &str| url.parse::<http::Uri>().map(|url| url.path().to_owned());
    if let Some(url) = url
        && path(&url.value).is_ok_and(|path| !preset.paths.fit(&path))
    {
        reader.report.at(
            url.at,
            format!(
                "{}: the preset `{}` knows keys for some paths only, {}: describe this one without it",
                reader.place,
                preset.name,
                preset.paths.describe()
            ),
        );
    }
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
