//! The summary of a valid configuration, for people and as JSON.

use std::path::Path;

use oncehook_core::config::Config;
use oncehook_edge::{Environment, variable};
use serde_json::{Value, json};

use crate::output;

/// For people.
pub(super) fn show(config: &Config, file: &Path, environment: &Environment) {
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
        let target = match destination.url.as_str() {
            "" => format!("({})", oncehook_edge::target_variable(destination)),
            url => url.to_owned(),
        };
        let call = format!("{} {target}", destination.method);
        vec![
            destination.name.clone(),
            call,
            output::or_dash(destination.secret.as_ref().map(secret).as_deref()),
        ]
    });
    for (head, rows) in [
        (["source", "scheme", "secret here"], sources.collect::<Vec<_>>()),
        (["rule", "source", "events"], rules.collect()),
        (["destination", "call", "secret here"], destinations.collect()),
    ] {
        if !rows.is_empty() {
            output::line("");
            output::table(&head, rows);
        }
    }
}

/// As JSON.
pub(super) fn summary(config: &Config) -> Value {
    let sources = config.sources.values().map(
        |source| json!({ "name": source.name, "scheme": source.scheme.name(), "secrets": source.secrets }),
    );
    let rules = config
        .rules
        .iter()
        .map(|rule| json!({ "name": rule.name, "source": rule.source, "events": rule.events }));
    let destinations = config.destinations.values().map(|destination| {
        json!({
            "name": destination.name, "kind": destination.kind.name(), "method": destination.method, "url": destination.url,
        })
    });
    json!({
        "sources": sources.collect::<Vec<_>>(),
        "rules": rules.collect::<Vec<_>>(),
        "tables": config.tables.keys().collect::<Vec<_>>(),
        "destinations": destinations.collect::<Vec<_>>(),
    })
}
