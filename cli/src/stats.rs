//! `oncehook stats`: how many came, how many came again, what was delivered and what waits. On AWS from the metrics, of
//! `oncehook dev` from the lines that it keeps: the same names, added up by the same code.

mod cloudwatch;
pub(crate) mod lines;
mod report;
mod show;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use jiff::{SignedDuration, Timestamp};
use oncehook_core::{clock::Clock as _, config::Config, outbox::OutboxState};
use oncehook_edge::SystemClock;

use crate::{
    answer::Answer,
    configuration,
    outbox::select,
    output,
    running::{DIRECTORY, Running},
    storage::Storage,
    when,
};
use report::Report;

/// Counted from then on unless told otherwise.
const USUAL: SignedDuration = SignedDuration::from_hours(24);

/// Arguments of `stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook stats                                       of `oncehook dev`, the last 24 hours
  oncehook stats --stack oncehook-live --since 7d      of a deployed stack, from its metrics
  oncehook stats --since 30d --json | jq '.sources[].days'

On AWS it needs cloudwatch:GetMetricData. Metrics come a minute or two late. Names are those of oncehook.toml.
Parked and dead are those that became so in this time; `oncehook outbox` lists what still is.")]
pub(crate) struct Args {
    /// A deployed stack; without it, `oncehook dev`.
    #[arg(long, value_name = "NAME")]
    stack: Option<String>,
    /// The stack's Region [default: the profile's, or AWS_REGION].
    #[arg(long, requires = "stack")]
    region: Option<String>,
    /// A profile of ~/.aws/config [default: AWS_PROFILE].
    #[arg(long, requires = "stack")]
    profile: Option<String>,
    /// The folder of `oncehook dev`.
    #[arg(long, value_name = "FOLDER", default_value = DIRECTORY, conflicts_with = "stack")]
    data: PathBuf,
    /// Count from then on: a time, or how long ago, such as 7d [default: 24h].
    #[arg(long, value_name = "WHEN", value_parser = when::when)]
    since: Option<Timestamp>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Counts and prints.
pub(crate) async fn run(file: &Path, args: &Args) -> anyhow::Result<Answer> {
    let until = SystemClock.now();
    let from = args.since.unwrap_or(until - USUAL).min(until);
    let report = match &args.stack {
        Some(stack) => {
            let config = configuration::load(file)?;
            let client = cloudwatch::Client::new(args.region.as_deref(), args.profile.as_deref()).await?;
            let from = cloudwatch::aligned(from, until);
            let samples = client.samples(stack, &config, from, until).await?;
            let mut report = Report::new(from, until, samples.iter());
            report.oldest_open = report::oldest(&samples, until);
            report.known(&config);
            report
        }
        None => {
            let mut report = Report::new(from, until, lines::read(&args.data)?.iter());
            let config = configuration::load(file).ok();
            report.oldest_open = oldest_open(&args.data, config.as_ref(), until).await?;
            if let Some(config) = &config {
                report.known(config);
            }
            report
        }
    };
    if args.json {
        output::json(&report.json());
    } else {
        report.show();
    }
    Ok(Answer::Yes)
}

/// The age in seconds of the oldest open item of each destination of a running `oncehook dev`; none if it does not run.
async fn oldest_open(
    data: &Path,
    config: Option<&Config>,
    now: Timestamp,
) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut oldest = BTreeMap::new();
    let Ok(running) = Running::read(data) else {
        return Ok(oldest);
    };
    if !crate::storage::answers(&running.endpoint).await {
        return Ok(oldest);
    }
    let place = Storage::at(Some(running.endpoint), Some(running.table))
        .place()
        .await?;
    let filter = select::Filter::default();
    let open = select::by_filter(&place, &place.ledger(None), config, &filter, &[OutboxState::Open]).await?;
    for item in open.iter().filter_map(|item| item.item()) {
        let age = now.duration_since(item.created_at).as_secs_f64().max(0.0);
        let known: &mut f64 = oldest.entry(item.destination.clone()).or_default();
        *known = known.max(age);
    }
    Ok(oldest)
}
