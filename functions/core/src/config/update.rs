//! Reads `[[rule.update]]` and checks its key against its table and its values against its condition.

use std::collections::BTreeMap;

use super::{
    KeyType, TableConfig, UpdateConfig, ValueSpec,
    reader::{Found, Reader},
    report::suggestion,
    rule::{Context, plain},
    value::{check_reference, map},
};
use crate::plan::OnCondition;

pub(super) fn update(reader: Reader<'_>, context: &Context<'_>) -> Option<(usize, UpdateConfig)> {
    let table = reader.need_string("table");
    let key = reader
        .need("key")
        .map(|_| map(&reader, "key"))
        .unwrap_or_default();
    if let Some(table) = &table {
        check_reference(table, "table", context.tables.keys().map(String::as_str), &reader);
        if let Some(Some(schema)) = context.tables.get(&table.value) {
            check_key(&key, schema, &table.value, &reader);
        }
    }
    let (set, add, values) = (map(&reader, "set"), map(&reader, "add"), map(&reader, "values"));
    let remove = reader.strings("remove");
    let add_at = reader.get("add").map_or(reader.start, |item| item.span().start);
    let mut seen: Vec<&str> = Vec::new();
    let places = set
        .iter()
        .chain(&add)
        .map(|(name, found)| (name.as_str(), found.at));
    for (name, at) in places.chain(remove.iter().map(|found| (found.value.as_str(), found.at))) {
        if key.contains_key(name) {
            reader.report.at(
                at,
                format!("{}: `{name}` is part of the key and cannot change", reader.place),
            );
        }
        if seen.contains(&name) {
            reader.report.at(
                at,
                format!("{}: `{name}` is changed twice by one update", reader.place),
            );
        }
        seen.push(name);
    }
    let condition = reader.string("condition");
    if condition.is_none() && !values.is_empty() {
        reader.wrong("`values` belongs to `condition`, which is missing");
    }
    if let Some(condition) = &condition {
        check_values(condition, &values, &reader);
    }
    let words = [
        ("fail", OnCondition::Fail),
        ("skip", OnCondition::Skip),
        ("retry", OnCondition::Retry),
    ];
    let on_condition = reader.word("on_condition", &words).unwrap_or_default();
    let must_exist = reader.boolean("must_exist").unwrap_or(true);
    if seen.is_empty() && condition.is_none() {
        reader.wrong("nothing to do: give `set`, `add`, `remove` or `condition`");
    }
    reader.finish();
    let update = UpdateConfig {
        table: table?.value,
        key: plain(key),
        set: plain(set),
        add: plain(add),
        remove: remove.into_iter().map(|found| found.value).collect(),
        condition: condition.map(|found| found.value),
        values: plain(values),
        on_condition,
        must_exist,
    };
    Some((add_at, update))
}

fn check_key(
    key: &BTreeMap<String, Found<ValueSpec>>,
    schema: &TableConfig,
    table: &str,
    reader: &Reader<'_>,
) {
    let names = || schema.key.keys().map(String::as_str);
    for (name, found) in key {
        match (schema.key.get(name), &found.value) {
            (None, _) => {
                let nearest = suggestion(name, names());
                reader.report.at(
                    found.at,
                    format!(
                        "{}: `{name}` is not part of the key of table `{table}`{nearest}",
                        reader.place
                    ),
                );
            }
            (Some(kind), ValueSpec::Literal(literal)) if literal.is_string() != (*kind == KeyType::S) => {
                reader.report.at(
                    found.at,
                    format!("{}: `{name}` must be of type {kind:?}", reader.place),
                );
            }
            _ => {}
        }
    }
    for missing in names().filter(|name| !key.is_empty() && !key.contains_key(*name)) {
        reader.wrong(format_args!(
            "`key` lacks `{missing}`, a part of the key of table `{table}`"
        ));
    }
}

/// Every `:name` of a condition must have a value, and every value a use.
fn check_values(condition: &Found<String>, values: &BTreeMap<String, Found<ValueSpec>>, reader: &Reader<'_>) {
    let word = |rest: &str| -> String {
        rest.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let used: Vec<String> = condition.value.split(':').skip(1).map(word).collect();
    for name in used.iter().filter(|name| !values.contains_key(*name)) {
        let nearest = suggestion(name, values.keys().map(String::as_str));
        reader.report.at(
            condition.at,
            format!("{}: `:{name}` has no value in `values`{nearest}", reader.place),
        );
    }
    for (name, found) in values.iter().filter(|(name, _)| !used.contains(name)) {
        reader.report.at(
            found.at,
            format!("{}: `condition` does not use `:{name}`", reader.place),
        );
    }
}
