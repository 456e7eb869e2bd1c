//! Secrets by name, as they were at one moment: from the environment, or from the text of the stack's parameter.
//!
//! A missing or bad secret stops what needs it and nothing else. How often they are read is the store's matter.

use std::collections::BTreeMap;

use oncehook_core::{
    config::{Config, SourceConfig},
    secret::Secret,
};
use serde_json::Value;

use crate::environment::{Environment, variable};

/// The secrets that are there, each with its values, newest first: several during a rotation.
#[derive(Debug, Default)]
pub struct Secrets(BTreeMap<String, Vec<Secret>>);

/// The parameter's text cannot be read at all. Shows nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Not JSON.
    #[error("it is not JSON (line {line}, column {column})")]
    Json {
        /// The line where it stops being JSON.
        line: usize,
        /// The column.
        column: usize,
    },
    /// JSON of another kind.
    #[error("it is not a JSON object from name to value")]
    NoObject,
}

impl Secrets {
    /// Reads every secret that the configuration names from the environment, one value a line. What is missing or
    /// bad is logged, by name.
    #[must_use]
    pub fn read(config: &Config, environment: &Environment) -> Self {
        let of_sources = config.sources.values().flat_map(SourceConfig::secret_names);
        let of_destinations = config
            .destinations
            .values()
            .filter_map(|destination| destination.secret.as_ref());
        let mut secrets = BTreeMap::new();
        for name in of_sources.chain(of_destinations) {
            secrets
                .entry(name.clone())
                .or_insert_with(|| from_environment(name, environment));
        }
        Self(secrets)
    }

    /// Reads the text of the parameter: a JSON object from name to string or list of strings. An entry that is
    /// something else is refused by its name, and the others are taken.
    ///
    /// # Errors
    /// When the text is no such object.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let value: Value = serde_json::from_str(text).map_err(|error| Malformed::Json {
            line: error.line(),
            column: error.column(),
        })?;
        let Value::Object(entries) = value else {
            return Err(Malformed::NoObject);
        };
        let secrets = entries.into_iter().map(|(name, entry)| {
            let values = match entry {
                Value::Array(values) => values,
                value => vec![value],
            };
            let usable = |(index, value): (usize, &Value)| from_entry(&name, index + 1, value);
            let values: Vec<Secret> = values.iter().enumerate().filter_map(usable).collect();
            if values.is_empty() {
                tracing::error!(secret = %name, "this secret has no usable value");
            }
            (name, values)
        });
        Ok(Self(secrets.collect()))
    }

    /// All values of one name, newest first.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<Secret> {
        self.0.get(name).cloned().unwrap_or_default()
    }

    /// The value to sign or authenticate with: the first.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<Secret> {
        self.0.get(name).and_then(|values| values.first()).cloned()
    }
}

fn from_entry(name: &str, position: usize, value: &Value) -> Option<Secret> {
    let Value::String(text) = value else {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Array(_) => "a list",
            _ => "an object",
        };
        tracing::error!(secret = %name, position, "a value of this secret is {kind} and not a string: it was refused");
        return None;
    };
    match Secret::new(name, text) {
        Ok((secret, None)) => Some(secret),
        Ok((secret, Some(warning))) => {
            tracing::warn!(secret = %name, position, %warning, "a secret was mended");
            Some(secret)
        }
        Err(error) => {
            tracing::error!(secret = %name, position, %error, "a value of this secret cannot be used");
            None
        }
    }
}

fn from_environment(name: &str, environment: &Environment) -> Vec<Secret> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn values(secrets: &Secrets, name: &str) -> Vec<String> {
        secrets
            .all(name)
            .iter()
            .map(|one| one.expose().to_owned())
            .collect()
    }

    #[test]
    fn a_bad_entry_is_refused_and_the_others_are_taken() {
        let text = r#"{"one": "a", "several": ["b", 5, "", "c\n"], "number": 7, "none": [], "empty": " ",
                       "nested": {"x": "y"}, "null": null}"#;
        let secrets = Secrets::parse(text).unwrap();
        assert_eq!(values(&secrets, "one"), ["a"]);
        assert_eq!(values(&secrets, "several"), ["b", "c"]);
        for bad in ["number", "none", "empty", "nested", "null", "absent"] {
            assert!(secrets.first(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused_without_showing_any_of_it() {
        for text in [
            "whsec_private",
            "\"whsec_private\"",
            "[\"whsec_private\"]",
            "{\"stripe\": whsec_private}",
            "{\"stripe\": \"whsec_private\"",
            "",
        ] {
            let error = Secrets::parse(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("private"), "{error}");
        }
    }
}
