//! Destinations that the configuration allows and that are probably not meant so, and secrets that cannot be used.
//!
//! What a destination must have is checked where the configuration is read.

use oncehook_core::{
    config::{Auth, Config, DestinationConfig, Kind, SourceConfig},
    secret::Secret,
};
use oncehook_drain::Unsendable;
use oncehook_edge::{Environment, target_variable, variable};

use super::{finding::Findings, places::Places};
use crate::signing;

/// Checks every destination by itself.
pub(super) fn check(config: &Config, places: &Places<'_>, deployed: bool, findings: &mut Findings) {
    for destination in config.destinations.values() {
        let name = destination.name.as_str();
        let path = ["destination", name];
        // A preset without keys says so itself.
        let described = destination.idempotency.is_some() || destination.preset.is_some();
        if destination.kind.is_aws() {
            service(destination, places, findings);
        } else if !described && !places.has(&["destination", name, "on_ambiguous"]) {
            findings.warning(
                places.of(&path),
                format!(
                    "[destination.{name}] has no `idempotency`: a call that may have happened waits for a person; name its preset (`oncehook destinations`), \
                     describe the keys that its documentation offers, or write on_ambiguous = \"park\" if it has none"
                ),
            );
        }
        if destination.auth == Auth::None
            && !destination.kind.is_aws()
            && !places.has(&["destination", name, "auth"])
        {
            findings.warning(
                places.of(&path),
                format!(
                    "[destination.{name}] has no `secret`: anybody may call it; name one, or write auth = \"none\" if that is meant"
                ),
            );
        }
        if deployed && destination.url.starts_with("http://") {
            findings.error(
                places.of(&["destination", name, destination.kind.target()]),
                format!(
                    "[destination.{name}] `{}` is an address of this machine, which no deployed function reaches: give the real \
                     one, and for this machine set {}",
                    destination.kind.target(),
                    target_variable(destination)
                ),
            );
        }
        if !config
            .rules
            .iter()
            .any(|rule| rule.effects.iter().any(|effect| effect.destination == name))
        {
            findings.note(
                Some(places.of(&path)),
                format!("no rule has an effect for [destination.{name}]"),
            );
        }
    }
}

/// A queue, function or bus takes a repetition twice, unless it or its receiver recognises the key.
fn service(destination: &DestinationConfig, places: &Places<'_>, findings: &mut Findings) {
    let name = destination.name.as_str();
    if destination.idempotency.is_none() && !places.has(&["destination", name, "on_ambiguous"]) {
        let receiver = match destination.kind {
            Kind::Lambda => "the function",
            _ => "its receiver",
        };
        findings.warning(
            places.of(&["destination", name]),
            format!(
                "[destination.{name}] takes a repeated message twice, so a call that may have happened waits for a person: if {receiver} \
                 recognises the idempotency key, write idempotency = {{ retention = \"..\" }}, for how long; else on_ambiguous = \
                 \"resend\" (at least once) or \"park\""
            ),
        );
    }
}

/// Checks the secrets of this environment: unusable ones always, missing ones if asked to.
pub(super) fn secrets(
    config: &Config,
    places: &Places<'_>,
    environment: &Environment,
    missing: bool,
    findings: &mut Findings,
) {
    let mut check =
        |name: &str, path: [&str; 3], whose: String, unusable: &dyn Fn(&str) -> Option<String>| {
            let variable = variable("SECRET", name);
            let value = environment
                .get(&variable)
                .filter(|value| !value.trim().is_empty());
            match value {
                None if missing => {
                    findings.warning(places.of(&path), format!("{whose}: {variable} is not set here"));
                }
                None => {}
                Some(value) => {
                    if let Some(why) = unusable(&value) {
                        findings.error(places.of(&path), format!("{whose}: {variable}: {why}"));
                    }
                }
            }
        };
    for source in config.sources.values() {
        for name in &source.secrets {
            let path = ["source", source.name.as_str(), "secret"];
            check(name, path, format!("[source.{}]", source.name), &|value| {
                of_source(source, value)
            });
        }
    }
    for destination in config.destinations.values() {
        if let Some(name) = &destination.secret {
            let path = ["destination", destination.name.as_str(), "secret"];
            let whose = format!("[destination.{}]", destination.name);
            check(name, path, whose, &|value| of_destination(destination, value));
        }
    }
}

fn of_source(source: &SourceConfig, value: &str) -> Option<String> {
    let mut lines = value.lines().filter(|line| !line.trim().is_empty());
    let error = lines.find_map(|line| signing::source(source, line).err());
    error.map(|error| error.to_string())
}

/// Destinations use the first value.
fn of_destination(destination: &DestinationConfig, value: &str) -> Option<String> {
    let line = value.lines().find(|line| !line.trim().is_empty())?;
    let name = destination.secret.as_deref()?;
    let (secret, _) = match Secret::new(name, line) {
        Ok(secret) => secret,
        Err(error) => return Some(error.to_string()),
    };
    let refused = oncehook_drain::check_secret(destination, &secret).err();
    refused.map(|Unsendable(reason)| reason)
}

/// Names that differ, and whose environment variables do not.
pub(super) fn names(config: &Config, places: &Places<'_>, findings: &mut Findings) {
    let secrets = config.sources.values().flat_map(|source| {
        let path = ["source", source.name.as_str(), "secret"];
        source.secrets.iter().map(move |name| (name, path))
    });
    let more = config.destinations.values().filter_map(|destination| {
        Some((
            destination.secret.as_ref()?,
            ["destination", destination.name.as_str(), "secret"],
        ))
    });
    let tables = config
        .tables
        .keys()
        .map(|name| (name, ["table", name.as_str(), "key"]));
    let targets = config.destinations.values().map(|destination| {
        let name = &destination.name;
        (name, ["destination", name.as_str(), destination.kind.target()])
    });
    let (secrets, tables): (Vec<_>, Vec<_>) = (secrets.chain(more).collect(), tables.collect());
    for (kind, names) in [
        ("SECRET", &secrets),
        ("TABLE", &tables),
        ("TARGET", &targets.collect()),
    ] {
        for (index, (name, path)) in names.iter().enumerate() {
            let variable = variable(kind, name);
            let same = |(other, _): &&(&String, _)| {
                other != name && oncehook_edge::variable(kind, other) == variable
            };
            if let Some((other, _)) = names[..index].iter().find(same) {
                findings.error(
                    places.of(path),
                    format!("`{name}` and `{other}` are both {variable} in the environment: rename one"),
                );
            }
        }
    }
}
