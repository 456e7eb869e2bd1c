//! The environment variables that Oncehook reads, by name and meaning.

use std::{collections::BTreeMap, ffi::OsString, fmt};

use anyhow::{Context, anyhow};
use oncehook_core::config::Config;

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

    /// Replaces the URL of each destination that has an `ONCEHOOK_URL_{NAME}`.
    ///
    /// # Errors
    /// When such a URL is not one that a destination may have.
    pub fn override_urls(&self, config: &mut Config) -> anyhow::Result<()> {
        let names: Vec<String> = config.destinations.keys().cloned().collect();
        for name in names {
            let variable = variable("URL", &name);
            if let Some(url) = self.get(&variable) {
                config
                    .override_url(&name, &url)
                    .map_err(|why| anyhow!(why))
                    .with_context(|| format!("the environment variable {variable}"))?;
            }
        }
        Ok(())
    }
}

/// Variables among these that would replace the URL of a destination that is not there: a mistyped name, mostly.
pub fn unknown_urls(config: &Config, variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<String> {
    let known: Vec<String> = config
        .destinations
        .keys()
        .map(|name| variable("URL", name))
        .collect();
    variables
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("ONCEHOOK_URL_") && !known.contains(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_for_a_destination_that_is_not_there_is_found() {
        let text = "[source.s]\nscheme = \"stripe\"\nsecret = \"s\"\n[destination.my-app]\nurl = \"https://a.example\"\n";
        let config = Config::parse(text, "oncehook.toml").unwrap();
        let set = ["ONCEHOOK_URL_MY_APP", "ONCEHOOK_URL_MYAPP", "ONCEHOOK_LOG"];
        let variables = set
            .iter()
            .map(|name| (OsString::from(name), OsString::from("https://b.example")));
        assert_eq!(unknown_urls(&config, variables), ["ONCEHOOK_URL_MYAPP"]);
    }
}
