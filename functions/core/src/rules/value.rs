//! Values of an event as JSON, DynamoDB attributes and decimals: exact, or an error that names its place.

use serde_json::{Number, Value as Json};

use super::evaluate::Evaluation;
use crate::{
    config::{Convert, Meta, ValueSpec},
    decimal::Decimal,
    plan::{Attr, PlanError},
};

impl Evaluation<'_> {
    pub(super) fn json(&self, place: &str, spec: &ValueSpec) -> Result<Json, PlanError> {
        let missing = |path: &str| PlanError::Missing {
            rule: self.rule.name.clone(),
            place: place.to_owned(),
            path: path.to_owned(),
        };
        match spec {
            ValueSpec::Literal(value) => Ok(value.clone()),
            ValueSpec::Pointer {
                pointer,
                convert,
                default,
                negate,
            } => {
                let found = self.event.data.pointer(pointer).or(default.as_ref());
                let value =
                    self.converted(place, found.ok_or_else(|| missing(pointer))?.clone(), *convert)?;
                if *negate {
                    self.negated(place, &value)
                } else {
                    Ok(value)
                }
            }
            ValueSpec::Template { convert, .. } => {
                self.converted(place, Json::String(self.rendered(place)?), *convert)
            }
            ValueSpec::Meta(meta) => {
                let event = self.event;
                Ok(Json::String(match meta {
                    Meta::Id => event.id.clone(),
                    Meta::Kind => event.kind.clone(),
                    Meta::Source => event.source.clone(),
                    Meta::Scope => event.scope.clone(),
                    Meta::OccurredAt => event
                        .occurred_at
                        .ok_or_else(|| missing("meta.occurred_at"))?
                        .to_string(),
                }))
            }
        }
    }

    fn converted(&self, place: &str, value: Json, convert: Option<Convert>) -> Result<Json, PlanError> {
        match (convert, value) {
            (None, value)
            | (Some(Convert::Number), value @ Json::Number(_))
            | (Some(Convert::String), value @ Json::String(_)) => Ok(value),
            (Some(Convert::String), Json::Number(number)) => Ok(Json::String(number.to_string())),
            (Some(Convert::String), Json::Bool(value)) => Ok(Json::String(value.to_string())),
            (Some(Convert::Number), Json::String(text)) => {
                json_number(text.trim()).map_err(|()| self.wrong(place, format!("`{text}` is not a number")))
            }
            (Some(convert), other) => Err(self.wrong(
                place,
                format!("{} cannot become a {convert:?}", kind(&other)).to_lowercase(),
            )),
        }
    }

    fn negated(&self, place: &str, value: &Json) -> Result<Json, PlanError> {
        let Json::Number(number) = value else {
            return Err(self.wrong(
                place,
                format!("only a number can be negated, not {}", kind(value)),
            ));
        };
        let text = number.to_string();
        let negated = text
            .strip_prefix('-')
            .map_or_else(|| format!("-{text}"), str::to_owned);
        json_number(&negated).map_err(|()| self.wrong(place, format!("`{text}` cannot be negated")))
    }

    pub(super) fn decimal(&self, place: &str, number: &Number) -> Result<Decimal, PlanError> {
        let text = number.to_string();
        Decimal::parse(&text).map_err(|error| {
            self.wrong(
                place,
                format!(
                    "DynamoDB cannot hold {text} as a number: {error}; to keep its text say as = \"string\""
                ),
            )
        })
    }

    pub(super) fn attr(&self, place: &str, value: Json) -> Result<Attr, PlanError> {
        Ok(match value {
            Json::Null => Attr::Null,
            Json::Bool(value) => Attr::Bool(value),
            Json::String(value) => Attr::S(value),
            Json::Number(number) => Attr::N(self.decimal(place, &number)?),
            Json::Array(list) => Attr::L(
                list.into_iter()
                    .map(|value| self.attr(place, value))
                    .collect::<Result<_, _>>()?,
            ),
            Json::Object(map) => {
                let pair = |(name, value)| Ok((name, self.attr(place, value)?));
                Attr::M(map.into_iter().map(pair).collect::<Result<_, _>>()?)
            }
        })
    }
}

/// A JSON number with exactly this text.
fn json_number(text: &str) -> Result<Json, ()> {
    text.parse::<Number>().map(Json::Number).map_err(drop)
}

pub(super) fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
