//! `oncehook send`: one webhook, signed as its provider signs it, delivered as often as wanted.
//!
//! Does not retry and does not look at what the receiver stored: every answer is shown as it came.

mod curl;
mod deliveries;
mod payload;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bytes::Bytes;
use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{clock::Clock as _, config::SourceConfig};
use oncehook_edge::SystemClock;

use crate::{
    answer::{Answer, misuse},
    configuration, output,
    running::{DIRECTORY, Running},
    secrets, signing,
};

/// Arguments of `send`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook send stripe invoice.payment_succeeded
  oncehook send stripe invoice.payment_succeeded --id evt_1 --times 8 --concurrently
  oncehook send stripe invoice.payment_succeeded --tamper         answered with 401
  oncehook send stripe customer.subscription.updated --age 10m    signed ten minutes ago: 401
  oncehook send github push --data push.json --print-curl
  oncehook send app order.paid --url https://example.com/hooks --secret whsec_...

Without a secret in ONCEHOOK_SECRET_NAME the development secret is used that `oncehook dev` expects.
Exits with 1 if any answer is not 2xx.")]
pub(crate) struct Args {
    /// A source of oncehook.toml, or the name of a scheme if there is no oncehook.toml.
    source: String,
    /// The event type, such as invoice.payment_succeeded or push.
    kind: String,
    /// Where to send it [default: the running `oncehook dev`, or http://127.0.0.1:3000/webhooks/SOURCE].
    #[arg(long)]
    url: Option<String>,
    /// How many times the same request is delivered, each on a connection of its own.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    times: u16,
    /// Start all deliveries at once.
    #[arg(long)]
    concurrently: bool,
    /// Change one byte of the body after signing.
    #[arg(long)]
    tamper: bool,
    /// Sign with a wrong secret.
    #[arg(long)]
    forge: bool,
    /// Sign as if this long ago, such as 10m.
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    age: SignedDuration,
    /// The event's id [default: a new one].
    #[arg(long)]
    id: Option<String>,
    /// When it happened: RFC 3339 or seconds since 1970 [default: the time of signing].
    #[arg(long, value_name = "TIME", value_parser = time)]
    created: Option<Timestamp>,
    /// A body of your own, sent byte for byte; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The secret to sign with.
    #[arg(long, value_name = "VALUE")]
    secret: Option<String>,
    /// Print a curl command instead of sending.
    #[arg(long)]
    print_curl: bool,
    /// Print the answers as JSON.
    #[arg(long)]
    json: bool,
}

/// A request ready to be sent.
#[derive(Debug, Clone)]
struct Prepared {
    headers: HeaderMap,
    body: Bytes,
    id: String,
    kind: String,
}

/// Sends, or prints the command that would.
pub(crate) async fn run(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    let config = configuration::load_or_schemes(config)?;
    let source = configuration::source(&config, &args.source)?;
    let url = args.url.clone().unwrap_or_else(|| {
        let default = || format!("http://127.0.0.1:3000/webhooks/{}", args.source);
        Running::read(Path::new(DIRECTORY))
            .map_or_else(|_| default(), |running| running.webhook(&args.source))
    });
    let prepared = prepare(source, args)?;
    if args.print_curl {
        output::line(curl::command(&url, &prepared.headers, &prepared.body)?);
        return Ok(Answer::Yes);
    }
    let sent = deliveries::all(&url, &prepared, args.times, args.concurrently).await?;
    if args.json {
        output::json(&sent.iter().map(deliveries::Sent::to_json).collect());
    } else {
        deliveries::show(&url, &prepared, &sent);
    }
    Ok(Answer::from_bool(sent.iter().all(deliveries::Sent::is_success)))
}

fn prepare(config: &SourceConfig, args: &Args) -> anyhow::Result<Prepared> {
    let now = SystemClock.now();
    let at = now.checked_sub(args.age).context("--age")?;
    let name = config.secrets.first().unwrap_or(&config.name);
    let secret = args.secret.clone().unwrap_or_else(|| secrets::first(name));
    let id = args.id.clone().unwrap_or_else(|| payload::new_id(&config.scheme));
    let made = payload::make(&config.scheme, &args.kind, &id, args.created.unwrap_or(at));
    let body = match &args.data {
        Some(file) => configuration::read(file)?.into(),
        None => Bytes::from(made.body),
    };
    let genuine = signing::source(config, &secret)?;
    let mut headers = signing::sign(&genuine, &id, &args.kind, &body, at, &made.headers)?;
    let event = signing::event(&genuine, headers.clone(), body.clone(), at)?;
    if let (Some(event), Some(wanted)) = (&event, &args.id)
        && event.id != *wanted
    {
        return Err(misuse(format!(
            "the id of this event is in its body, where it is `{}`: change it there, or leave --id out",
            event.id
        )));
    }
    let (id, kind) = event.map_or((id, args.kind.clone()), |event| (event.id, event.kind));
    if kind != args.kind {
        output::note(format!(
            "note: this request's event type is `{kind}`, not `{}`",
            args.kind
        ));
    }
    if args.forge {
        let wrong = secrets::dev_secret(&format!("{name}-forged"));
        headers = signing::sign(
            &signing::source(config, &wrong)?,
            &id,
            &kind,
            &body,
            at,
            &made.headers,
        )?;
    }
    let body = if args.tamper { tamper(&body) } else { body };
    Ok(Prepared {
        headers,
        body,
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

fn time(text: &str) -> Result<Timestamp, String> {
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
