//! Every table that a rule writes: where its name comes from, whether ingest may write it, whether its key fits.

use std::collections::BTreeMap;

use oncehook_core::config::{KeyType, TableConfig, UpdateConfig};
use oncehook_edge::variable;
use oncehook_local::template::{Part, Place, Policy, Resource};

use super::{Context, at};
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
                keys(context, table, declared, findings);
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

/// The key that the template declares must be the one of the configuration.
fn keys(context: &Context<'_>, table: &Written<'_>, declared: &Resource<'_>, findings: &mut Findings) {
    let expected: BTreeMap<&str, &str> = table
        .key
        .key
        .iter()
        .map(|(name, kind)| (name.as_str(), if *kind == KeyType::S { "S" } else { "N" }))
        .collect();
    let (found, place) = declared_key(declared);
    let found: BTreeMap<&str, &str> = found
        .iter()
        .map(|(name, kind)| (name.as_str(), kind.as_str()))
        .collect();
    if found.values().any(|kind| kind.contains("${")) || found.keys().any(|name| name.contains("${")) {
        findings.note(
            Some(place),
            format!("the key of `{}` is known only when it is deployed", declared.id),
        );
    } else if found != expected {
        findings.error(
            place,
            format!(
                "`{}` has the key {}, but [table.{}] in {} says {}: make them the same",
                declared.id,
                show(&found),
                table.name,
                at(&context.places.of(&["table", table.name, "key"])),
                show(&expected),
            ),
        );
    }
}

fn show(key: &BTreeMap<&str, &str>) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|(name, kind)| format!("{name} = \"{kind}\""))
        .collect();
    format!("{{ {} }}", parts.join(", "))
}

fn declared_key(table: &Resource<'_>) -> (BTreeMap<String, String>, Place) {
    let text = |part: Option<Part<'_>>| part.map(Part::texts).unwrap_or_default().into_iter().next();
    if table.kind == "AWS::Serverless::SimpleTable" {
        let key = table.property("PrimaryKey");
        let name = text(key.and_then(|key| key.get("Name"))).unwrap_or_else(|| "id".to_owned());
        let kind = match text(key.and_then(|key| key.get("Type"))).as_deref() {
            None | Some("String") => "S",
            Some("Number") => "N",
            Some(_) => "B",
        };
        let place = key.map_or_else(|| table.part.place(), |key| key.place());
        return (BTreeMap::from([(name, kind.to_owned())]), place);
    }
    let list = |name| table.property(name).map(Part::items).unwrap_or_default();
    let types: BTreeMap<String, String> = list("AttributeDefinitions")
        .into_iter()
        .filter_map(|part| Some((text(part.get("AttributeName"))?, text(part.get("AttributeType"))?)))
        .collect();
    let names = list("KeySchema")
        .into_iter()
        .filter_map(|part| text(part.get("AttributeName")));
    let key = names.map(|name| {
        let kind = types.get(&name).cloned().unwrap_or_else(|| "?".to_owned());
        (name, kind)
    });
    let place = table
        .property("KeySchema")
        .map_or_else(|| table.part.place(), |part| part.place());
    (key.collect(), place)
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
        let about: Vec<_> = policy
            .statements
            .iter()
            .filter(|statement| statement.covers(action) && statement.reaches_table(names))
            .collect();
        let place = ["Policies", "Role"]
            .into_iter()
            .find_map(|key| ingest.property(key));
        let place = place.map_or_else(|| ingest.part.place(), |part| part.place());
        let needs = format!(
            "{} writes the table `{}` and needs {action} on it",
            at(rule),
            table.name
        );
        if let Some(denied) = about.iter().find(|statement| !statement.allow) {
            findings.error(denied.place.clone(), format!("{needs}, which is denied here"));
        } else if about.iter().any(|statement| !statement.conditional) {
        } else if let Some(conditional) = about.first() {
            let message = format!("{needs}, which is allowed only under a condition: see that it holds");
            findings.note(Some(conditional.place.clone()), message);
        } else if let Some((place, _)) = policy.unread.first() {
            let message =
                format!("{needs}; the statements in this template do not allow it, see that the rest does");
            findings.note(Some(place.clone()), message);
        } else {
            let table = names
                .iter()
                .find(|name| name.starts_with("${"))
                .unwrap_or(&names[0]);
            let arn = match table.strip_prefix("${").and_then(|name| name.strip_suffix('}')) {
                Some(id) => format!("!GetAtt {id}.Arn"),
                None => format!("the ARN of {table}"),
            };
            findings.error(place, format!("{needs}, but Ingest is not allowed it: add {action} with the resource {arn} to its policy"));
        }
    }
}
