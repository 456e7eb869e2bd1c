//! Every table that a rule writes: where its name comes from, whether ingest may write it, whether its key fits.

mod keys;

use std::collections::BTreeMap;

use oncehook_core::config::{TableConfig, UpdateConfig};
use oncehook_edge::variable;
use oncehook_local::template::{Part, Place, Policy, Resource};

use super::{
    Context, at,
    rights::{self, Right},
};
use crate::check::finding::Findings;

/// A table that rules write.
struct Written<'c> {
    name: &'c str,
    key: &'c TableConfig,
    /// Each action that DynamoDB asks rights for, with the place of the first rule that needs it.
    actions: BTreeMap<&'static str, Place>,
}

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let written = written(context);
    if written.is_empty() {
        return;
    }
    let Some(ingest) = context.resource("Ingest", "the function that takes webhooks", findings) else {
        return;
    };
    let policy = ingest.policy();
    for (place, why) in &policy.unread {
        findings.note(Some(place.clone()), format!("Ingest: {why}"));
    }
    for table in &written {
        let variable = variable("TABLE", table.name);
        let mapped = ingest.variables().get(variable.as_str()).copied();
        let physical = mapped.map_or_else(|| vec![table.name.to_owned()], Part::texts);
        for name in &physical {
            let declared = declared(context, name);
            let mut names = vec![name.clone()];
            if let Some(declared) = &declared {
                names.push(declared.reference());
                names.extend(
                    declared
                        .property("TableName")
                        .map(Part::texts)
                        .unwrap_or_default(),
                );
                keys::check(context, table, declared, findings);
            }
            if declared.is_none() {
                let place = mapped.map_or_else(|| ingest.part.place(), |part| part.place());
                let reached = policy
                    .statements
                    .iter()
                    .any(|statement| statement.reaches_table(&names));
                if mapped.is_none() && !reached {
                    findings.error(
                        place,
                        format!(
                            "Ingest does not know the table `{}` of oncehook.toml ({}): declare it and add {variable}: !Ref ITS_ID to \
                             Ingest's Environment, or give there the name of a table that exists",
                            table.name,
                            at(&context.places.of(&["table", table.name])),
                        ),
                    );
                    continue;
                }
                findings.note(
                    Some(place),
                    format!(
                        "the table `{}` ({name}) is not declared in this template: its key was not checked",
                        table.name
                    ),
                );
            }
            rights(table, &names, &policy, &ingest, findings);
        }
    }
}

/// The tables of rules, with what the rules do to them.
fn written<'c>(context: &Context<'c>) -> Vec<Written<'c>> {
    let mut written: BTreeMap<&str, BTreeMap<&'static str, Place>> = BTreeMap::new();
    for (rule_index, rule) in context.config.rules.iter().enumerate() {
        for (index, update) in rule.updates.iter().enumerate() {
            let (rule, index) = (rule_index.to_string(), index.to_string());
            let place = context.places.of(&["rule", &rule, "update", &index, "table"]);
            written
                .entry(&update.table)
                .or_default()
                .entry(action(update))
                .or_insert(place);
        }
    }
    written
        .into_iter()
        .filter_map(|(name, actions)| {
            let (name, key) = context.config.tables.get_key_value(name)?;
            Some(Written { name, key, actions })
        })
        .collect()
}

/// An update that changes nothing only checks.
fn action(update: &UpdateConfig) -> &'static str {
    if update.set.is_empty() && update.add.is_empty() && update.remove.is_empty() {
        "dynamodb:ConditionCheckItem"
    } else {
        "dynamodb:UpdateItem"
    }
}

fn declared<'c>(context: &Context<'c>, name: &str) -> Option<Resource<'c>> {
    let named = |resource: &Resource<'_>| {
        let names = resource
            .property("TableName")
            .map(Part::texts)
            .unwrap_or_default();
        names.iter().any(|known| known == name)
    };
    context
        .template
        .resources()
        .filter(|resource| is_table(resource.kind))
        .find(|resource| resource.reference() == name || named(resource))
}

fn is_table(kind: &str) -> bool {
    [
        "AWS::DynamoDB::Table",
        "AWS::DynamoDB::GlobalTable",
        "AWS::Serverless::SimpleTable",
    ]
    .contains(&kind)
}

/// Ingest must be allowed what the rules do to a table.
fn rights(
    table: &Written<'_>,
    names: &[String],
    policy: &Policy,
    ingest: &Resource<'_>,
    findings: &mut Findings,
) {
    for (action, rule) in &table.actions {
        let right = Right {
            action,
            needs: format!(
                "{} writes the table `{}` and needs {action} on it",
                at(rule),
                table.name
            ),
            remedy: format!("add {action} with the resource {} to its policy", arn(names)),
        };
        rights::demand(
            &right,
            |statement| statement.reaches_table(names),
            policy,
            ingest,
            findings,
        );
    }
}

/// How to write the ARN of a table in the template.
fn arn(names: &[String]) -> String {
    let id = names
        .iter()
        .find_map(|name| name.strip_prefix("${")?.strip_suffix('}'));
    match id.or_else(|| names.first().map(String::as_str)) {
        Some(id) if names.iter().any(|name| name.starts_with("${")) && !id.contains('/') => {
            format!("!GetAtt {id}.Arn")
        }
        id => format!("the ARN of {}", id.unwrap_or_default()),
    }
}
