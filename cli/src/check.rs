//! `oncehook check`: what is wrong, before it is built or deployed. Reads the configuration, the deployment template and
//! what was accepted before; prints every finding with its place and its remedy.
//!
//! Changes nothing, except what was accepted, and that only with `--accept`.

mod accepted;
mod destinations;
mod finding;
mod memory;
mod places;
mod show;
mod template;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use finding::{Findings, Severity};
use oncehook_core::{
    config::{Config, SourceConfig},
    rules::Rules,
};
use oncehook_edge::Environment;
use places::Places;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, misuse},
    output,
};

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook check
  oncehook check --strict                           in CI: warnings fail, too
  oncehook check --accept                           a change of names is meant; writes oncehook.lock
  oncehook check --parameter LongestCall=30         as it will be deployed

Findings go to standard error as file:line:column: message. Exits with 2 if there is an error.")]
pub(crate) struct Args {
    /// The deployment template; template.yaml beside the configuration unless given.
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,
    /// Check the configuration alone.
    #[arg(long, conflicts_with = "template")]
    no_template: bool,
    /// A parameter of the template as it will be deployed; repeat for several. Defaults count otherwise.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    parameter: Vec<(String, String)>,
    /// Accept changes that forget or strand something, and write them to the lock file beside the configuration.
    #[arg(long)]
    accept: bool,
    /// Fail on warnings as well.
    #[arg(long)]
    strict: bool,
    /// Warn about every secret that has no value in this environment.
    #[arg(long)]
    secrets: bool,
    /// Print the summary and the findings as JSON.
    #[arg(long)]
    json: bool,
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Checks.
pub(crate) fn run(file: &Path, args: &Args) -> anyhow::Result<Answer> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        misuse(format!(
            "cannot read {}: {error}; give another with --config",
            file.display()
        ))
    })?;
    let mut findings = Findings::default();
    let environment = Environment::process();
    let config = configuration(&text, file, &mut findings);
    let places = Places::new(file.display().to_string(), &text);
    if let (Some(config), Some(places)) = (&config, &places) {
        all(config, places, file, args, &environment, &mut findings)?;
    }
    report(config.as_ref(), file, args, &environment, findings)
}

/// The configuration, if it has no mistakes.
fn configuration(text: &str, file: &Path, findings: &mut Findings) -> Option<Config> {
    let config = match Config::parse(text, &file.display().to_string()) {
        Ok(config) => config,
        Err(errors) => {
            errors.lines().iter().for_each(|line| findings.placed(line));
            return None;
        }
    };
    if let Err(error) = Rules::new(&config) {
        findings.placed(&format!("{}: {error}", file.display()));
        return None;
    }
    Some(config)
}

fn all(
    config: &Config,
    places: &Places<'_>,
    file: &Path,
    args: &Args,
    environment: &Environment,
    findings: &mut Findings,
) -> anyhow::Result<()> {
    let template = template_file(file, args)?;
    destinations::check(config, places, template.is_some(), findings);
    destinations::secrets(config, places, environment, args.secrets, findings);
    destinations::names(config, places, findings);
    match &template {
        Some(template) => {
            let parameters: BTreeMap<String, String> = args.parameter.iter().cloned().collect();
            template::check(config, places, template, &parameters, findings);
            let names = secret_names(config);
            if !names.is_empty() {
                let names = names.into_iter().collect::<Vec<_>>().join("`, `");
                findings.note(None, format!("on AWS the stack's parameter must hold the secrets `{names}`: `oncehook secret set NAME`"));
            }
        }
        None if args.no_template => {}
        None => findings.note(
            None,
            format!(
                "there is no template.yaml beside {}: only the configuration was checked",
                file.display()
            ),
        ),
    }
    // Where nothing is deployed yet, nothing can be forgotten.
    let deployed = template.is_some() || args.no_template;
    accepted::check(config, places, file, (args.accept, deployed), findings)
}

fn template_file(file: &Path, args: &Args) -> anyhow::Result<Option<PathBuf>> {
    if args.no_template {
        return Ok(None);
    }
    if let Some(given) = &args.template {
        return if given.is_file() {
            Ok(Some(given.clone()))
        } else {
            Err(misuse(format!(
                "there is no template {}; give another with --template",
                given.display()
            )))
        };
    }
    let beside = file.with_file_name("template.yaml");
    Ok(beside.is_file().then_some(beside))
}

fn secret_names(config: &Config) -> BTreeSet<&str> {
    let sources = config.sources.values().flat_map(SourceConfig::secret_names);
    let destinations = config
        .destinations
        .values()
        .filter_map(|destination| destination.secret.as_ref());
    sources.chain(destinations).map(String::as_str).collect()
}

fn report(
    config: Option<&Config>,
    file: &Path,
    args: &Args,
    environment: &Environment,
    findings: Findings,
) -> anyhow::Result<Answer> {
    let (errors, warnings) = (findings.count(Severity::Error), findings.count(Severity::Warning));
    let valid = errors == 0 && (warnings == 0 || !args.strict);
    let findings = findings.into_sorted();
    if args.json {
        let mut summary = config.map_or_else(|| json!({}), show::summary);
        summary["valid"] = valid.into();
        summary["findings"] = findings
            .iter()
            .map(finding::Finding::json)
            .collect::<Vec<Value>>()
            .into();
        output::json(&summary);
    } else {
        if let (true, Some(config)) = (valid, config) {
            show::show(config, file, environment);
        }
        findings.iter().for_each(|finding| output::note(finding.line()));
    }
    if valid {
        return Ok(Answer::Yes);
    }
    let count = |number: usize, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
    Err(misuse(match (errors, warnings) {
        (0, warnings) => format!("{} (--strict)", count(warnings, "warning")),
        (errors, 0) => count(errors, "mistake"),
        (errors, warnings) => format!("{}, {}", count(errors, "mistake"), count(warnings, "warning")),
    }))
}
