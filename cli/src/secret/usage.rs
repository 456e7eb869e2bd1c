//! Who uses a secret, and whether a value is one that they can use: by the code that will use it.

use std::{collections::BTreeSet, fmt};

use oncehook_core::{
    config::{Config, DestinationConfig, SourceConfig},
    secret::Secret,
    verify::Source,
};

use crate::answer::misuse;

/// A secret of oncehook.toml.
pub(super) struct Usage<'c> {
    pub(super) name: String,
    sources: Vec<&'c SourceConfig>,
    destinations: Vec<&'c DestinationConfig>,
}

impl fmt::Display for Usage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = self.sources.iter().map(|one| format!("source `{}`", one.name));
        let destinations = self
            .destinations
            .iter()
            .map(|one| format!("destination `{}`", one.name));
        let users: Vec<String> = sources.chain(destinations).collect();
        f.write_str(if users.is_empty() { "nobody" } else { "" })?;
        f.write_str(&users.join(", "))
    }
}

impl<'c> Usage<'c> {
    /// Who uses a secret of this name; perhaps nobody.
    pub(super) fn of(config: &'c Config, name: &str) -> Self {
        let sources = config.sources.values();
        let destinations = config.destinations.values();
        Self {
            name: name.to_owned(),
            sources: sources
                .filter(|source| source.secrets.iter().any(|one| one == name))
                .collect(),
            destinations: destinations
                .filter(|destination| destination.secret.as_deref() == Some(name))
                .collect(),
        }
    }

    /// Every secret that the configuration names.
    pub(super) fn all(config: &'c Config) -> Vec<Self> {
        let of_sources = config.sources.values().flat_map(SourceConfig::secret_names);
        let of_destinations = config.destinations.values().filter_map(|one| one.secret.as_ref());
        let names: BTreeSet<&String> = of_sources.chain(of_destinations).collect();
        names.into_iter().map(|name| Self::of(config, name)).collect()
    }

    /// The secret that is meant by a name, of its own or of a source or destination.
    pub(super) fn find(config: &'c Config, given: &str) -> anyhow::Result<Self> {
        let usage = Self::by_name(config, given)?;
        if usage.sources.is_empty() && usage.destinations.is_empty() {
            let all: Vec<String> = Self::all(config)
                .iter()
                .map(|one| format!("`{}`", one.name))
                .collect();
            return Err(misuse(format!(
                "`{given}` is no source, destination or secret of oncehook.toml; the secrets are {}",
                all.join(", ")
            )));
        }
        Ok(usage)
    }

    /// As [`Usage::find`], but for any name: one that oncehook.toml no longer has can still be dropped.
    pub(super) fn by_name(config: &'c Config, given: &str) -> anyhow::Result<Self> {
        let own = Self::of(config, given);
        if !(own.sources.is_empty() && own.destinations.is_empty()) {
            return Ok(own);
        }
        if let Some(source) = config.sources.get(given) {
            return match source.secrets.as_slice() {
                [one] => Ok(Self::of(config, one)),
                several => Err(misuse(format!(
                    "the source `{given}` has several secrets; name one of {}",
                    several.join(", ")
                ))),
            };
        }
        let destination = config.destinations.get(given);
        Ok(
            match destination.and_then(|destination| destination.secret.as_deref()) {
                Some(name) => Self::of(config, name),
                None => own,
            },
        )
    }

    pub(super) fn is_used(&self) -> bool {
        !(self.sources.is_empty() && self.destinations.is_empty())
    }

    /// Whether everybody who uses the secret can use this value.
    ///
    /// # Errors
    /// With the reason, which shows nothing of the value.
    pub(super) fn check(&self, value: &str) -> anyhow::Result<()> {
        let (secret, _) = Secret::new(&self.name, value).map_err(|error| misuse(error.to_string()))?;
        for source in &self.sources {
            let refused = |why: &dyn fmt::Display| {
                misuse(format!(
                    "source `{}` ({}): {why}",
                    source.name,
                    source.scheme.name()
                ))
            };
            Source::new(source, vec![secret.clone()]).map_err(|error| refused(&error))?;
            let api_key = ["sk_", "rk_", "pk_"].iter().any(|start| value.starts_with(start));
            if api_key && source.scheme.name() == "stripe" {
                return Err(refused(
                    &"this is an API key, not a signing secret: that one begins with whsec_ and is shown with the endpoint",
                ));
            }
        }
        for destination in &self.destinations {
            oncehook_drain::check_secret(destination, &secret)
                .map_err(|error| misuse(format!("destination `{}`: {}", destination.name, error.0)))?;
        }
        Ok(())
    }
}
