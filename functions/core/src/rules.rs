//! The handler made from oncehook.toml: matches rules to an event and evaluates them to a plan.
//!
//! It looks nothing up and writes nothing; what guards and conditions mean is for the store.

mod evaluate;
pub(crate) mod request;
mod target;
mod value;

use std::collections::BTreeMap;

use crate::{
    config::{BodyConfig, Config, ConfigErrors, DestinationConfig, RuleConfig, TableConfig, ValueSpec},
    event::Event,
    plan::{Handler, Plan, PlanError, RulePlan},
    template::{FORM_BODY, Scope, Templates, URL_PATH},
};
use evaluate::Evaluation;

/// The rules of a configuration, with their templates compiled.
#[derive(Debug)]
pub struct Rules {
    rules: Vec<RuleConfig>,
    tables: BTreeMap<String, TableConfig>,
    destinations: BTreeMap<String, DestinationConfig>,
    templates: Templates,
}

/// What one rule makes of an event, for people: `oncehook plan`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The rule.
    pub rule: String,
    /// Whether and why.
    pub why: Why,
}

/// Why a rule takes an event or does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It applies.
    #[error("matches")]
    Matches,
    /// It is for another source.
    #[error("is for source `{0}`")]
    OtherSource(String),
    /// It is for other kinds.
    #[error("is for events {}", .0.join(", "))]
    OtherKind(Vec<String>),
    /// Its `when` is false.
    #[error("`when` is false: {0}")]
    When(String),
    /// It cannot be evaluated, which fails the event.
    #[error("{0}")]
    Failed(PlanError),
}

impl Rules {
    /// Compiles the rules of a configuration.
    ///
    /// # Errors
    /// When a template cannot work, which [`Config::parse`] has found already unless the configuration was
    /// made in Rust.
    pub fn new(config: &Config) -> Result<Self, ConfigErrors> {
        let mut templates = Templates::new();
        let mut wrong = Vec::new();
        for rule in &config.rules {
            let mut note = |place: &str, added: Result<(), String>| {
                if let Err(reason) = added {
                    wrong.push(format!("rule `{}`: {place}: {reason}", rule.name));
                }
            };
            if let Some(when) = &rule.when {
                note(
                    "when",
                    templates.add_expression(&template_name(rule, "when"), when),
                );
            }
            for (place, source) in sources(rule, &config.destinations) {
                note(&place, templates.add(&template_name(rule, &place), source));
            }
            if !config.sources.contains_key(&rule.source) {
                note("source", Err(format!("there is no source `{}`", rule.source)));
            }
            for update in rule
                .updates
                .iter()
                .filter(|update| !config.tables.contains_key(&update.table))
            {
                note(
                    "update.table",
                    Err(format!("there is no table `{}`", update.table)),
                );
            }
            for effect in rule
                .effects
                .iter()
                .filter(|effect| !config.destinations.contains_key(&effect.destination))
            {
                note(
                    "effect.destination",
                    Err(format!("there is no destination `{}`", effect.destination)),
                );
            }
        }
        if !wrong.is_empty() {
            return Err(ConfigErrors::new(wrong));
        }
        Ok(Self {
            rules: config.rules.clone(),
            tables: config.tables.clone(),
            destinations: config.destinations.clone(),
            templates,
        })
    }

    /// What each rule makes of an event, in the order of the configuration.
    #[must_use]
    pub fn explain(&self, event: &Event) -> Vec<Explained> {
        let scope = Scope::new(event);
        let explain = |rule: &RuleConfig| {
            let why = match self.why_not(rule, event, &scope) {
                Ok(Some(why)) => why,
                Ok(None) => match self.evaluation(rule, event, &scope).plan() {
                    Ok(_) => Why::Matches,
                    Err(error) => Why::Failed(error),
                },
                Err(error) => Why::Failed(error),
            };
            Explained {
                rule: rule.name.clone(),
                why,
            }
        };
        self.rules.iter().map(explain).collect()
    }

    fn why_not(&self, rule: &RuleConfig, event: &Event, scope: &Scope) -> Result<Option<Why>, PlanError> {
        if rule.source != event.source {
            return Ok(Some(Why::OtherSource(rule.source.clone())));
        }
        if !rule.events.iter().any(|pattern| matches(pattern, &event.kind)) {
            return Ok(Some(Why::OtherKind(rule.events.clone())));
        }
        let Some(when) = &rule.when else { return Ok(None) };
        let holds = self.evaluation(rule, event, scope).holds("when")?;
        Ok((!holds).then(|| Why::When(when.clone())))
    }

    fn evaluation<'a>(&'a self, rule: &'a RuleConfig, event: &'a Event, scope: &'a Scope) -> Evaluation<'a> {
        Evaluation {
            rule,
            event,
            scope,
            templates: &self.templates,
            tables: &self.tables,
            destinations: &self.destinations,
        }
    }
}

impl Handler for Rules {
    fn plan(&self, event: &Event) -> Result<Plan, PlanError> {
        let scope = Scope::new(event);
        let mut rules: Vec<RulePlan> = Vec::new();
        let mut response: Option<(&str, serde_json::Value)> = None;
        for rule in &self.rules {
            if self.why_not(rule, event, &scope)?.is_some() {
                continue;
            }
            let evaluation = self.evaluation(rule, event, &scope);
            rules.push(evaluation.plan()?);
            match (evaluation.response()?, &response) {
                (None, _) => {}
                (Some(_), Some((first, _))) => {
                    let first = (*first).to_owned();
                    return Err(PlanError::TwoResponses {
                        first,
                        second: rule.name.clone(),
                    });
                }
                (Some(value), None) => response = Some((&rule.name, value)),
            }
        }
        Ok(Plan {
            rules,
            response: response.map(|(_, value)| value),
        })
    }
}

/// Whether a pattern stands for a kind: `*` at the end stands for anything.
fn matches(pattern: &str, kind: &str) -> bool {
    pattern
        .strip_suffix('*')
        .map_or(pattern == kind, |prefix| kind.starts_with(prefix))
}

fn template_name(rule: &RuleConfig, place: &str) -> String {
    format!("{}#{place}", rule.name)
}

/// `update.key` where there is one update, `update 2.key` where there are more.
fn place(kind: &str, index: usize, count: usize) -> String {
    if count == 1 {
        kind.to_owned()
    } else {
        format!("{kind} {}", index + 1)
    }
}

/// Every template of a rule with its place; expressions are not among them.
fn sources<'a>(
    rule: &'a RuleConfig,
    destinations: &BTreeMap<String, DestinationConfig>,
) -> Vec<(String, &'a str)> {
    let mut found: Vec<(String, &str)> = Vec::new();
    found.extend(
        rule.once_per
            .iter()
            .map(|source| ("once_per".to_owned(), source.as_str())),
    );
    for (place, spec) in specs(rule) {
        if let ValueSpec::Template { template, .. } = spec {
            found.push((place, template));
        }
    }
    for (index, effect) in rule.effects.iter().enumerate() {
        let place = place("effect", index, rule.effects.len());
        if let BodyConfig::Template(body) = &effect.body {
            let form = destinations
                .get(&effect.destination)
                .is_some_and(DestinationConfig::is_form);
            let part = if form { FORM_BODY } else { "body" };
            found.push((format!("{place}.{part}"), body));
        }
        found.extend(
            effect
                .path
                .iter()
                .map(|path| (format!("{place}.{URL_PATH}"), path.as_str())),
        );
        found.extend(
            effect
                .group
                .iter()
                .map(|group| (format!("{place}.group"), group.as_str())),
        );
    }
    found
}

/// Every value specification of a rule with its place.
fn specs(rule: &RuleConfig) -> Vec<(String, &ValueSpec)> {
    let mut found = Vec::new();
    if let Some(newer) = &rule.newer_by {
        found.push(("newer_by.of".to_owned(), &newer.of));
        found.push(("newer_by.at".to_owned(), &newer.at));
    }
    found.extend(
        rule.response
            .iter()
            .map(|(name, spec)| (format!("response.{name}"), spec)),
    );
    for (index, update) in rule.updates.iter().enumerate() {
        let place = place("update", index, rule.updates.len());
        let parts = [
            ("key", &update.key),
            ("set", &update.set),
            ("add", &update.add),
            ("values", &update.values),
        ];
        for (part, specs) in parts {
            found.extend(
                specs
                    .iter()
                    .map(|(name, spec)| (format!("{place}.{part}.{name}"), spec)),
            );
        }
    }
    found
}
