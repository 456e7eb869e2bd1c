//! What watches: alarms and the dashboard ask for metrics that the functions emit, every alarm says what to do and has its
//! section in the runbook, and saved queries name fields that the logs have.

use std::{collections::BTreeSet, path::Path};

use oncehook_edge::metrics::METRICS;
use oncehook_local::template::{Resource, Template};
use serde_json::Value;

use super::{ROOT, maps, same, text};

const NAMESPACE: &str = "Oncehook/${AWS::StackName}";

pub(super) fn compare(template: &Template, found: &mut Vec<String>) {
    let of = |kind: &'static str| template.resources().filter(move |resource| resource.kind == kind);
    let runbook = std::fs::read_to_string(Path::new(ROOT).join("docs/runbook.md")).unwrap();
    for alarm in of("AWS::CloudWatch::Alarm") {
        // Those of a gradual deployment roll back, and tell nobody.
        let condition = alarm.part.get("Condition").map(|part| part.texts().concat());
        if condition.as_deref() != Some("Gradual") {
            told(&alarm, &runbook, found);
        }
    }
    for dashboard in of("AWS::CloudWatch::Dashboard") {
        shown(&text(&dashboard, &["DashboardBody"]), found);
    }
    // Counted by the functions or out of their logs, but not both under one name.
    for filter in of("AWS::Logs::MetricFilter") {
        for metric in maps(filter.property("MetricTransformations")) {
            let name = &metric["MetricName"];
            if METRICS.iter().any(|known| known.name == *name) {
                found.push(format!("{}: the functions emit {name} themselves", filter.id));
            }
        }
    }
    let code = code();
    for query in of("AWS::Logs::QueryDefinition") {
        asked(&query, &code, found);
    }
}

/// An alarm for people.
fn told(alarm: &Resource<'_>, runbook: &str, found: &mut Vec<String>) {
    let id = alarm.id;
    for actions in ["AlarmActions", "OKActions"] {
        same(found, id, alarm.property(actions).is_some(), true);
    }
    if text(alarm, &["Namespace"]) == NAMESPACE {
        let dimensions = maps(alarm.property("Dimensions"));
        let function = dimensions.first().and_then(|map| map.get("Value")).cloned();
        emitted(
            id,
            &text(alarm, &["MetricName"]),
            &function.unwrap_or_default(),
            found,
        );
        same(found, id, dimensions.len(), 1);
    }
    let description = text(alarm, &["AlarmDescription"]);
    let Some((remedy, link)) = description.rsplit_once(" - ") else {
        found.push(format!("{id}: `{description}` has no link"));
        return;
    };
    if remedy.split(". ").count() < 2 {
        found.push(format!(
            "{id}: `{remedy}` says what is wrong or what to do, not both"
        ));
    }
    let anchor = link.rsplit('#').next().unwrap_or_default();
    let slug = |title: &str| title.to_lowercase().replace(' ', "-");
    let section = runbook
        .split("\n## ")
        .find(|section| section.lines().next().is_some_and(|title| slug(title) == anchor));
    match section {
        None => found.push(format!("{id}: the runbook has no section `{anchor}`")),
        Some(section) if !section.contains(id) => {
            found.push(format!("{id}: the runbook's section `{anchor}` does not name it"));
        }
        Some(section) if !section.contains("**Do:**") || !section.contains("**Look:**") => {
            found.push(format!(
                "{id}: the runbook's section `{anchor}` says not where to look or what to do"
            ));
        }
        Some(_) => {}
    }
}

fn shown(body: &str, found: &mut Vec<String>) {
    let Ok(body) = serde_json::from_str::<Value>(body) else {
        found.push("the dashboard is no JSON".to_owned());
        return;
    };
    let widgets = body["widgets"].as_array().cloned().unwrap_or_default();
    let metrics = widgets
        .iter()
        .filter_map(|widget| widget["properties"]["metrics"].as_array());
    let mut names = BTreeSet::new();
    for metric in metrics.flatten() {
        let word = |index: usize| metric[index].as_str().unwrap_or_default();
        same(found, "the dashboard", word(0), NAMESPACE);
        same(found, "the dashboard", word(2), "function");
        emitted("the dashboard", word(1), word(3), found);
        names.insert(word(1).to_owned());
    }
    // What a person wants to know at a glance.
    for name in [
        "Received",
        "Duplicates",
        "Failed",
        "Held",
        "Parked",
        "Dead",
        "OldestDue",
        "OpenFor",
    ] {
        same(found, "the dashboard has", names.contains(name), true);
    }
}

fn emitted(what: &str, name: &str, function: &str, found: &mut Vec<String>) {
    let known = METRICS
        .iter()
        .any(|metric| metric.name == name && metric.function == function);
    if !known {
        found.push(format!("{what}: {function} emits no metric {name}"));
    }
}

/// The functions' code, where their log lines are written.
fn code() -> String {
    let files = [
        "ingest/src/receive.rs",
        "drain/src/attempt.rs",
        "edge/src/metrics/table.rs",
    ];
    let read = |file| std::fs::read_to_string(Path::new(ROOT).join("functions").join(file)).unwrap();
    files.map(read).concat()
}

/// Every word of a query that is none of its language's stands in the code that logs.
fn asked(query: &Resource<'_>, code: &str, found: &mut Vec<String>) {
    const LANGUAGE: [&str; 19] = [
        "filter",
        "ispresent",
        "stats",
        "sum",
        "count",
        "by",
        "bin",
        "1d",
        "as",
        "sort",
        "desc",
        "fields",
        "and",
        "in",
        "timestamp",
        "message",
        "100",
        "percent",
        "again",
    ];
    let text = text(query, &["QueryString"]);
    // Names that the query itself gives.
    let given: Vec<&str> = text
        .split(" as ")
        .skip(1)
        .filter_map(|rest| rest.split([',', ' ']).next())
        .collect();
    for word in text.split(|character: char| !character.is_alphanumeric() && character != '_') {
        let known = word.is_empty() || LANGUAGE.contains(&word) || given.contains(&word);
        if !known && !code.contains(word) {
            found.push(format!("{}: nothing that is logged is called `{word}`", query.id));
        }
    }
}
