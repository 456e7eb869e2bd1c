//! Reads `[source.NAME]`, and the description of a scheme of one's own (`scheme = "hmac"`).

use jiff::{SignedDuration, Timestamp};
use toml::de::DeValue;

use super::{SourceConfig, destination::header_name, kept::kept, reader::Reader, report::suggestion, units};
use crate::{
    decide::Mode,
    verify::{
        Algorithm, Encoding, GenericScheme, GenericTimestamp, Location, Scheme, SignedTemplate, TimeUnit,
    },
};

/// The body has to fit one DynamoDB item, compressed, and API Gateway and Lambda take no more than 6 MB.
const MAX_BODY: usize = 4 * 1024 * 1024;

pub(super) fn source(name: &str, reader: Reader<'_>) -> Option<SourceConfig> {
    let scheme = scheme(&reader);
    let secrets = reader.strings("secret");
    if secrets.is_empty() {
        reader.wrong("`secret` is missing: the name of its signing secret, such as \"stripe\"");
    }
    for secret in &secrets {
        if let Err(reason) = super::parse::check_name(&secret.value) {
            reader
                .report
                .at(secret.at, format!("{}: `secret`: {reason}", reader.place));
        }
    }
    let public_url = public_url(&reader, scheme.as_ref());
    let verify_token = verify_token(&reader, scheme.as_ref());
    let tolerance = reader.duration("tolerance", "1s", "1h");
    let success = reader
        .integer("success", 200, 299)
        .and_then(|status| u16::try_from(status).ok());
    let namespace = reader.parsed("namespace", |text| {
        super::parse::check_name(text).map(|()| text.to_owned())
    });
    let mode = reader
        .word("mode", &[("apply", Mode::Apply), ("observe", Mode::Observe)])
        .unwrap_or_default();
    let not_before = time(&reader, "not_before");
    let enrol_until = enrol_until(&reader, scheme.as_ref());
    let body_guard = body_guard(&reader, scheme.as_ref());
    let networks = reader.parsed_list("networks", "a network in CIDR form, such as 192.0.2.0/24");
    let max_body = reader.parsed("max_body", |text| match units::size(text)? {
        size @ 1..=6_291_456 => Ok(size),
        _ => Err("must be 1B to 6MB, which is as much as a Lambda function is handed".to_owned()),
    });
    let kept = kept(&reader, scheme.as_ref());
    let budget = reader.duration("budget", "500ms", "10s");
    reader.finish();
    let scheme = scheme?;
    // What is left of the provider's patience is for the network and the wake-up.
    let patience = scheme
        .timeout()
        .map(|timeout| timeout - SignedDuration::from_secs(1));
    let usual = SignedDuration::from_secs(2);
    Some(SourceConfig {
        name: name.to_owned(),
        namespace: namespace.map_or_else(|| default_namespace(&scheme, name), |found| found.value),
        secrets: secrets.into_iter().map(|secret| secret.value).collect(),
        public_url,
        verify_token,
        tolerance,
        success: success.unwrap_or(scheme.success()),
        mode,
        not_before,
        enrol_until,
        body_guard,
        networks,
        max_body: max_body.map_or(MAX_BODY, |found| found.value),
        retention: kept.retention,
        keys_for: kept.keys_for,
        budget: budget.unwrap_or(patience.map_or(usual, |patience| usual.min(patience))),
        scheme,
    })
}

/// The URL that the provider signs: without it, or with that of another endpoint, nothing could be verified.
fn public_url(reader: &Reader<'_>, scheme: Option<&Scheme>) -> Option<String> {
    let Some(scheme) = scheme.filter(|scheme| scheme.signs_url()) else {
        let item = reader.get("public_url")?;
        if scheme.is_some() {
            reader.note::<()>(
                item,
                "`public_url` is only for schemes that sign the URL: leave it out",
            );
        }
        return None;
    };
    let url = reader.parsed("public_url", |text| {
        let uri: http::Uri = text.parse().map_err(|_| format!("`{text}` is not a URL"))?;
        match (uri.scheme_str(), uri.host()) {
            (Some("https" | "http"), Some(_)) => Ok(text.to_owned()),
            _ => Err(format!(
                "`{text}` is not a URL that begins with https:// and a host"
            )),
        }
    });
    if url.is_none() && reader.get("public_url").is_none() {
        let name = scheme.name();
        reader.wrong(format_args!(
            "`public_url` is missing: {name} signs the URL, so write it as {name} was told it, such as \
             \"https://hooks.example.com/webhooks/{name}\""
        ));
    }
    url.map(|found| found.value)
}

/// The name of the secret with the token that a set-up request must know.
fn verify_token(reader: &Reader<'_>, scheme: Option<&Scheme>) -> Option<String> {
    let found = reader.string("verify_token")?;
    if scheme.is_some_and(|scheme| !scheme.takes_verify_token()) {
        reader.report.at(
            found.at,
            format!(
                "{}: `verify_token` is only for schemes with a set-up request that names one: leave it out",
                reader.place
            ),
        );
    }
    if let Err(reason) = super::parse::check_name(&found.value) {
        reader
            .report
            .at(found.at, format!("{}: `verify_token`: {reason}", reader.place));
    }
    Some(found.value)
}

/// A provider's ids are its own wherever they arrive; two sources of the generic scheme have nothing in common.
fn default_namespace(scheme: &Scheme, source: &str) -> String {
    match scheme {
        Scheme::Generic(_) => source.to_owned(),
        known => known.name().to_owned(),
    }
}

/// Only for schemes whose ids are not signed: elsewhere nothing is guarded.
fn body_guard(reader: &Reader<'_>, scheme: Option<&Scheme>) -> bool {
    let Some(guard) = reader.boolean("body_guard") else {
        return true;
    };
    if scheme.is_some_and(Scheme::signs_id) {
        reader.wrong("`body_guard` is only for schemes whose ids are not signed: leave it out");
    }
    guard
}

/// Only for schemes whose provider hands the secret over.
fn enrol_until(reader: &Reader<'_>, scheme: Option<&Scheme>) -> Option<Timestamp> {
    let until = time(reader, "enrol_until")?;
    match (reader.get("enrol_until"), scheme) {
        (Some(item), Some(scheme)) if !scheme.is_enrolled() => reader.note(
            item,
            "`enrol_until` is only for schemes whose provider hands the secret over (Asana): leave it out",
        ),
        _ => Some(until),
    }
}

fn time(reader: &Reader<'_>, key: &'static str) -> Option<Timestamp> {
    let item = reader.get(key)?;
    let text = match item.get_ref() {
        DeValue::Datetime(time) => time.to_string(),
        DeValue::String(text) => text.to_string(),
        _ => String::new(),
    };
    let time = text.parse().ok();
    time.or_else(|| {
        reader.note(
            item,
            format_args!("`{key}` must be a time with its offset, such as 2026-12-01T00:00:00Z"),
        )
    })
}

fn scheme(reader: &Reader<'_>) -> Option<Scheme> {
    let name = reader.need_string("scheme")?;
    if name.value == "hmac" {
        return generic(reader).map(|scheme| Scheme::Generic(Box::new(scheme)));
    }
    let scheme = Scheme::from_name(&name.value);
    if scheme.is_none() {
        let nearest = suggestion(&name.value, Scheme::names());
        reader.report.at(
            name.at,
            format!("{}: there is no scheme `{}`{nearest}", reader.place, name.value),
        );
        // Keys of a scheme that nobody knows are no mistakes of their own.
        let _: Option<GenericScheme> = GENERIC_KEYS.iter().find_map(|key| reader.get(key).and(None));
    }
    scheme
}

const GENERIC_KEYS: [&str; 11] = [
    "header",
    "prefix",
    "encoding",
    "algorithm",
    "signed",
    "timestamp",
    "separator",
    "id",
    "kind",
    "occurred_at",
    "scope",
];

fn generic(reader: &Reader<'_>) -> Option<GenericScheme> {
    let header = required(reader, "header", header_name);
    let signed = reader.parsed("signed", SignedTemplate::parse);
    let signed = match signed {
        None if reader.get("signed").is_none() => SignedTemplate::parse("{body}").ok(),
        found => found.map(|found| found.value),
    };
    let encoding = reader.word(
        "encoding",
        &[("hex", Encoding::Hex), ("base64", Encoding::Base64)],
    );
    let algorithm = reader.word(
        "algorithm",
        &[
            ("sha256", Algorithm::Sha256),
            ("sha512", Algorithm::Sha512),
            ("sha1", Algorithm::Sha1),
        ],
    );
    let timestamp = reader.table("timestamp").and_then(|table| {
        let header = required(&table, "header", header_name);
        let unit = table.word(
            "unit",
            &[("s", TimeUnit::Seconds), ("ms", TimeUnit::Milliseconds)],
        );
        table.finish();
        Some(GenericTimestamp {
            header: header?,
            unit: unit.unwrap_or(TimeUnit::Seconds),
        })
    });
    let prefix = reader
        .string("prefix")
        .map(|found| found.value)
        .unwrap_or_default();
    let separator = reader
        .string("separator")
        .map(|found| found.value)
        .filter(|text| !text.is_empty());
    let id = required(reader, "id", Location::parse);
    let optional = |key| reader.parsed(key, Location::parse).map(|found| found.value);
    let (kind, occurred_at, scope) = (optional("kind"), optional("occurred_at"), optional("scope"));
    let scheme = GenericScheme {
        header: header?,
        prefix,
        encoding: encoding.unwrap_or(Encoding::Hex),
        algorithm: algorithm.unwrap_or(Algorithm::Sha256),
        signed: signed?,
        timestamp,
        separator,
        id: id?,
        kind,
        occurred_at,
        scope,
    };
    if let Err(reason) = scheme.check() {
        reader.wrong(reason);
    }
    Some(scheme)
}

fn required<T>(
    reader: &Reader<'_>,
    key: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Option<T> {
    reader.need(key)?;
    reader.parsed(key, parse).map(|found| found.value)
}
