//! `oncehook plan`: what the rules make of an event, without writing or sending anything.
//!
//! The event takes the way of a real one: signed as its provider signs, verified, read, decided. Guards are shown,
//! not asked: whether one would skip a rule depends on what is stored.

mod json;
mod show;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bytes::Bytes;
use http::HeaderMap;
use oncehook_core::{
    clock::Clock as _,
    config::{Config, SourceConfig},
    decide::{Decision, decide},
    event::Event,
    rules::{Explained, Rules},
};
use oncehook_edge::SystemClock;

use crate::{
    answer::{Answer, misuse},
    configuration, output, secrets, signing,
};

/// Arguments of `plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook plan invoice.json
  oncehook plan push.json --source github --kind push
  oncehook events evt_1 --json | jq '.[0].body' | oncehook plan -

Exits with 1 if the event would fail.")]
pub(crate) struct Args {
    /// The body of an event; `-` reads standard input.
    file: PathBuf,
    /// The source [default: the only one of the configuration].
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// The event type, for providers that send it in a header.
    #[arg(long, default_value = "")]
    kind: String,
    /// The event's id, for providers that send it in a header.
    #[arg(long, default_value = "plan")]
    id: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What would happen.
#[derive(Debug)]
struct Planned {
    event: Event,
    explained: Vec<Explained>,
    decision: Decision,
}

/// Plans.
pub(crate) fn run(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    let config = configuration::load(config)?;
    let source = source(&config, args.source.as_deref())?;
    let body = Bytes::from(configuration::read(&args.file)?);
    let Some(event) = event(source, body, &args.kind, &args.id)? else {
        output::note("this is a handshake: it is answered and is no event");
        return Ok(Answer::Yes);
    };
    if event.kind.is_empty() && event.defect.is_none() {
        output::note("note: this event has no type in its body: give the provider's header with --kind");
    }
    let rules = Rules::new(&config).map_err(|error| misuse(error.to_string()))?;
    let planned = plan(source, &rules, event);
    if args.json {
        output::json(&json::planned(&planned));
    } else {
        show::planned(&planned);
    }
    Ok(Answer::from_bool(!matches!(planned.decision, Decision::Fail(_))))
}

/// What these rules make of an event of this source.
fn plan(source: &SourceConfig, rules: &Rules, event: Event) -> Planned {
    let explained = if event.defect.is_none() {
        rules.explain(&event)
    } else {
        Vec::new()
    };
    Planned {
        decision: decide(source.mode, source.not_before, rules, &event),
        explained,
        event,
    }
}

/// The same for scripts.
pub(crate) fn to_json(source: &SourceConfig, rules: &Rules, event: Event) -> serde_json::Value {
    json::planned(&plan(source, rules, event))
}

fn source<'c>(config: &'c Config, name: Option<&str>) -> anyhow::Result<&'c SourceConfig> {
    match (name, config.sources.len()) {
        (Some(name), _) => configuration::source(config, name),
        (None, 1) => config.sources.values().next().context("a source"),
        (None, _) => {
            let names: Vec<String> = config.sources.keys().map(|name| format!("`{name}`")).collect();
            Err(misuse(format!(
                "whose event is it? Name one with --source: {}",
                names.join(", ")
            )))
        }
    }
}

/// The event that a body would be, signed as its provider signs; none for a handshake.
///
/// # Errors
/// When the source cannot sign it, or would not believe it.
pub(crate) fn event(
    config: &SourceConfig,
    body: Bytes,
    kind: &str,
    id: &str,
) -> anyhow::Result<Option<Event>> {
    let now = SystemClock.now();
    let name = config.secrets.first().unwrap_or(&config.name);
    let source = signing::source(config, &secrets::dev_secret(name))?;
    let request = signing::sign(&source, id, kind, body, now, &HeaderMap::new())?;
    signing::event(&source, request, now)
}
