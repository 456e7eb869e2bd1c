//! Reads `[source.NAME]`, and the description of a scheme of one's own (`scheme = "hmac"`).

use jiff::{SignedDuration, Timestamp};
use toml::de::DeValue;

use super::{SourceConfig, destination::header_name, reader::Reader, report::suggestion, units};
use crate::{
    decide::Mode,
    verify::{
        Algorithm, Encoding, GenericScheme, GenericTimestamp, Location, Scheme, SignedTemplate, TimeUnit,
    },
};

const RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long ids are remembered where a request could be sent again at any time.
const KEYS_WITHOUT_TIME: SignedDuration = SignedDuration::from_hours(400 * 24);
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
    let tolerance = reader.duration("tolerance", "1s", "1h");
    let success = reader
        .integer("success", 200, 299)
        .and_then(|status| u16::try_from(status).ok())
        .unwrap_or(200);
    let namespace = reader.parsed("namespace", |text| {
        super::parse::check_name(text).map(|()| text.to_owned())
    });
    let mode = reader
        .word("mode", &[("apply", Mode::Apply), ("observe", Mode::Observe)])
        .unwrap_or_default();
    let not_before = not_before(&reader);
    let networks = reader.parsed_list("networks", "a network in CIDR form, such as 192.0.2.0/24");
    let max_body = reader.parsed("max_body", |text| match units::size(text)? {
        size @ 1..=6_291_456 => Ok(size),
        _ => Err("must be 1B to 6MB, which is as much as a Lambda function is handed".to_owned()),
    });
    let retention = reader.duration("retention", "1d", "3650d").unwrap_or(RETENTION);
    let keys_for = reader.duration("keys_for", "1d", "3650d");
    if let Some(keys_for) = keys_for.filter(|keys_for| *keys_for < retention) {
        reader.wrong(format_args!(
            "`keys_for` is {}, shorter than `retention` ({}): an event's id must be known as long as its body",
            units::show(keys_for),
            units::show(retention)
        ));
    }
    let budget = reader
        .duration("budget", "500ms", "10s")
        .unwrap_or(SignedDuration::from_secs(2));
    reader.finish();
    let scheme = scheme?;
    let remembered = if scheme.signs_time() {
        retention
    } else {
        KEYS_WITHOUT_TIME.max(retention)
    };
    Some(SourceConfig {
        name: name.to_owned(),
        namespace: namespace.map_or_else(|| default_namespace(&scheme, name), |found| found.value),
        scheme,
        secrets: secrets.into_iter().map(|secret| secret.value).collect(),
        tolerance,
        success,
        mode,
        not_before,
        networks,
        max_body: max_body.map_or(MAX_BODY, |found| found.value),
        retention,
        keys_for: keys_for.unwrap_or(remembered),
        budget,
    })
}

/// A provider's ids are its own wherever they arrive; two sources of the generic scheme have nothing in common.
fn default_namespace(scheme: &Scheme, source: &str) -> String {
    match scheme {
        Scheme::Generic(_) => source.to_owned(),
        known => known.name().to_owned(),
    }
}

fn not_before(reader: &Reader<'_>) -> Option<Timestamp> {
    let item = reader.get("not_before")?;
    let text = match item.get_ref() {
        DeValue::Datetime(time) => time.to_string(),
        DeValue::String(text) => text.to_string(),
        _ => String::new(),
    };
    let time = text.parse().ok();
    time.or_else(|| {
        reader.note(
            item,
            "`not_before` must be a time with its offset, such as 2026-12-01T00:00:00Z",
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
        let nearest = suggestion(&name.value, Scheme::NAMES.iter().copied());
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
        &[("sha256", Algorithm::Sha256), ("sha512", Algorithm::Sha512)],
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
