//! `oncehook secret`: the secrets of a deployed stack, in the one parameter that its functions read.
//!
//! Values come in by standard input and never go out: not to the screen, not into an error. What a scheme or a
//! destination makes of a value is decided by the code that the functions use.

mod client;
mod input;
mod list;
mod parameter;
mod usage;
mod values;

use std::path::Path;

use clap::Subcommand;

use self::{client::Place, parameter::Written, usage::Usage, values::Values};
use crate::{
    answer::{Answer, misuse},
    configuration, output,
};

/// Arguments of `secret`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook secret set stripe --stack oncehook-live         asks for the value, without showing it
  pass stripe/live | oncehook secret set stripe --stack oncehook-live
  oncehook secret list --stack oncehook-live
  oncehook secret drop stripe --older --stack oncehook-live

These are the secrets of a deployed stack. `oncehook dev` reads ONCEHOOK_SECRET_NAME from its environment instead.
Needs AWS credentials: those of the environment, or of --profile (after `aws sso login`, where it is used).")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Set a secret; its former values stay valid beside the new one.
    Set(Set),
    /// Drop the older values of a secret, or all of it.
    Drop(Drop),
    /// Show which secrets are there, how many values each has, who uses them and which are missing.
    List(List),
}

#[derive(Debug, clap::Args)]
struct Set {
    /// A source or a destination of oncehook.toml, or the name of a secret there.
    name: String,
    #[command(flatten)]
    place: Place,
    /// Drop the former values: whoever still signs with one is refused at once.
    #[arg(long)]
    replace: bool,
    /// A KMS key to encrypt the parameter with [default: the one it has; for a new one the account's aws/ssm].
    #[arg(long, value_name = "KEY")]
    key_id: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Drop {
    /// A source or a destination of oncehook.toml, or the name of a secret there.
    name: String,
    #[command(flatten)]
    place: Place,
    /// Keep the first value only: the end of a rotation.
    #[arg(long, required_unless_present = "all", conflicts_with = "all")]
    older: bool,
    /// Drop every value: its sources then answer 503.
    #[arg(long)]
    all: bool,
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    place: Place,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs one of them.
pub(crate) async fn run(config: &Path, args: Args) -> anyhow::Result<Answer> {
    let config = configuration::load(config)?;
    match args.what {
        What::Set(args) => set(&Usage::find(&config, &args.name)?, args).await,
        What::Drop(args) => drop_values(&Usage::by_name(&config, &args.name)?, args).await,
        What::List(args) => {
            let parameter = args.place.parameter(None).await;
            list::run(&config, &parameter, args.json).await
        }
    }
}

async fn set(usage: &Usage<'_>, args: Set) -> anyhow::Result<Answer> {
    let name = &usage.name;
    let value = input::value(&format!(
        "Value of the secret `{name}`, used by {usage} (not shown): "
    ))
    .await?;
    usage.check(&value)?;
    let parameter = args.place.parameter(args.key_id).await;
    let change = |values: &mut Values| values.set(name, &value, args.replace);
    let written = parameter.update(&change).await?;
    if told(&written, parameter.name()) {
        let values = written.values.of(name).len();
        let older = match values {
            1 => "1 value".to_owned(),
            values => format!("{values} values, the new one first"),
        };
        output::line(format!("The secret `{name}` has {older}. It is used by {usage}."));
        output::line("Running functions take it up by themselves, at the next request that needs it.");
        if values > 1 {
            output::line(format!(
                "When nobody signs with the older any more: oncehook secret drop {name} --older {}",
                args.place
            ));
        }
    } else {
        output::line(format!(
            "The secret `{name}` has this value already, as its first: nothing was written."
        ));
    }
    Ok(Answer::Yes)
}

async fn drop_values(usage: &Usage<'_>, args: Drop) -> anyhow::Result<Answer> {
    let name = &usage.name;
    let parameter = args.place.parameter(None).await;
    let keep = usize::from(args.older);
    let change = |values: &mut Values| values.keep(name, keep);
    let before = parameter.read().await?;
    let count = before.map_or(0, |found| found.values.of(name).len());
    if count == 0 {
        return Err(misuse(format!(
            "there is no secret `{name}` in {}",
            parameter.name()
        )));
    }
    let written = parameter.update(&change).await?;
    if told(&written, parameter.name()) {
        let left = written.values.of(name).len();
        output::line(format!(
            "The secret `{name}` had {count} and now has {left} of its values."
        ));
        output::line("Functions that run still accept what was dropped, for five minutes at most.");
    } else {
        output::line(format!("The secret `{name}` has one value: nothing was written."));
    }
    Ok(Answer::Yes)
}

/// Says what was written, if anything was.
fn told(written: &Written, parameter: &str) -> bool {
    let Some(version) = written.version else {
        return false;
    };
    if written.merged {
        output::note(format!(
            "note: somebody else wrote {parameter} at the same moment; what they wrote was kept, with this change"
        ));
    }
    if written.advanced {
        output::note(
            "note: it holds more than 4 KB and is now of the advanced tier, which AWS charges for and which cannot be \
             undone; `oncehook secret drop` removes what is no longer used",
        );
    }
    output::line(format!("Wrote {parameter}, version {version}."));
    true
}
