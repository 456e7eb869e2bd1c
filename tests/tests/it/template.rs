//! template.yaml and the code say the same: keys, variables, time-outs, the route, batches. Each is read from where it is
//! true, the code's side from the code itself; a change of one side alone is a difference.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod bodies;
mod functions;
mod table;
mod timeouts;
mod watching;

use std::{collections::BTreeMap, path::Path};

use oncehook_local::template::{Part, Resource, Template};

/// The root of the workspace.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn template() -> String {
    std::fs::read_to_string(Path::new(ROOT).join("template.yaml")).unwrap()
}

fn read(text: &str, parameters: &[(&str, &str)]) -> Template {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("template.yaml");
    std::fs::write(&file, text).unwrap();
    let given = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Template::read(&file, &given.collect()).unwrap()
}

/// What the code says.
struct Code {
    table: table::Facts,
    timeouts: timeouts::Facts,
}

impl Code {
    async fn read() -> Self {
        Self {
            table: table::Facts::read().await,
            timeouts: timeouts::Facts::read(),
        }
    }

    /// Everything in which a template differs from it.
    fn differences(&self, text: &str) -> Vec<String> {
        let template = read(text, &[]);
        let mut found = Vec::new();
        table::compare(&template, &self.table, &mut found);
        functions::compare(&template, &mut found);
        bodies::compare(&template, &mut found);
        timeouts::compare(text, &self.timeouts, &mut found);
        watching::compare(&template, &mut found);
        found
    }
}

/// Notes a difference between what the template says and what the code does.
#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(found: &mut Vec<String>, what: &str, template: T, code: T) {
    match (template, code) {
        (template, code) if template == code => {}
        (template, code) => found.push(format!(
            "{what}: the template has {template:?}, the code {code:?}"
        )),
    }
}

fn resource<'t>(template: &'t Template, id: &str) -> Resource<'t> {
    template
        .resource(id)
        .unwrap_or_else(|| panic!("there is no {id}"))
}

/// What stands at a path below a resource's properties: its only text, or `-`.
fn text(resource: &Resource<'_>, path: &[&str]) -> String {
    let [first, rest @ ..] = path else {
        panic!("a path has a first step")
    };
    let part = rest
        .iter()
        .fold(resource.property(first), |part, step| part?.get(step));
    part.map(Part::texts)
        .and_then(|texts| texts.into_iter().next())
        .unwrap_or_else(|| "-".to_owned())
}

/// Maps of one list of maps, each value as text.
fn maps(part: Option<Part<'_>>) -> Vec<BTreeMap<String, String>> {
    let one = |part: Part<'_>| -> BTreeMap<String, String> {
        let entries = part.entries().into_iter();
        entries
            .map(|(name, part)| (name.to_owned(), part.texts().join(" ")))
            .collect()
    };
    part.map(Part::items)
        .unwrap_or_default()
        .into_iter()
        .map(one)
        .collect()
}

#[tokio::test]
async fn the_template_fits_the_code() {
    let found = Code::read().await.differences(&template());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test]
async fn a_change_of_the_template_alone_is_noticed() {
    let (text, code) = (template(), Code::read().await);
    for (from, to) in [
        // The table.
        (
            "{ AttributeName: sk, KeyType: RANGE }",
            "{ AttributeName: sort, KeyType: RANGE }",
        ),
        (
            "{ AttributeName: work_at, AttributeType: N }",
            "{ AttributeName: work_at, AttributeType: S }",
        ),
        ("IndexName: work", "IndexName: due"),
        ("ProjectionType: KEYS_ONLY", "ProjectionType: ALL"),
        (
            "{ AttributeName: expires_at, Enabled: true }",
            "{ AttributeName: ttl, Enabled: true }",
        ),
        (
            "{ AttributeName: expires_at, Enabled: true }",
            "{ AttributeName: expires_at, Enabled: false }",
        ),
        // The functions.
        ("Runtime: provided.al2023", "Runtime: provided.al2"),
        ("Handler: bootstrap", "Handler: main"),
        ("CodeUri: functions/drain", "CodeUri: functions/sweep"),
        ("        ONCEHOOK_QUEUE_URL: !Ref Queue\n", ""),
        (
            "        ONCEHOOK_QUEUE_URL: !Ref Queue\n",
            "        ONCEHOOK_QUEUE_URL: !Ref DeadLetters\n",
        ),
        ("        ONCEHOOK_BODIES: !Ref Bodies\n", ""),
        // Large bodies.
        ("            Prefix: kept/\n", "            Prefix: bodies/\n"),
        ("            Prefix: bodies/\n", "            Prefix: body/\n"),
        (
            "{ Key: released, Value: \"yes\" }",
            "{ Key: released, Value: \"no\" }",
        ),
        (
            "        ONCEHOOK_LOG: !Ref LogLevel\n",
            "        ONCEHOOK_LOGS: !Ref LogLevel\n",
        ),
        // The events.
        ("Path: /webhooks/{source}", "Path: /hooks/{source}"),
        ("Method: ANY", "Method: POST"),
        ("PayloadFormatVersion: \"2.0\"", "PayloadFormatVersion: \"1.0\""),
        (
            "FunctionResponseTypes: [ReportBatchItemFailures]",
            "FunctionResponseTypes: []",
        ),
        (
            "              MaximumConcurrency: !Ref DrainConcurrency\n",
            "              Other: 1\n",
        ),
        (
            "            RetryPolicy:\n              MaximumRetryAttempts: 0",
            "            RetryPolicy:\n              MaximumRetryAttempts: 5",
        ),
        ("maxReceiveCount: !Ref MaximumReceives", "maxReceiveCount: 0"),
        // The time-outs.
        (
            "\"15\": { DrainTimeout: 35, Visibility: 210 }",
            "\"15\": { DrainTimeout: 30, Visibility: 180 }",
        ),
        (
            "\"60\": { DrainTimeout: 80, Visibility: 480 }",
            "\"60\": { DrainTimeout: 80, Visibility: 400 }",
        ),
        (
            "AllowedValues: [5, 10, 15, 20, 30, 45, 60]",
            "AllowedValues: [5, 10, 15, 20, 30, 45]",
        ),
        ("    MaxValue: 29\n", "    MaxValue: 35\n"),
        ("Timeout: !Ref IngestTimeout", "Timeout: 10"),
        // What watches.
        ("MetricName: OldestDue", "MetricName: Oldest"),
        (
            "\"Dead\", \"function\", \"drain\"",
            "\"Dead\", \"function\", \"ingest\"",
        ),
        ("\"Duplicates\", \"function\"", "\"Received\", \"function\""),
        ("#dead-letters\"", "#letters\""),
        (". See `oncehook outbox --state parked` - ", " - "),
        ("  ParkedAlarm:\n", "  Parked2Alarm:\n"),
        (
            "MetricName: RefusedCommits\n          MetricValue",
            "MetricName: Failed\n          MetricValue",
        ),
        ("filter message = \"refused\"", "filter message = \"rejected\""),
        ("100 * sum(Duplicates)", "100 * sum(Twice)"),
    ] {
        assert_eq!(text.matches(from).count(), 1, "the template has not one `{from}`");
        let found = code.differences(&text.replace(from, to));
        assert!(!found.is_empty(), "nobody noticed `{to}` instead of `{from}`");
    }
    let tables = text
        .lines()
        .filter(|line| line.trim_start().starts_with("ONCEHOOK_TABLE_"));
    for line in tables {
        let found = code.differences(&text.replace(&format!("{line}\n"), ""));
        assert!(!found.is_empty(), "nobody misses `{line}`");
    }
}
