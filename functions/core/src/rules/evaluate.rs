//! One rule and one event: values, guards, updates, effects. Nothing is rounded and nothing is guessed: what
//! is missing or of the wrong type is an error that names its place.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::{place, request, template_name, value::kind};
use crate::{
    config::{DestinationConfig, KeyType, RuleConfig, TableConfig, UpdateConfig, ValueSpec},
    decimal::Decimal,
    event::Event,
    plan::{Attr, Condition, Guard, PlanError, RulePlan, Update},
    template::{RenderError, Scope, Templates},
};

/// A rule that matches, its event, and what both refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evaluation<'a> {
    pub(super) rule: &'a RuleConfig,
    pub(super) event: &'a Event,
    pub(super) scope: &'a Scope,
    pub(super) templates: &'a Templates,
    pub(super) tables: &'a BTreeMap<String, TableConfig>,
    pub(super) destinations: &'a BTreeMap<String, DestinationConfig>,
}

impl Evaluation<'_> {
    /// What the rule does.
    pub(super) fn plan(&self) -> Result<RulePlan, PlanError> {
        let (updates, effects) = (&self.rule.updates, &self.rule.effects);
        let indexed = |(index, update)| self.update(&place("update", index, updates.len()), update);
        Ok(RulePlan {
            rule: self.rule.name.clone(),
            guards: self.guards()?,
            updates: updates
                .iter()
                .enumerate()
                .map(indexed)
                .collect::<Result<_, _>>()?,
            effects: effects
                .iter()
                .enumerate()
                .map(|(index, effect)| request::effect(self, &place("effect", index, effects.len()), effect))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The answer's body, if the rule sets one.
    pub(super) fn response(&self) -> Result<Option<Json>, PlanError> {
        let field = |(name, spec): (&String, &ValueSpec)| {
            self.json(&format!("response.{name}"), spec)
                .map(|value| (name.clone(), value))
        };
        let fields: serde_json::Map<_, _> = self.rule.response.iter().map(field).collect::<Result<_, _>>()?;
        Ok(if fields.is_empty() {
            None
        } else {
            Some(Json::Object(fields))
        })
    }

    /// Whether an expression is true.
    pub(super) fn holds(&self, place: &str) -> Result<bool, PlanError> {
        self.templates
            .test(&template_name(self.rule, place), self.scope)
            .map_err(|error| self.render_error(place, error))
    }

    /// A rendered template.
    pub(super) fn rendered(&self, place: &str) -> Result<String, PlanError> {
        self.templates
            .render(&template_name(self.rule, place), self.scope)
            .map_err(|error| self.render_error(place, error))
    }

    /// An error about a value.
    pub(super) fn wrong(&self, place: &str, reason: impl Into<String>) -> PlanError {
        PlanError::Value {
            rule: self.rule.name.clone(),
            place: place.to_owned(),
            reason: reason.into(),
        }
    }

    fn render_error(&self, place: &str, error: RenderError) -> PlanError {
        let (rule, place) = (self.rule.name.clone(), place.to_owned());
        match error {
            RenderError::Missing(path) => PlanError::Missing { rule, place, path },
            RenderError::Failed(reason) => PlanError::Template { rule, place, reason },
        }
    }

    fn guards(&self) -> Result<Vec<Guard>, PlanError> {
        let mut guards = Vec::new();
        if self.rule.once_per.is_some() {
            let key = self.rendered("once_per")?;
            if key.trim().is_empty() {
                return Err(self.wrong(
                    "once_per",
                    "rendered to nothing, which would be one key for all events",
                ));
            }
            guards.push(Guard::Once {
                key,
                lasts: self.rule.once_for,
            });
        }
        if let Some(newer) = &self.rule.newer_by {
            let of = match self.json("newer_by.of", &newer.of)? {
                Json::String(text) if !text.is_empty() => text,
                Json::Number(number) => number.to_string(),
                other => return Err(self.wrong("newer_by.of", format!("must be text, not {}", kind(&other)))),
            };
            guards.push(Guard::Newer {
                of,
                order: self.order(&newer.at)?,
            });
        }
        Ok(guards)
    }

    fn order(&self, spec: &ValueSpec) -> Result<Decimal, PlanError> {
        let place = "newer_by.at";
        match self.json(place, spec)? {
            Json::Number(number) => self.decimal(place, &number),
            Json::String(text) => {
                let time: Timestamp = text.parse().map_err(|_| {
                    self.wrong(
                        place,
                        format!("`{text}` is neither a number nor an RFC 3339 time"),
                    )
                })?;
                Decimal::parse(&time.as_nanosecond().to_string())
                    .map_err(|error| self.wrong(place, error.to_string()))
            }
            other => Err(self.wrong(place, format!("must be a time or a number, not {}", kind(&other)))),
        }
    }

    fn update(&self, place: &str, update: &UpdateConfig) -> Result<Update, PlanError> {
        let attrs =
            |part: &str, specs: &BTreeMap<String, ValueSpec>| -> Result<BTreeMap<String, Attr>, PlanError> {
                let one = |(name, spec): (&String, &ValueSpec)| {
                    let place = format!("{place}.{part}.{name}");
                    let value = self.json(&place, spec)?;
                    Ok((name.clone(), self.attr(&place, value)?))
                };
                specs.iter().map(one).collect()
            };
        let key = attrs("key", &update.key)?;
        for (name, value) in &key {
            self.check_key(&format!("{place}.key.{name}"), &update.table, name, value)?;
        }
        let added = |(name, spec): (&String, &ValueSpec)| {
            let place = format!("{place}.add.{name}");
            match self.json(&place, spec)? {
                Json::Number(number) => Ok((name.clone(), self.decimal(&place, &number)?)),
                Json::String(_) => {
                    Err(self.wrong(&place, "is text; to read a number from it say as = \"number\""))
                }
                other => Err(self.wrong(&place, format!("must be a number, not {}", kind(&other)))),
            }
        };
        let condition = update.condition.as_ref().map(|expression| {
            Ok(Condition {
                expression: expression.clone(),
                values: attrs("values", &update.values)?,
            })
        });
        Ok(Update {
            table: update.table.clone(),
            key,
            set: attrs("set", &update.set)?,
            add: update.add.iter().map(added).collect::<Result<_, _>>()?,
            remove: update.remove.clone(),
            condition: condition.transpose()?,
            on_condition: update.on_condition,
            must_exist: update.must_exist,
        })
    }

    fn check_key(&self, place: &str, table: &str, name: &str, value: &Attr) -> Result<(), PlanError> {
        let wanted = self.tables.get(table).and_then(|table| table.key.get(name));
        match (wanted, value) {
            (Some(KeyType::S), Attr::S(text)) if text.is_empty() => {
                Err(self.wrong(place, "is empty, which DynamoDB takes for no key"))
            }
            (Some(KeyType::S), Attr::S(_)) | (Some(KeyType::N), Attr::N(_)) => Ok(()),
            (Some(KeyType::S), Attr::N(_)) => Err(self.wrong(
                place,
                "is a number, but the table's key is text; say as = \"string\"",
            )),
            (Some(KeyType::N), Attr::S(_)) => Err(self.wrong(
                place,
                "is text, but the table's key is a number; say as = \"number\"",
            )),
            (Some(wanted), _) => Err(self.wrong(
                place,
                format!("must be of the type of the table's key, {wanted:?}"),
            )),
            (None, _) => Err(self.wrong(place, format!("is not part of the key of table `{table}`"))),
        }
    }
}
