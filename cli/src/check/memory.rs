//! What stored data depends on in the configuration, kept in a file beside it (`oncehook.lock`), and what a change of it
//! would forget or strand.
//!
//! Only names and templates that are parts of keys are kept; no secret, no URL.

mod changes;

use std::{collections::BTreeMap, path::Path};

use oncehook_core::config::{Config, Convert, Meta, RuleConfig, ValueSpec};
use serde::{Deserialize, Serialize};

/// The format that this release writes.
const VERSION: u32 = 1;

const HEAD: &str = "\
# What stored data depends on. Written by `oncehook check --accept`; commit it together with the configuration.
# `oncehook check` compares the two and says what a change would forget or strand.

";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Memory {
    version: u32,
    shards: u32,
    /// Where effects may still be on their way.
    destinations: Vec<String>,
    #[serde(default)]
    source: BTreeMap<String, Source>,
    /// Those with guards or effects: their names are parts of keys.
    #[serde(default)]
    rule: BTreeMap<String, Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Source {
    namespace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Rule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    once_per: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    newer_by: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    effects: Vec<String>,
}

impl Memory {
    pub(super) fn of(config: &Config) -> Self {
        let remembered = |rule: &&RuleConfig| {
            rule.once_per.is_some() || rule.newer_by.is_some() || !rule.effects.is_empty()
        };
        let rule = |rule: &RuleConfig| {
            let newer_by = rule.newer_by.as_ref();
            let kept = Rule {
                once_per: rule.once_per.clone(),
                newer_by: newer_by.map(|newer| format!("{} at {}", text(&newer.of), text(&newer.at))),
                effects: rule.effects.iter().map(|effect| effect.name.clone()).collect(),
            };
            (rule.name.clone(), kept)
        };
        let source = |(name, source): (&String, &oncehook_core::config::SourceConfig)| {
            (
                name.clone(),
                Source {
                    namespace: source.namespace.clone(),
                },
            )
        };
        Self {
            version: VERSION,
            shards: config.shards,
            destinations: config.destinations.keys().cloned().collect(),
            source: config.sources.iter().map(source).collect(),
            rule: config.rules.iter().filter(remembered).map(rule).collect(),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let memory: Self = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        if memory.version > VERSION {
            return Err(format!(
                "format {} is of a newer oncehook: update this one",
                memory.version
            ));
        }
        Ok(memory)
    }

    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        std::fs::write(file, format!("{HEAD}{}", toml::to_string(self)?))?;
        Ok(())
    }
}

/// A value as people write it, the same for the same meaning.
fn text(value: &ValueSpec) -> String {
    let convert = |convert: &Option<Convert>| match convert {
        Some(Convert::String) => " as string",
        Some(Convert::Number) => " as number",
        None => "",
    };
    match value {
        ValueSpec::Pointer {
            pointer,
            convert: to,
            default,
            negate,
        } => {
            let default = default
                .as_ref()
                .map(|value| format!(" or {value}"))
                .unwrap_or_default();
            let negate = if *negate { " negated" } else { "" };
            format!("{pointer}{}{default}{negate}", convert(to))
        }
        ValueSpec::Literal(value) => value.to_string(),
        ValueSpec::Template {
            template,
            convert: to,
        } => format!("{template}{}", convert(to)),
        ValueSpec::Meta(meta) => match meta {
            Meta::Id => "meta.id",
            Meta::Kind => "meta.kind",
            Meta::Source => "meta.source",
            Meta::Scope => "meta.scope",
            Meta::OccurredAt => "meta.occurred_at",
        }
        .to_owned(),
    }
}
