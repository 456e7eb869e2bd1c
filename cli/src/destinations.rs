//! `oncehook destinations`: what is known of the APIs that have a preset. Reads no configuration and calls nothing.

use oncehook_core::preset::{Preset, markdown};

use crate::{
    answer::{Answer, misuse},
    output,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One preset, such as `resend`; all without it.
    name: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
    /// Print docs/destinations.md.
    #[arg(long, conflicts_with_all = ["name", "json"])]
    markdown: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    match &args.name {
        _ if args.markdown => output::text(&markdown()),
        Some(name) => {
            let preset = Preset::named(name).map_err(misuse)?;
            if args.json {
                output::json(&preset.json());
            } else {
                output::text(&preset.section());
            }
        }
        None if args.json => output::json(&Preset::all().map(Preset::json).collect()),
        None => list(),
    }
    Ok(Answer::Yes)
}

fn list() {
    let row = |preset: &Preset| {
        vec![
            preset.name.to_owned(),
            preset.title.to_owned(),
            preset.key_place().replace('`', ""),
            preset.keys.map_or("-", |keys| keys.kept).to_owned(),
            preset.promise().to_owned(),
        ]
    };
    output::table(
        &["PRESET", "API", "KEY", "KEPT", "A LOST ANSWER"],
        Preset::all().map(row).collect(),
    );
    output::note("`oncehook destinations NAME` says what its answers mean and where that was read.");
}
