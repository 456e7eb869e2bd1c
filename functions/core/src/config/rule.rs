//! Reads `[[rule]]` with its effects, and checks it against sources and destinations.

use std::collections::BTreeMap;

use super::{
    BodyConfig, DestinationConfig, EffectConfig, KeyPlace, Kind, NewerBy, RuleConfig, SourceConfig,
    TableConfig, ValueSpec,
    parse::check_name,
    reader::{Found, Reader},
    update::update,
    value::{check_reference, check_template, map, value},
};
use crate::template::Templates;

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
    if body == Some(BodyConfig::Event) && keys_in_body(destination.as_ref(), context) {
        reader.wrong(
            "the destination takes its key in the body, and the exact bytes of the event have no place for it: use a template",
        );
    }
    let path = reader.string("path");
    if let Some(path) = &path {
        check_template(path, &format!("{}: `path`", reader.place), reader.report);
    }
    let group = reader.string("group");
    if let Some(group) = &group {
        check_template(group, &format!("{}: `group`", reader.place), reader.report);
    }
    let kind = destination.as_ref().and_then(|found| {
        let found = context.destinations.get(&found.value)?.as_ref()?;
        Some(&found.kind)
    });
    match kind {
        Some(kind) if path.is_some() && kind.is_aws() => reader.wrong(format_args!(
            "`path` is for HTTP APIs, and the destination has kind = \"{}\": remove it",
            kind.name()
        )),
        Some(kind) if group.is_some() && !matches!(kind, Kind::Sqs { .. }) => {
            reader.wrong("`group` is the message group of a queue, and the destination is none: remove it");
        }
        _ => {}
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
            group: group.map(|found| found.value),
        },
    ))
}

fn keys_in_body(destination: Option<&Found<String>>, context: &Context<'_>) -> bool {
    let found = destination.and_then(|found| context.destinations.get(&found.value)?.as_ref());
    let keys = found.and_then(|found| found.idempotency.as_ref());
    keys.is_some_and(|keys| matches!(keys.place, KeyPlace::Field(_)))
}

pub(super) fn plain(values: BTreeMap<String, Found<ValueSpec>>) -> BTreeMap<String, ValueSpec> {
    values
        .into_iter()
        .map(|(name, found)| (name, found.value))
        .collect()
}
