//! The environment variables of the functions: those that they cannot start without, and those that nobody reads.

use oncehook_core::config::Config;
use oncehook_edge::{target_variable, variable};
use oncehook_local::template::Part;

use super::Context;
use crate::check::finding::Findings;

/// What every function needs, and what the ones with secrets need.
const NEEDED: [&str; 2] = ["ONCEHOOK_TABLE", "ONCEHOOK_QUEUE_URL"];
const LOG: &str = "ONCEHOOK_LOG";

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let known = known(context.config);
    for (id, what, secrets) in [
        ("Ingest", "the function that takes webhooks", true),
        ("Drain", "the function that makes the calls", true),
        ("Sweep", "the function that wakes what is due", false),
    ] {
        let Some(function) = context.resource(id, what, findings) else {
            continue;
        };
        let variables = function.variables();
        let place = || {
            let environment = function.property("Environment");
            environment.map_or_else(|| function.part.place(), |part| part.place())
        };
        for name in NEEDED
            .into_iter()
            .chain(secrets.then_some(oncehook_edge::SECRETS_PARAMETER))
        {
            let empty = variables
                .get(name)
                .is_none_or(|part| part.texts().iter().any(|text| text.trim().is_empty()));
            if empty {
                findings.error(
                    place(),
                    format!("{id} is without {name}: set it in its Environment or in Globals"),
                );
            }
        }
        for (name, part) in variables.iter().filter(|(name, _)| name.starts_with("ONCEHOOK_")) {
            if name.starts_with("ONCEHOOK_SECRET_") {
                let message = format!(
                    "{id} has {name} in its Environment, where all who may look at the function can read it: store the secret with \
                     `oncehook secret set` and remove this"
                );
                findings.warning(part.place(), message);
            } else if !known.iter().any(|known| known == name) {
                let message = format!(
                    "nobody reads {name}: is it the name of a table or destination that was renamed?"
                );
                findings.warning(part.place(), message);
            }
        }
        urls(context, &variables, findings);
    }
}

/// A URL in the environment takes the place of the configured one, and must be one that may be called.
fn urls(
    context: &Context<'_>,
    variables: &std::collections::BTreeMap<&str, Part<'_>>,
    findings: &mut Findings,
) {
    let destinations = context.config.destinations.values();
    for destination in destinations.filter(|destination| !destination.kind.is_aws()) {
        let name = &destination.name;
        let Some(part) = variables.get(variable("URL", name).as_str()) else {
            continue;
        };
        for url in part.texts().into_iter().filter(|url| !url.contains("${")) {
            if let Err(why) = context.config.clone().override_url(name, &url) {
                findings.error(part.place(), format!("[destination.{name}]: {why}"));
            }
        }
    }
}

fn known(config: &Config) -> Vec<String> {
    let fixed = NEEDED
        .into_iter()
        .chain([
            LOG,
            oncehook_edge::metrics::NAMESPACE,
            oncehook_edge::trace::TRACING,
            oncehook_edge::SECRETS_PARAMETER,
            oncehook_edge::BODIES,
        ])
        .map(str::to_owned);
    let tables = config.tables.keys().map(|name| variable("TABLE", name));
    let targets = config.destinations.values().map(target_variable);
    fixed.chain(tables).chain(targets).collect()
}
