//! Secrets by name. They come from the environment; another store takes its place behind [`Secrets`].
//!
//! A missing or bad secret stops what needs it and nothing else.

use std::collections::BTreeMap;

use oncehook_core::{config::Config, secret::Secret, verify::Source};

use crate::environment::{Environment, variable};

/// The secrets that are there, each with its values: several during a rotation, one a line.
#[derive(Debug, Default)]
pub struct Secrets(BTreeMap<String, Vec<Secret>>);

impl Secrets {
    /// Reads every secret that the configuration names. What is missing or bad is logged, by name.
    #[must_use]
    pub fn read(config: &Config, environment: &Environment) -> Self {
        let of_sources = config.sources.values().flat_map(|source| source.secrets.iter());
        let of_destinations = config
            .destinations
            .values()
            .filter_map(|destination| destination.secret.as_ref());
        let mut secrets = BTreeMap::new();
        for name in of_sources.chain(of_destinations) {
            secrets
                .entry(name.clone())
                .or_insert_with(|| read_one(name, environment));
        }
        Self(secrets)
    }

    /// All values of one name.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<Secret> {
        self.0.get(name).cloned().unwrap_or_default()
    }

    /// The value to sign or authenticate with: the first.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<Secret> {
        self.0.get(name).and_then(|values| values.first()).cloned()
    }

    /// The sources of a configuration, each ready, or with the reason why it is not.
    #[must_use]
    pub fn sources(&self, config: &Config) -> BTreeMap<String, Result<Source, String>> {
        let ready = |source: &oncehook_core::config::SourceConfig| {
            let secrets: Vec<Secret> = source.secrets.iter().flat_map(|name| self.all(name)).collect();
            if secrets.is_empty() {
                let names: Vec<String> = source
                    .secrets
                    .iter()
                    .map(|name| variable("SECRET", name))
                    .collect();
                return Err(format!("no secret: set {}", names.join(" or ")));
            }
            Source::new(source, secrets).map_err(|error| error.to_string())
        };
        config
            .sources
            .iter()
            .map(|(name, source)| {
                let source = ready(source);
                if let Err(reason) = &source {
                    tracing::error!(source = %name, %reason, "this source answers 503 until its secret is mended");
                }
                (name.clone(), source)
            })
            .collect()
    }
}

fn read_one(name: &str, environment: &Environment) -> Vec<Secret> {
    let variable = variable("SECRET", name);
    let Some(text) = environment.get(&variable) else {
        tracing::warn!(%variable, "no such secret");
        return Vec::new();
    };
    // A line break between values separates them; one after the last is a mistake worth a warning.
    let last = text.trim_end_matches('\n').len();
    let lines = text[..last].split('\n').filter(|line| !line.trim().is_empty());
    if last < text.len() {
        tracing::warn!(%variable, "the secret ended with a line break, which was ignored");
    }
    let read = |line: &str| match Secret::new(name, line) {
        Ok((secret, warning)) => {
            if let Some(warning) = warning {
                tracing::warn!(%variable, %warning, "a secret was mended");
            }
            Some(secret)
        }
        Err(error) => {
            tracing::error!(%variable, %error, "a secret cannot be used");
            None
        }
    };
    let secrets: Vec<Secret> = lines.filter_map(read).collect();
    if secrets.is_empty() {
        tracing::error!(%variable, "the secret is empty");
    }
    secrets
}
