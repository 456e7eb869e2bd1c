//! `oncehook event`: what AWS hands to a function, on standard output. Signatures age, so each run signs afresh.
//!
//! Invokes nothing. The fixtures in `events/` are what this prints for a fixed time.

mod fixture;
mod gateway;
mod messages;

use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    answer::{Answer, misuse},
    configuration, output,
    request::{Options, time},
    storage::Storage,
};
use fixture::{FIXTURES, Fixture, Made};

/// Arguments of `event`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook event --list
  oncehook event applied | sam local invoke Ingest -e -
  oncehook event applied --id evt_2                         another event, another payment
  oncehook event applied --source github --kind push        any source of oncehook.toml
  oncehook event applied --kind customer.created --data customer.json --base64
  oncehook event batch --from-outbox | sam local invoke Drain -e -
  oncehook event sweep | sam local invoke Sweep -e -

The secret is ONCEHOOK_SECRET_NAME of the source, or the development secret that `oncehook dev` uses.
The function must have the same one.")]
pub(crate) struct Args {
    /// The name of the event.
    #[arg(required_unless_present = "list", value_parser = fixture::names())]
    name: Option<String>,
    /// Show the names.
    #[arg(long)]
    list: bool,
    /// A source of oncehook.toml, or the name of a scheme if there is no oncehook.toml [default: stripe].
    #[arg(long, value_name = "NAME", requires = "kind")]
    source: Option<String>,
    /// The event type, such as push [default: the fixture's].
    #[arg(long, value_name = "TYPE")]
    kind: Option<String>,
    #[command(flatten)]
    options: Options,
    /// Hand the body over in base64, as API Gateway does with types that are not text.
    #[arg(long)]
    base64: bool,
    /// When API Gateway takes the request [default: now].
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<Timestamp>,
    /// Wake up to ten open items that are really in the table, instead of the fixture's.
    #[arg(long)]
    from_outbox: bool,
    /// For --from-outbox: a DynamoDB endpoint [default: the running `oncehook dev`, or AWS if a table is given].
    #[arg(long, value_name = "URL", requires = "from_outbox")]
    endpoint: Option<String>,
    /// For --from-outbox: Oncehook's table [default: ONCEHOOK_TABLE, or that of the running `oncehook dev`].
    #[arg(long, value_name = "NAME", requires = "from_outbox")]
    table: Option<String>,
}

/// Prints the event.
pub(crate) async fn run(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    let Some(fixture) = args
        .name
        .as_deref()
        .and_then(fixture::find)
        .filter(|_| !args.list)
    else {
        let rows = FIXTURES.iter().map(Fixture::row).collect();
        output::table(&["name", "function", "what it is"], rows);
        return Ok(Answer::Yes);
    };
    let event = match &fixture.made {
        Made::Request(case) => {
            refuse(
                args.from_outbox,
                fixture,
                "--from-outbox",
                "batches of SQS messages",
            )?;
            let config = configuration::load_or_schemes(config)?;
            gateway::event(&config, fixture.name, case, args)?
        }
        Made::Stored(json) => {
            let signs = args.options != Options::default() || args.kind.is_some() || args.base64;
            refuse(
                signs,
                fixture,
                "what shapes and signs a request",
                "requests to Ingest",
            )?;
            let stored: Value = serde_json::from_str(json)?;
            if args.from_outbox {
                refuse(
                    stored["Records"].is_null(),
                    fixture,
                    "--from-outbox",
                    "batches of SQS messages",
                )?;
                let storage = Storage::at(args.endpoint.clone(), args.table.clone());
                messages::from_outbox(&storage.open().await?, &stored["Records"][0]).await?
            } else {
                stored
            }
        }
    };
    output::json(&event);
    Ok(Answer::Yes)
}

fn refuse(given: bool, fixture: &Fixture, option: &str, wanted: &str) -> anyhow::Result<()> {
    if given {
        return Err(misuse(format!(
            "{option} is for {wanted}; `{}` is none: leave it out",
            fixture.name
        )));
    }
    Ok(())
}
