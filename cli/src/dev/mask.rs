//! What nobody is shown: the values of secrets wherever they stand, and headers that hold a signature or a credential.

use std::collections::{BTreeMap, BTreeSet};

use oncehook_core::config::Config;
use oncehook_edge::Secrets;
use serde_json::Value;

/// Parts of names that say that a value is a credential or a signature.
const NAMES: [&str; 14] = [
    "signature",
    "hmac",
    "secret",
    "token",
    "authorization",
    "cookie",
    "password",
    "passwd",
    "credential",
    "api-key",
    "apikey",
    "access-key",
    "digest",
    "jwt",
];
/// Shorter values would be found in any text.
const SHORTEST: usize = 6;

/// All that is hidden.
#[derive(Debug, Clone, Default)]
pub(super) struct Mask {
    /// The values, the longest first: one may be part of another.
    values: Vec<Hidden>,
    /// Of each source the headers of its signature, in lower case.
    headers: BTreeMap<String, BTreeSet<String>>,
}

/// A value that not even `Debug` shows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Hidden(String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Mask {
    /// That of a configuration and its secrets.
    pub(super) fn new(config: &Config, secrets: &Secrets) -> Self {
        let of_sources = config.sources.values().flat_map(|source| source.secret_names());
        let of_destinations = config.destinations.values().filter_map(|one| one.secret.as_ref());
        let mut values: Vec<Hidden> = of_sources
            .chain(of_destinations)
            .flat_map(|name| secrets.all(name))
            .map(|secret| Hidden(secret.expose().trim().to_owned()))
            .filter(|value| value.0.len() >= SHORTEST)
            .collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.0.len()));
        values.dedup();
        let headers = config.sources.iter().map(|(name, source)| {
            let headers = source.scheme.signature_headers().into_iter();
            (
                name.clone(),
                headers.map(|name| name.to_ascii_lowercase()).collect(),
            )
        });
        Self {
            values,
            headers: headers.collect(),
        }
    }

    /// A header's value, or how long it is.
    pub(super) fn header(&self, source: &str, name: &str, value: &str) -> String {
        let of_signature = |headers: &BTreeSet<String>| headers.contains(&name.to_ascii_lowercase());
        if is_secret(name) || self.headers.get(source).is_some_and(of_signature) {
            return hidden(value);
        }
        self.text(value)
    }

    /// A query with the values hidden whose names ask for it.
    pub(super) fn query(&self, query: &str) -> String {
        let pair = |pair: &str| match pair.split_once('=') {
            Some((name, value)) if is_secret(name) => format!("{name}={}", hidden(value)),
            _ => pair.to_owned(),
        };
        let pairs: Vec<String> = query.split('&').map(pair).collect();
        self.text(&pairs.join("&"))
    }

    /// Text without any secret's value.
    pub(super) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for Hidden(value) in &self.values {
            if text.contains(value) {
                text = text.replace(value, "••••");
            }
        }
        text
    }

    /// JSON without any secret's value in its strings.
    pub(super) fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) if self.values.iter().any(|hidden| text.contains(&hidden.0)) => {
                *text = self.text(text);
            }
            Value::Array(list) => list.iter_mut().for_each(|value| self.json(value)),
            Value::Object(map) => map.values_mut().for_each(|value| self.json(value)),
            _ => {}
        }
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    NAMES.iter().any(|part| name.contains(part))
}

fn hidden(value: &str) -> String {
    format!("•••• ({} characters)", value.chars().count())
}

#[cfg(test)]
mod tests {
    use oncehook_edge::Environment;

    use super::*;

    fn mask() -> Mask {
        let text = "[source.app]\nscheme = \"hmac\"\nsecret = \"app\"\nheader = \"X-Mine\"\nencoding = \"hex\"\n\
                    id = \"/id\"\nretention = \"30d\"\nkeys_for = \"400d\"\n";
        let config = Config::parse(text, "test").unwrap_or_else(|errors| panic!("{errors}"));
        let environment = Environment::new(|_| Some("first-value\nsecond-value-2\n".to_owned()));
        Mask::new(&config, &Secrets::read(&config, &environment))
    }

    #[test]
    fn signatures_and_credentials_are_hidden_by_name() {
        let mask = mask();
        for name in [
            "x-mine",
            "Stripe-Signature",
            "X_Auth_Token",
            "authorization",
            "Cookie",
        ] {
            assert_eq!(mask.header("app", name, "abc"), "•••• (3 characters)", "{name}");
        }
        assert_eq!(mask.header("other", "x-mine", "abc"), "abc");
        assert_eq!(mask.header("app", "content-type", "a/b"), "a/b");
        assert_eq!(mask.query("a=1&token=xyz&b"), "a=1&token=•••• (3 characters)&b");
    }

    #[test]
    fn values_are_hidden_wherever_they_stand() {
        let mask = mask();
        let mut value =
            serde_json::json!({ "a": ["x first-value y"], "b": { "c": "second-value-2" }, "d": 1 });
        mask.json(&mut value);
        assert_eq!(
            value,
            serde_json::json!({ "a": ["x •••• y"], "b": { "c": "••••" }, "d": 1 })
        );
        assert!(!format!("{mask:?}").contains("first-value"));
    }
}
