//! The functions: what is built, what their environment holds, what calls them.

use std::{collections::BTreeSet, net::Ipv4Addr, path::Path};

use bytes::Bytes;
use jiff::Timestamp;
use oncehook_core::config::Config;
use oncehook_local::template::{Part, Resource, Template};

use super::{ROOT, resource, same, text};

/// Where the functions read their environment.
const EDGE: &str = include_str!("../../../../functions/edge/src/lib.rs");

pub(super) fn compare(template: &Template, found: &mut Vec<String>) {
    for (id, name) in [("Ingest", "ingest"), ("Drain", "drain"), ("Sweep", "sweep")] {
        let function = resource(template, id);
        same(
            found,
            id,
            text(&function, &["Runtime"]).as_str(),
            "provided.al2023",
        );
        same(found, id, text(&function, &["Handler"]).as_str(), "bootstrap");
        let code = text(&function, &["CodeUri"]);
        let crate_of =
            |folder: &str| std::fs::read_to_string(Path::new(ROOT).join(folder).join("Cargo.toml"));
        let manifest = crate_of(&code).unwrap_or_default();
        let binary = manifest
            .split("[[bin]]")
            .nth(1)
            .and_then(|rest| rest.split('"').nth(1));
        same(
            found,
            "the binary",
            binary,
            Some(format!("oncehook-{name}").as_str()),
        );
        variables(&function, name, found);
    }
    route(&resource(template, "Ingest"), found);
    wakeups(template, found);
    let sweep = resource(template, "Sweep");
    for path in [
        [
            "Events",
            "Clock",
            "Properties",
            "RetryPolicy",
            "MaximumRetryAttempts",
        ]
        .as_slice(),
        &["EventInvokeConfig", "MaximumRetryAttempts"],
    ] {
        same(found, "retries of a sweep", text(&sweep, path).as_str(), "0");
    }
}

/// The names in the code that stand between these.
fn names(code: &str, before: &str) -> BTreeSet<String> {
    code.split(before)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(str::to_owned)
        .collect()
}

fn variables(function: &Resource<'_>, name: &str, found: &mut Vec<String>) {
    let main =
        std::fs::read_to_string(Path::new(ROOT).join(format!("functions/{name}/src/main.rs"))).unwrap();
    let mut expected = names(EDGE, "require(\"");
    assert!(
        !expected.is_empty() && main.contains("oncehook_edge::start()"),
        "{name} starts in another way"
    );
    expected.extend(names(EDGE, "environment.get(\""));
    assert!(
        EDGE.contains("environment.get(metrics::NAMESPACE)"),
        "metrics start in another way"
    );
    assert!(
        EDGE.contains("environment.get(trace::TRACING)"),
        "spans start in another way"
    );
    expected.extend([oncehook_edge::metrics::NAMESPACE, oncehook_edge::trace::TRACING].map(str::to_owned));
    assert!(
        EDGE.contains("environment.get(BODIES)"),
        "large bodies are found in another way"
    );
    expected.insert(oncehook_edge::BODIES.to_owned());
    if main.contains("edge.secrets()") {
        expected.insert(oncehook_edge::SECRETS_PARAMETER.to_owned());
    }
    if name == "ingest" {
        let text = std::fs::read_to_string(Path::new(ROOT).join("oncehook.toml")).unwrap();
        let config = Config::parse(&text, "oncehook.toml").unwrap();
        expected.extend(
            config
                .tables
                .keys()
                .map(|table| oncehook_edge::variable("TABLE", table)),
        );
    }
    let variables = function.variables();
    let given = variables.keys().map(|name| (*name).to_owned()).collect();
    same(found, &format!("the variables of {name}"), given, expected);
    for (name, value) in [
        ("ONCEHOOK_TABLE", "${Table}"),
        ("ONCEHOOK_QUEUE_URL", "${Queue}"),
        (oncehook_edge::metrics::NAMESPACE, "Oncehook/${AWS::StackName}"),
        (oncehook_edge::BODIES, "${Bodies}"),
        (
            oncehook_edge::SECRETS_PARAMETER,
            "/oncehook/${AWS::StackName}/secrets",
        ),
    ] {
        if let Some(part) = variables.get(name) {
            same(found, name, part.texts(), vec![value.to_owned()]);
        }
    }
}

/// The route is the one whose events the function reads, and which the gateway of `oncehook dev` imitates.
fn route(ingest: &Resource<'_>, found: &mut Vec<String>) {
    let request = http::Request::post("/webhooks/stripe")
        .body(Bytes::new())
        .unwrap();
    let address = Ipv4Addr::LOCALHOST.into();
    let event = oncehook_local::gateway::event_json(&request, "stripe", address, Timestamp::UNIX_EPOCH, "id");
    let declared = |key| text(ingest, &["Events", "Webhook", "Properties", key]);
    let route = format!("{} {}", declared("Method"), declared("Path"));
    same(
        found,
        "the route",
        Some(route.as_str()),
        event["routeKey"].as_str(),
    );
    same(
        found,
        "the event's format",
        Some(declared("PayloadFormatVersion").as_str()),
        event["version"].as_str(),
    );
}

/// Drain answers with the messages that failed, so only those come back.
fn wakeups(template: &Template, found: &mut Vec<String>) {
    let drain = resource(template, "Drain");
    let properties = drain
        .property("Events")
        .and_then(|part| part.get("Wakeups")?.get("Properties"))
        .unwrap();
    let all = |key| properties.get(key).map(Part::items).unwrap_or_default();
    let texts = |key| -> Vec<String> { all(key).into_iter().flat_map(Part::texts).collect() };
    same(
        found,
        "answers of drain",
        texts("FunctionResponseTypes"),
        vec!["ReportBatchItemFailures".to_owned()],
    );
    same(
        found,
        "the queue of drain",
        texts("Queue"),
        vec!["${Queue.Arn}".to_owned()],
    );
    let number = |part: Option<Part<'_>>| part.and_then(|part| part.numbers().ok()?.into_iter().next());
    let together = number(properties.get("BatchSize"));
    same(
        found,
        "a batch without a window is 1 to 10",
        together.is_some_and(|size| (1..=10).contains(&size)),
        true,
    );
    let at_once = number(
        properties
            .get("ScalingConfig")
            .and_then(|part| part.get("MaximumConcurrency")),
    );
    same(
        found,
        "drains at once are limited",
        at_once.is_some_and(|limit| limit >= 2),
        true,
    );
    let queue = resource(template, "Queue");
    same(
        found,
        "dead letters",
        text(&queue, &["RedrivePolicy", "deadLetterTargetArn"]).as_str(),
        "${DeadLetters.Arn}",
    );
    let receives = number(
        queue
            .property("RedrivePolicy")
            .and_then(|part| part.get("maxReceiveCount")),
    );
    same(
        found,
        "tries before that",
        receives.is_some_and(|tries| tries >= 2),
        true,
    );
}
