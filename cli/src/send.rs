//! `oncehook send`: one webhook, signed as its provider signs it, delivered as often as wanted.
//!
//! Does not retry and does not look at what the receiver stored: every answer is shown as it came.

mod curl;
pub(crate) mod deliveries;

use std::path::Path;

use oncehook_core::clock::Clock as _;
use oncehook_edge::SystemClock;

use crate::{
    answer::Answer,
    configuration, output,
    request::{self, Options},
    running::{DIRECTORY, Running},
    secrets,
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
    #[command(flatten)]
    options: Options,
    /// Print a curl command instead of sending.
    #[arg(long)]
    print_curl: bool,
    /// Print the answers as JSON.
    #[arg(long)]
    json: bool,
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
    let prepared = request::prepare(source, &args.kind, &args.options, SystemClock.now())?;
    let url = prepared.url(&url);
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
    let name = source.secrets.first().unwrap_or(&source.name);
    if args.options.is_genuine()
        && sent.iter().any(deliveries::Sent::is_refused)
        && let Some(hint) = secrets::refused_hint(name)
    {
        output::note(hint);
    }
    Ok(Answer::from_bool(sent.iter().all(deliveries::Sent::is_success)))
}
