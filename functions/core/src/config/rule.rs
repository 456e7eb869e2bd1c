//! Reads `[[rule]]` with its updates and effects, and checks them against the tables and destinations.

use std::collections::BTreeMap;

use super::{
    BodyConfig, DestinationConfig, EffectConfig, KeyType, NewerBy, RuleConfig, SourceConfig, TableConfig,
    UpdateConfig, ValueSpec,
    parse::check_name,
    reader::{Found, Reader},
    report::suggestion,
    value::{check_reference, check_template, map, value},
};
use crate::{plan::OnCondition, template::Templates};

/// What rules refer to. A name is there even if what it names has mistakes.
pub(super) struct Context<'a> {
    pub(super) sources: &'a BTreeMap<String, Option<SourceConfig>>,
    pub(super) tables: &'a BTreeMap<String, Option<TableConfig>>,
    pub(super) destinations: &'a BTreeMap<String, Option<DestinationConfig>>,
}

pub(super) fn rule(mut reader: Reader<'_>, context: &Context<'_>) -> Option<(RuleConfig, usize)> {
    let name = reader.need_string("name");
    if let Some(name) = &name {
        reader.place = format!("rule `{}`", name.value);
        if let Err(reason) = check_name(&name.value) {
            reader.report.at(name.at, reason);
        }
    }
    let source = reader.need_string("source");
    if let Some(source) = &source {
        check_reference(
            source,
            "source",
            context.sources.keys().map(String::as_str),
            &reader,
        );
    }
    let events = reader
        .need("events")
        .map(|_| reader.strings("events"))
        .unwrap_or_default();
    for event in events
        .iter()
        .filter(|event| event.value.trim_end_matches('*').contains('*') || event.value.is_empty())
    {
        reader.report.at(
            event.at,
            format!(
                "{}: `{}`: `*` can only stand at the end",
                reader.place, event.value
            ),
        );
    }
    let when = reader.string("when");
    if let Some(when) = &when
        && let Err(reason) = Templates::new().add_expression("check", &when.value)
    {
        reader
            .report
            .at(when.at, format!("{}: `when`: {reason}", reader.place));
    }
    let once_per = reader.string("once_per");
    if let Some(once_per) = &once_per {
        check_template(once_per, &format!("{}: `once_per`", reader.place), reader.report);
    }
    let once_for = reader.duration("once_for", "1m", "3650d");
    if once_for.is_some() && once_per.is_none() {
        reader.wrong("`once_for` says how long `once_per` holds, which is missing");
    }
    let newer_by = newer_by(&reader);
    let response = plain(map(&reader, "response"));
    let updates: Vec<_> = reader
        .tables("update")
        .into_iter()
        .map(|table| update(table, context))
        .collect();
    let effects: Vec<_> = reader
        .tables("effect")
        .into_iter()
        .map(|table| effect(table, context))
        .collect();
    for (at, _) in updates
        .iter()
        .flatten()
        .filter(|(_, update)| newer_by.is_some() && !update.add.is_empty())
    {
        reader.report.at(
            *at,
            format!("{}: `add` beside `newer_by`: an event that came late would never be added; use `set`, or move it to a rule of its own", reader.place),
        );
    }
    let mut names: Vec<&str> = Vec::new();
    for (at, effect) in effects.iter().flatten() {
        if names.contains(&effect.name.as_str()) {
            reader.report.at(
                *at,
                format!(
                    "{}: two effects are called `{}`: rename one",
                    reader.place, effect.name
                ),
            );
        }
        names.push(&effect.name);
    }
    let start = name.as_ref().map_or(reader.start, |name| name.at);
    reader.finish();
    let rule = RuleConfig {
        name: name?.value,
        source: source?.value,
        events: events.into_iter().map(|event| event.value).collect(),
        when: when.map(|found| found.value),
        once_per: once_per.map(|found| found.value),
        once_for,
        newer_by,
        response,
        updates: updates.into_iter().flatten().map(|(_, update)| update).collect(),
        effects: effects.into_iter().flatten().map(|(_, effect)| effect).collect(),
    };
    Some((rule, start))
}

fn newer_by(reader: &Reader<'_>) -> Option<NewerBy> {
    let table = reader.table("newer_by")?;
    let read = |key| {
        table
            .need(key)
            .and_then(|item| value(item, &format!("{}.{key}", table.place), table.report))
    };
    let (of, at) = (read("of"), read("at"));
    table.finish();
    Some(NewerBy { of: of?, at: at? })
}

fn update(reader: Reader<'_>, context: &Context<'_>) -> Option<(usize, UpdateConfig)> {
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

fn effect(reader: Reader<'_>, context: &Context<'_>) -> Option<(usize, EffectConfig)> {
    let name = reader.need_string("name");
    if let Some(name) = &name
        && let Err(reason) = check_name(&name.value)
    {
        reader.report.at(name.at, format!("{}: {reason}", reader.place));
    }
    let destination = reader.need_string("destination");
    if let Some(destination) = &destination {
        check_reference(
            destination,
            "destination",
            context.destinations.keys().map(String::as_str),
            &reader,
        );
    }
    let body = reader.need("body").and_then(|item| {
        if item.get_ref().is_table() {
            let table = reader.table("body")?;
            if table.boolean("event") != Some(true) {
                table.wrong("a body is a template, or { event = true } for the exact bytes of the event");
            }
            table.finish();
            return Some(BodyConfig::Event);
        }
        let text = reader.string("body")?;
        check_template(&text, &format!("{}: `body`", reader.place), reader.report);
        Some(BodyConfig::Template(text.value))
    });
    let path = reader.string("path");
    if let Some(path) = &path {
        check_template(path, &format!("{}: `path`", reader.place), reader.report);
    }
    reader.finish();
    let name = name?;
    let path = path.map(|found| found.value);
    Some((
        name.at,
        EffectConfig {
            name: name.value,
            destination: destination?.value,
            body: body?,
            path,
        },
    ))
}

fn plain(values: BTreeMap<String, Found<ValueSpec>>) -> BTreeMap<String, ValueSpec> {
    values
        .into_iter()
        .map(|(name, found)| (name, found.value))
        .collect()
}
