//! `oncehook`, the command line: runs Oncehook on this machine, sends it signed requests, and shows what it decided
//! and stored.
//!
//! Parses arguments and turns results into exit codes; each command is a module of its own. Nothing here is part
//! of a deployed function.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]
#![expect(clippy::disallowed_methods, reason = "a command line reads its environment")]

mod answer;
mod audit;
mod aws;
mod check;
mod completions;
mod configuration;
mod demo;
mod destinations;
mod dev;
#[cfg(test)]
mod documented;
mod event;
mod events;
mod operate;
mod outbox;
mod output;
mod plan;
mod post;
mod request;
mod running;
mod secret;
mod secrets;
mod send;
mod show;
mod signing;
mod sources;
mod stats;
mod storage;
mod verify;
mod when;

use std::{path::PathBuf, process::ExitCode};

use answer::{Answer, Misuse};
use clap::{Parser, Subcommand};

/// Receive signed webhooks and make each event take effect once.
#[derive(Debug, Parser)]
#[command(name = "oncehook", version, propagate_version = true, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    /// The configuration.
    #[arg(long, global = true, value_name = "FILE", default_value = "oncehook.toml")]
    config: PathBuf,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  oncehook dev                                      run everything here, without Docker or an AWS account
  oncehook send stripe invoice.payment_succeeded    a request signed as Stripe signs it
  oncehook events --failed                          what needs a person
  oncehook check                                    every mistake in oncehook.toml, with its line

Exit codes: 0 yes, 1 no or failed, 2 wrong usage or configuration.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything on this machine: receiver, database, queue, delivery.
    Dev(dev::Args),
    /// Watch Oncehook do its job, on free ports, with every number checked.
    Demo(demo::Args),
    /// Send a webhook, signed as its provider signs it.
    Send(send::Args),
    /// Print an event as AWS hands it to a function, freshly signed, for `sam local invoke`.
    Event(event::Args),
    /// Show what the rules would do with an event, without writing anything.
    Plan(plan::Args),
    /// Show stored events, or replay those that have not taken effect.
    Events(events::Args),
    /// Show effects: waiting, delivered, parked, dead; retry, resend or discard them.
    Outbox(outbox::Args),
    /// Show which APIs have a preset, and what is known of one.
    Destinations(destinations::Args),
    /// Show one event or outbox item with all that belongs to it.
    Show(show::Args),
    /// Count what came, what came again, what was delivered and what waits.
    Stats(stats::Args),
    /// Find out what duplicates, races and forgeries do at any webhook endpoint of yours.
    Audit(audit::Args),
    /// Find every mistake in the configuration.
    Check(check::Args),
    /// Set, list and drop the secrets of a deployed stack.
    Secret(secret::Args),
    /// Show the providers that are known, or all about one.
    Sources(sources::Args),
    /// Run signature test vectors through the verification code.
    Verify(verify::Args),
    /// Print a completion script for a shell.
    Completions(completions::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { config, command } = Cli::parse();
    match run(&config, command).await {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("oncehook: {error:#}");
            if error.is::<Misuse>() {
                ExitCode::from(2)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

async fn run(config: &std::path::Path, command: Command) -> anyhow::Result<Answer> {
    match command {
        Command::Dev(args) => dev::run(config, args).await.map(|()| Answer::Yes),
        Command::Demo(args) => demo::run(&args).await.map(|()| Answer::Yes),
        Command::Send(args) => send::run(config, &args).await,
        Command::Event(args) => event::run(config, &args).await,
        Command::Plan(args) => plan::run(config, &args),
        Command::Destinations(args) => destinations::run(&args),
        Command::Events(args) => events::run(config, &args).await,
        Command::Outbox(args) => outbox::run(config, &args).await,
        Command::Show(args) => show::run(config, &args).await,
        Command::Stats(args) => stats::run(config, &args).await,
        Command::Audit(args) => audit::run(config, &args).await,
        Command::Check(args) => check::run(config, &args),
        Command::Secret(args) => secret::run(config, args).await,
        Command::Sources(args) => sources::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Completions(args) => completions::run::<Cli>(&args),
    }
}
