//! `oncehook check`: every mistake of the configuration at once, or a summary of it.
//!
//! Knows no rule of the configuration; that the values of secrets are present is all that it adds.

use std::path::Path;

use oncehook_core::{
    config::{Config, SourceConfig},
    rules::Rules,
};
use oncehook_edge::{Environment, variable};
use serde_json::{Value, json};

use crate::{
    answer::{Answer, misuse},
    output, signing,
};

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook check
  oncehook check --config staging.toml --json

Mistakes go to standard error as file:line:column: message. Exits with 2 if there is one.
The build of the functions makes the same check.")]
pub(crate) struct Args {
    /// Print the summary, or the mistakes, as JSON.
    #[arg(long)]
    json: bool,
}

/// Checks.
pub(crate) fn run(file: &Path, args: &Args) -> anyhow::Result<Answer> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        misuse(format!(
            "cannot read {}: {error}; give another with --config",
            file.display()
        ))
    })?;
    let checked = Config::parse(&text, &file.display().to_string()).map_err(|errors| errors.lines().to_vec());
    let config = match checked.and_then(|config| with_rules(config, file)) {
        Ok(config) => config,
        Err(mistakes) => {
            for mistake in &mistakes {
                output::note(mistake);
            }
            if args.json {
                output::json(&json!({ "valid": false, "mistakes": mistakes }));
            }
            return Err(misuse(match mistakes.len() {
                1 => "1 mistake".to_owned(),
                many => format!("{many} mistakes"),
            }));
        }
    };
    let environment = Environment::process();
    let warnings = warnings(&config, &environment);
    if args.json {
        output::json(&summary(&config, &warnings));
    } else {
        show(&config, file, &environment);
        for warning in &warnings {
            output::note(format!("warning: {warning}"));
        }
    }
    Ok(Answer::Yes)
}

/// The rules compile as well.
fn with_rules(config: Config, file: &Path) -> Result<Config, Vec<String>> {
    match Rules::new(&config) {
        Ok(_) => Ok(config),
        Err(error) => Err(vec![format!("{}: {error}", file.display())]),
    }
}

/// Secrets that are missing or unusable in this environment.
fn warnings(config: &Config, environment: &Environment) -> Vec<String> {
    let value = |name: &str| {
        environment
            .get(&variable("SECRET", name))
            .filter(|value| !value.trim().is_empty())
    };
    let mut warnings = Vec::new();
    for source in config.sources.values() {
        for name in &source.secrets {
            let place = format!("source `{}`: {}", source.name, variable("SECRET", name));
            match value(name) {
                None => warnings.push(format!(
                    "{place} is not set here (`oncehook dev` uses a development secret)"
                )),
                Some(value) => warnings.extend(unusable(source, &value).map(|why| format!("{place}: {why}"))),
            }
        }
    }
    for destination in config.destinations.values() {
        if let Some(name) = destination.secret.as_ref().filter(|name| value(name).is_none()) {
            warnings.push(format!(
                "destination `{}`: {} is not set here",
                destination.name,
                variable("SECRET", name)
            ));
        }
    }
    warnings
}

fn unusable(source: &SourceConfig, value: &str) -> Option<String> {
    let mut lines = value.lines().filter(|line| !line.trim().is_empty());
    lines
        .find_map(|line| signing::source(source, line).err())
        .map(|error| error.to_string())
}

fn show(config: &Config, file: &Path, environment: &Environment) {
    let count = |number: usize, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
    output::line(format!(
        "{} is valid: {}, {}, {}, {}",
        file.display(),
        count(config.sources.len(), "source"),
        count(config.rules.len(), "rule"),
        count(config.tables.len(), "table"),
        count(config.destinations.len(), "destination"),
    ));
    let secret = |name: &String| {
        let variable = variable("SECRET", name);
        let state = if environment.get(&variable).is_some() {
            "set"
        } else {
            "not set"
        };
        format!("{variable} ({state})")
    };
    let sources = config.sources.values().map(|source| {
        let secrets = source.secrets.iter().map(secret).collect::<Vec<_>>().join(", ");
        vec![source.name.clone(), source.scheme.name().to_owned(), secrets]
    });
    let rules = config
        .rules
        .iter()
        .map(|rule| vec![rule.name.clone(), rule.source.clone(), rule.events.join(", ")]);
    let destinations = config.destinations.values().map(|destination| {
        let call = format!("{} {}", destination.method, destination.url);
        vec![
            destination.name.clone(),
            call,
            output::or_dash(destination.secret.as_ref().map(secret).as_deref()),
        ]
    });
    for (head, rows) in [
        (["source", "scheme", "secret"], sources.collect::<Vec<_>>()),
        (["rule", "source", "events"], rules.collect()),
        (["destination", "call", "secret"], destinations.collect()),
    ] {
        if !rows.is_empty() {
            output::line("");
            output::table(&head, rows);
        }
    }
}

fn summary(config: &Config, warnings: &[String]) -> Value {
    let sources = config.sources.values().map(
        |source| json!({ "name": source.name, "scheme": source.scheme.name(), "secrets": source.secrets }),
    );
    let rules = config
        .rules
        .iter()
        .map(|rule| json!({ "name": rule.name, "source": rule.source, "events": rule.events }));
    let destinations = config.destinations.values().map(|destination| {
        json!({ "name": destination.name, "method": destination.method, "url": destination.url })
    });
    json!({
        "valid": true,
        "sources": sources.collect::<Vec<_>>(),
        "rules": rules.collect::<Vec<_>>(),
        "tables": config.tables.keys().collect::<Vec<_>>(),
        "destinations": destinations.collect::<Vec<_>>(),
        "warnings": warnings,
    })
}
