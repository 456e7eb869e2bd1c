//! The environment variables that Oncehook reads, by name and meaning.

use std::{collections::BTreeMap, ffi::OsString, fmt};

use anyhow::{Context, anyhow};
use oncehook_core::config::{Config, DestinationConfig};

/// A way to look up variables: the process's own, or a set given by a command or a test.
pub struct Environment(Box<Lookup>);

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

/// `ONCEHOOK_{kind}_{name}`, upper case, with `_` for `-`: `ONCEHOOK_SECRET_STRIPE`.
#[must_use]
pub fn variable(kind: &str, name: &str) -> String {
    format!("ONCEHOOK_{kind}_{}", name.to_uppercase().replace('-', "_"))
}

impl Environment {
    /// The environment of this process.
    #[must_use]
    pub fn process() -> Self {
        Self::new(|name| std::env::var(name).ok())
    }

    /// Any look-up.
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Box::new(lookup))
    }

    /// A variable, if it is set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    pub(crate) fn require(&self, name: &str, meaning: &str) -> anyhow::Result<String> {
        self.get(name)
            .filter(|value| !value.trim().is_empty())
            .ok_or_else(|| anyhow!("{name} is not set: it holds {meaning}; the stack's template sets it"))
    }

    /// The physical names of the user's tables: `ONCEHOOK_TABLE_{NAME}`, or the logical name.
    #[must_use]
    pub fn tables(&self, config: &Config) -> BTreeMap<String, String> {
        let physical = |name: &String| self.get(&variable("TABLE", name)).unwrap_or_else(|| name.clone());
        config
            .tables
            .keys()
            .map(|name| (name.clone(), physical(name)))
            .collect()
    }

    /// Takes the URL of each HTTP destination that has an `ONCEHOOK_URL_{NAME}`, and the queue, function or bus of each other
    /// that has an `ONCEHOOK_TARGET_{NAME}`.
    ///
    /// # Errors
    /// When such a value is not one that the destination may have.
    pub fn override_targets(&self, config: &mut Config) -> anyhow::Result<()> {
        let destinations = config.destinations.values();
        let names: Vec<(String, String)> = destinations
            .map(|destination| (destination.name.clone(), target_variable(destination)))
            .collect();
        for (name, variable) in names {
            if let Some(value) = self.get(&variable).filter(|value| !value.trim().is_empty()) {
                let set = match variable.starts_with("ONCEHOOK_URL_") {
                    true => config.override_url(&name, &value),
                    false => config.override_target(&name, value.trim()),
                };
                set.map_err(|why| anyhow!(why))
                    .with_context(|| format!("the environment variable {variable}"))?;
            }
        }
        Ok(())
    }
}

/// The variable that says where a destination is.
#[must_use]
pub fn target_variable(destination: &DestinationConfig) -> String {
    let kind = if destination.kind.is_aws() {
        "TARGET"
    } else {
        "URL"
    };
    variable(kind, &destination.name)
}

/// Variables among these that would say where a destination is that is not there, or is of another kind: a mistyped
/// name, mostly.
pub fn unknown_targets(
    config: &Config,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<String> {
    let known: Vec<String> = config.destinations.values().map(target_variable).collect();
    variables
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| {
            ["ONCEHOOK_URL_", "ONCEHOOK_TARGET_"]
                .iter()
                .any(|start| name.starts_with(start))
        })
        .filter(|name| !known.contains(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_for_a_destination_that_is_not_there_is_found() {
        let text = "[source.s]\nscheme = \"stripe\"\nsecret = \"s\"\n[destination.my-app]\nurl = \"https://a.example\"\n";
        let config = Config::parse(text, "oncehook.toml").unwrap();
        let set = ["ONCEHOOK_URL_MY_APP", "ONCEHOOK_URL_MYAPP", "ONCEHOOK_LOG"];
        let variables = set
            .iter()
            .map(|name| (OsString::from(name), OsString::from("https://b.example")));
        assert_eq!(unknown_targets(&config, variables), ["ONCEHOOK_URL_MYAPP"]);
        let text = format!("{text}[destination.jobs]\nkind = \"sqs\"\n");
        let config = Config::parse(&text, "oncehook.toml").unwrap();
        let set = [
            "ONCEHOOK_TARGET_JOBS",
            "ONCEHOOK_URL_JOBS",
            "ONCEHOOK_TARGET_MY_APP",
        ];
        let variables = set.iter().map(|name| (OsString::from(name), OsString::from("x")));
        assert_eq!(
            unknown_targets(&config, variables),
            ["ONCEHOOK_URL_JOBS", "ONCEHOOK_TARGET_MY_APP"]
        );
    }
}
