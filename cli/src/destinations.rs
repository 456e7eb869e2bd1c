//! `oncehook destinations`: what is known of the APIs that have a preset, and of queues, functions and buses. Reads no
//! configuration and calls nothing.

use oncehook_core::{
    message::Service,
    preset::{Preset, markdown},
};

use crate::{
    answer::{Answer, misuse},
    output,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One preset, such as `resend`, or one kind, such as `sqs`; all without it.
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
        Some(name) if Service::all().any(|service| service.name == name) => {
            for service in Service::all().filter(|service| service.name == name) {
                if args.json {
                    output::json(&service.json());
                } else {
                    output::text(&service.section());
                }
            }
        }
        Some(name) => {
            let preset = Preset::named(name).map_err(misuse)?;
            if args.json {
                output::json(&preset.json());
            } else {
                output::text(&preset.section());
            }
        }
        None if args.json => {
            let presets = Preset::all().map(Preset::json);
            output::json(&presets.chain(Service::all().map(Service::json)).collect());
        }
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
    let row = |service: &Service| {
        [
            service.name,
            service.title,
            service.key,
            service.kept,
            service.promise,
        ]
        .map(|text| text.replace('`', ""))
        .to_vec()
    };
    output::line("");
    output::table(
        &["KIND", "SERVICE", "KEY", "RECOGNISED", "A LOST ANSWER"],
        Service::all().map(row).collect(),
    );
    output::note("`oncehook destinations NAME` says what its answers mean and where that was read.");
}
