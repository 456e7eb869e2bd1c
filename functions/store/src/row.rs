//! Changes to the user's own rows, as DynamoDB takes them.
//!
//! Pure: builds, sends nothing.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::{ConditionCheck, TransactWriteItem, Update as UpdateAction};
use oncehook_core::plan::{Attr, Update};

use crate::{actions::build, attr, ledger::Ledger};

impl Ledger {
    /// One change to a row of the user's, or a check where nothing is changed.
    pub(crate) fn row_update(&self, update: &Update) -> TransactWriteItem {
        let mut names = HashMap::new();
        let mut values = HashMap::new();
        let mut clauses: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let prefix = free_prefix(update);
        let mut name = |attribute: &str| {
            let placeholder = format!("#{prefix}{}", names.len());
            names.insert(placeholder.clone(), attribute.to_owned());
            placeholder
        };
        for (attribute, attr) in &update.set {
            let value = format!(":{prefix}{}", values.len());
            values.insert(value.clone(), attr::value(attr));
            clauses
                .entry("SET")
                .or_default()
                .push(format!("{} = {value}", name(attribute)));
        }
        for (attribute, number) in &update.add {
            let value = format!(":{prefix}{}", values.len());
            values.insert(value.clone(), attr::n(number.as_str()));
            clauses
                .entry("ADD")
                .or_default()
                .push(format!("{} {value}", name(attribute)));
        }
        for attribute in &update.remove {
            clauses.entry("REMOVE").or_default().push(name(attribute));
        }
        let mut conditions = Vec::new();
        if update.must_exist
            && let Some(attribute) = update.key.keys().next()
        {
            conditions.push(format!("attribute_exists({})", name(attribute)));
        }
        if let Some(condition) = &update.condition {
            conditions.push(format!("({})", condition.expression));
            values.extend(
                condition
                    .values
                    .iter()
                    .map(|(name, attr)| (format!(":{name}"), attr::value(attr))),
            );
            names.extend(placeholders(&condition.expression));
        }
        let expression: Vec<String> = clauses
            .iter()
            .map(|(verb, parts)| format!("{verb} {}", parts.join(", ")))
            .collect();
        let key = update
            .key
            .iter()
            .map(|(name, attr)| (name.clone(), attr::value(attr)))
            .collect();
        let condition = (!conditions.is_empty()).then(|| conditions.join(" AND "));
        let names = (!names.is_empty()).then_some(names);
        let values = (!values.is_empty()).then_some(values);
        if let (true, Some(condition)) = (expression.is_empty(), &condition) {
            let check = ConditionCheck::builder()
                .table_name(self.physical(&update.table))
                .set_key(Some(key))
                .condition_expression(condition)
                .set_expression_attribute_names(names)
                .set_expression_attribute_values(values);
            return TransactWriteItem::builder()
                .condition_check(build(check.build()))
                .build();
        }
        let action = UpdateAction::builder()
            .table_name(self.physical(&update.table))
            .set_key(Some(key))
            .update_expression(expression.join(" "))
            .set_condition_expression(condition)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values);
        TransactWriteItem::builder().update(build(action.build())).build()
    }
}

/// A prefix for our placeholders that no placeholder of the condition has.
fn free_prefix(update: &Update) -> String {
    let mut prefix = "oh".to_owned();
    if let Some(condition) = &update.condition {
        while condition.expression.contains(&prefix) {
            prefix.push('h');
        }
    }
    prefix
}

/// The `#name` placeholders of a condition, each standing for the attribute of its name.
fn placeholders(expression: &str) -> impl Iterator<Item = (String, String)> {
    expression.split('#').skip(1).filter_map(|rest| {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            .unwrap_or(rest.len());
        (end > 0).then(|| (format!("#{}", &rest[..end]), rest[..end].to_owned()))
    })
}

/// The row, for people.
pub(crate) fn name(update: &Update) -> String {
    let parts: Vec<String> = update
        .key
        .iter()
        .map(|(name, attr)| match attr {
            Attr::S(text) => format!("{name}={text}"),
            Attr::N(number) => format!("{name}={}", number.as_str()),
            other => format!("{name}={other:?}"),
        })
        .collect();
    format!("the row {} of table `{}`", parts.join(","), update.table)
}
