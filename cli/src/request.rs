//! One request as its provider would make it: what `send` delivers and `event` prints.
//!
//! Sends nothing and looks at no answer.

pub(crate) mod payload;

use std::path::PathBuf;

use anyhow::Context as _;
use bytes::Bytes;
use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use oncehook_core::config::SourceConfig;

use crate::{answer::misuse, configuration, output, secrets, signing};

/// How a request is made and signed.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(crate) struct Options {
    /// Change one byte of the body after signing.
    #[arg(long)]
    pub(crate) tamper: bool,
    /// Sign with a wrong secret.
    #[arg(long)]
    pub(crate) forge: bool,
    /// Sign as if this long ago, such as 10m.
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    pub(crate) age: SignedDuration,
    /// The event's id [default: a new one].
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// When it happened: RFC 3339 or seconds since 1970 [default: the time of signing].
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) created: Option<Timestamp>,
    /// A body of your own, sent byte for byte; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    /// The secret to sign with.
    #[arg(long, value_name = "VALUE")]
    pub(crate) secret: Option<String>,
}

impl Options {
    /// Whether the request shall be believed, signed with the secret of this environment.
    pub(crate) fn is_genuine(&self) -> bool {
        !self.tamper && !self.forge && self.age.is_zero() && self.secret.is_none()
    }
}

/// A request ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// What the URL ends with, where the provider puts something there and signs it.
    pub(crate) query: Option<String>,
    pub(crate) id: String,
    pub(crate) kind: String,
}

impl Prepared {
    /// The URL to post to.
    pub(crate) fn url(&self, url: &str) -> String {
        match &self.query {
            Some(query) => format!("{url}{}{query}", if url.contains('?') { '&' } else { '?' }),
            None => url.to_owned(),
        }
    }
}

/// A request of a source, signed `options.age` before `now`.
///
/// # Errors
/// When the source cannot sign, or the options contradict the body.
pub(crate) fn prepare(
    config: &SourceConfig,
    kind: &str,
    options: &Options,
    now: Timestamp,
) -> anyhow::Result<Prepared> {
    let body = options.data.as_deref().map(configuration::read).transpose()?;
    prepare_with(config, kind, options, body.map(Bytes::from), now)
}

/// As [`prepare`], with this body whatever the options say.
///
/// # Errors
/// As there.
pub(crate) fn prepare_with(
    config: &SourceConfig,
    kind: &str,
    options: &Options,
    body: Option<Bytes>,
    now: Timestamp,
) -> anyhow::Result<Prepared> {
    let at = now.checked_sub(options.age).context("--age")?;
    let name = config.secrets.first().unwrap_or(&config.name);
    let secret = options.secret.clone().unwrap_or_else(|| secrets::first(name));
    let id = options
        .id
        .clone()
        .unwrap_or_else(|| payload::new_id(&config.scheme));
    let made = payload::make(&config.scheme, kind, &id, options.created.unwrap_or(at));
    let body = body.unwrap_or_else(|| Bytes::from(made.body));
    let genuine = signing::source(config, &secret)?;
    let mut request = signing::sign(&genuine, &id, kind, body.clone(), at, &made.headers)?;
    let event = signing::event(&genuine, request.clone(), at)?;
    if let (Some(event), Some(wanted)) = (&event, &options.id)
        // Some ids are made of several values, of which this is the first.
        && event.id != *wanted
        && event.id.split(':').next() != Some(wanted)
    {
        return Err(misuse(format!(
            "the id of this event is in its body, where it is `{}`: change it there, or leave --id out",
            event.id
        )));
    }
    let wanted = kind;
    let (id, kind) = event.map_or((id, kind.to_owned()), |event| (event.id, event.kind));
    if kind != wanted {
        output::note(format!(
            "note: this request's event type is `{kind}`, not `{wanted}`"
        ));
    }
    if options.forge {
        let wrong = secrets::dev_secret(&format!("{name}-forged"));
        let wrong = signing::source(config, &wrong)?;
        request = signing::sign(&wrong, &id, &kind, body, at, &made.headers)?;
    }
    let query = request.path_and_query.split_once('?');
    let query = query.map(|(_, query)| query.to_owned());
    let body = request.body;
    let body = if options.tamper { tamper(&body) } else { body };
    Ok(Prepared {
        headers: request.headers,
        body,
        query,
        id,
        kind,
    })
}

/// The body with one byte changed: its last digit, so that JSON stays JSON, or else its last byte.
fn tamper(body: &Bytes) -> Bytes {
    let mut bytes = body.to_vec();
    let at = bytes
        .iter()
        .rposition(u8::is_ascii_digit)
        .or_else(|| bytes.len().checked_sub(1));
    match at {
        Some(at) => bytes[at] ^= 1,
        None => bytes.push(b' '),
    }
    bytes.into()
}

/// A time on the command line.
pub(crate) fn time(text: &str) -> Result<Timestamp, String> {
    let parsed = match text.parse::<i64>() {
        Ok(seconds) => Timestamp::from_second(seconds),
        Err(_) => text.parse(),
    };
    parsed.map_err(|_| "neither RFC 3339, such as 2026-12-01T00:00:00Z, nor seconds since 1970".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tampering_changes_exactly_one_byte_of_any_body() {
        for body in ["{\"a\":15}", "{}", "x"] {
            let changed = tamper(&Bytes::from_static(body.as_bytes()));
            let differ = changed
                .iter()
                .zip(body.as_bytes())
                .filter(|(a, b)| a != b)
                .count();
            assert_eq!((changed.len(), differ), (body.len(), 1), "{body}");
        }
        assert_eq!(tamper(&Bytes::new()).len(), 1);
    }
}
