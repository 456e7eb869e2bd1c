//! Reads and checks oncehook.toml as a whole, in the order in which its parts refer to one another.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use toml::de::DeTable;

use super::{
    Config, ConfigErrors, KeyType, RuleConfig, TableConfig, destination,
    reader::Reader,
    report::Report,
    rule::{self, Context},
    source, units,
};

/// How many ways open items are spread unless the configuration says otherwise.
const SHARDS: u32 = 4;

impl Config {
    /// Reads and checks a configuration. `file` is its name in messages.
    ///
    /// # Errors
    /// All mistakes at once.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigErrors> {
        let report = Report::new(file, text);
        let document = match DeTable::parse(text) {
            Ok(document) => document,
            Err(error) => {
                report.at(error.span().map_or(0, |span| span.start), error.message());
                return report.finish().map(|()| Self::empty());
            }
        };
        let config = read(document.get_ref(), &report);
        report.finish().map(|()| config)
    }

    fn empty() -> Self {
        Self {
            sources: BTreeMap::new(),
            tables: BTreeMap::new(),
            rules: Vec::new(),
            destinations: BTreeMap::new(),
            shards: SHARDS,
        }
    }
}

/// Names are parts of keys, paths and variables: lower-case letters, digits, `_` and `-`.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let fits = |character: char| {
        character.is_ascii_lowercase() || character.is_ascii_digit() || "_-".contains(character)
    };
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(format!(
            "`{name}` cannot be a name: names are 1 to 64 lower-case letters, digits, `_` and `-`"
        ));
    }
    Ok(())
}

fn read(document: &DeTable<'_>, report: &Report<'_>) -> Config {
    let reader = Reader::new(document, 0, String::new(), report);
    let sources = named(&reader, "source", source::source);
    let tables = named(&reader, "table", |_, reader| table(&reader));
    let destinations = named(&reader, "destination", destination::destination);
    let context = Context {
        sources: &sources,
        tables: &tables,
        destinations: &destinations,
    };
    let mut rules: Vec<RuleConfig> = Vec::new();
    for table in reader.tables("rule") {
        let Some((rule, at)) = rule::rule(table, &context) else {
            continue;
        };
        if rules.iter().any(|other| other.name == rule.name) {
            report.at(
                at,
                format!(
                    "two rules are called `{}`: names are parts of keys, rename one",
                    rule.name
                ),
            );
        }
        outlives(&rule, &context, at, report);
        rules.push(rule);
    }
    let shards = reader.table("outbox").and_then(|table| {
        let shards = table.integer("shards", 1, 64);
        table.finish();
        shards.and_then(|shards| u32::try_from(shards).ok())
    });
    if sources.is_empty() {
        report.at(
            0,
            "there is no source: write [source.NAME] with `scheme` and `secret`",
        );
    }
    reader.finish();
    Config {
        sources: present(sources),
        tables: present(tables),
        rules,
        destinations: present(destinations),
        shards: shards.unwrap_or(SHARDS),
    }
}

/// An event must be remembered, with its body, for as long as its effects are tried, and a day more.
fn outlives(rule: &RuleConfig, context: &Context<'_>, at: usize, report: &Report<'_>) {
    const MORE: SignedDuration = SignedDuration::from_hours(24);
    let Some(Some(source)) = context.sources.get(&rule.source) else {
        return;
    };
    for effect in &rule.effects {
        let Some(Some(destination)) = context.destinations.get(&effect.destination) else {
            continue;
        };
        if source.retention < destination.give_up_after + MORE {
            report.at(
                at,
                format!(
                    "rule `{}`: source `{}` keeps events for {}, and destination `{}` is tried for {}: make `retention` at \
                     least a day longer than `give_up_after`",
                    rule.name,
                    source.name,
                    units::show(source.retention),
                    destination.name,
                    units::show(destination.give_up_after)
                ),
            );
        }
    }
}

/// Reads `[KEY.NAME]` for every name.
fn named<T>(
    reader: &Reader<'_>,
    key: &'static str,
    read: impl Fn(&str, Reader<'_>) -> Option<T>,
) -> BTreeMap<String, Option<T>> {
    let Some(item) = reader.get(key) else {
        return BTreeMap::new();
    };
    let Some(table) = Reader::of(item, format!("[{key}]"), reader.report) else {
        return BTreeMap::new();
    };
    let one = |(name, at, item)| {
        if let Err(reason) = check_name(name) {
            reader.report.at(at, reason);
        }
        let value = Reader::of(item, format!("[{key}.{name}]"), reader.report).and_then(|mut table| {
            table.start = at;
            read(name, table)
        });
        (name.to_owned(), value)
    };
    table.entries().map(one).collect()
}

fn table(reader: &Reader<'_>) -> Option<TableConfig> {
    for (name, at, _) in reader.entries().filter(|(name, ..)| *name != "key") {
        reader.report.at(
            at,
            format!("{}: unknown key `{name}`; there is `key`", reader.place),
        );
    }
    reader.need("key")?;
    let keys = reader.table("key")?;
    let mut key = BTreeMap::new();
    for (name, at, item) in keys.entries() {
        match item.get_ref().as_str() {
            Some("S") => drop(key.insert(name.to_owned(), KeyType::S)),
            Some("N") => drop(key.insert(name.to_owned(), KeyType::N)),
            _ => keys.report.at(
                at,
                format!("{}: the type of `{name}` must be \"S\" or \"N\"", keys.place),
            ),
        }
    }
    if !(1..=2).contains(&keys.entries().count()) {
        keys.wrong("a DynamoDB table has a primary key of one or two attributes");
    }
    Some(TableConfig { key })
}

fn present<T>(values: BTreeMap<String, Option<T>>) -> BTreeMap<String, T> {
    values
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| (name, value)))
        .collect()
}
