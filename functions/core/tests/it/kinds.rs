//! Destinations that are queues, functions and buses: read from oncehook.toml, and planned.

use jiff::SignedDuration;
use oncehook_core::{
    config::{Config, FIFO_RETENTION, Kind},
    message::{DETAIL_TYPE, GROUP, SOURCE},
    plan::{EffectBody, Handler, PlanError, RenderedRequest},
    rules::Rules,
    settle::OnAmbiguous,
};

use crate::rules::event;

fn destination(table: &str) -> Result<Config, String> {
    let text = format!("[source.s]\nscheme = \"stripe\"\nsecret = \"s\"\n[destination.jobs]\n{table}");
    Config::parse(&text, "oncehook.toml").map_err(|errors| errors.to_string())
}

#[test]
fn queues_functions_and_buses_are_destinations() {
    let of = |table: &str| destination(table).unwrap().destinations["jobs"].clone();
    let queue = of("kind = \"sqs\"\nqueue = \"https://sqs.eu-central-1.amazonaws.com/123456789012/jobs\"");
    assert_eq!(
        (queue.kind, queue.method.as_str()),
        (Kind::Sqs { fifo: false }, "SendMessage")
    );
    assert_eq!((queue.idempotency, queue.on_ambiguous), (None, OnAmbiguous::Park));
    // A FIFO queue recognises a message for five minutes, without being asked to.
    for table in [
        "kind = \"sqs\"\nqueue = \"https://sqs.eu-central-1.amazonaws.com/123456789012/jobs.fifo\"",
        "kind = \"sqs\"\nfifo = true",
    ] {
        let fifo = of(table);
        assert_eq!(fifo.kind, Kind::Sqs { fifo: true });
        assert_eq!(fifo.idempotency.unwrap().retention, FIFO_RETENTION);
    }
    let function = of("kind = \"lambda\"");
    assert_eq!(
        (function.url.as_str(), function.method.as_str()),
        ("jobs", "Invoke")
    );
    let promised = of("kind = \"lambda\"\nfunction = \"jobs:live\"\nidempotency = { retention = \"7d\" }");
    assert_eq!(promised.url, "jobs:live");
    assert_eq!(
        promised.idempotency.unwrap().retention,
        SignedDuration::from_hours(7 * 24)
    );
    let bus = of("kind = \"eventbridge\"\nsource = \"com.example\"\non_ambiguous = \"resend\"");
    assert_eq!(
        (bus.url.as_str(), bus.on_ambiguous),
        ("default", OnAmbiguous::Resend)
    );
    assert_eq!(
        bus.kind,
        Kind::EventBridge {
            source: "com.example".into()
        }
    );
}

#[test]
fn what_does_not_belong_to_a_queue_a_function_or_a_bus_is_refused_with_its_line() {
    for (table, line, word) in [
        ("kind = \"sns\"", 5, "`kind` cannot be `sns`"),
        (
            "kind = \"sqs\"\nurl = \"https://a.example\"",
            4,
            "`url` does not belong to kind = \"sqs\"",
        ),
        ("kind = \"lambda\"\nsecret = \"x\"", 4, "drain's own role"),
        ("kind = \"lambda\"\ncontent_type = \"text/plain\"", 4, "JSON here"),
        ("kind = \"sqs\"\nqueue = \"jobs\"", 6, "`queue`"),
        (
            "kind = \"sqs\"\nfifo = true\nqueue = \"https://sqs.eu-central-1.amazonaws.com/1/jobs\"",
            7,
            "remove `fifo`",
        ),
        ("kind = \"sqs\"\nfunction = \"jobs\"", 6, "unknown key `function`"),
        (
            "kind = \"sqs\"\nfifo = true\nidempotency = { retention = \"2m\" }",
            4,
            "shorter than what a FIFO queue",
        ),
        (
            "kind = \"lambda\"\nidempotency = { header = \"X\" }",
            6,
            "`retention` is missing",
        ),
        ("kind = \"eventbridge\"\nsource = \"aws.s3\"", 6, "aws."),
        (
            "kind = \"sqs\"\nfifo = true\non_ambiguous = \"resend\"",
            4,
            "`on_ambiguous`",
        ),
    ] {
        let error = destination(table).unwrap_err();
        let found = error
            .lines()
            .any(|text| text.starts_with(&format!("oncehook.toml:{line}:")) && text.contains(word));
        assert!(found, "{table}: {error}");
    }
    let rule = |effect: &str| {
        destination(&format!(
            "kind = \"lambda\"\n[[rule]]\nname = \"r\"\nsource = \"s\"\nevents = [\"*\"]\n[[rule.effect]]\nname = \"e\"\n\
             destination = \"jobs\"\nbody = \"{{}}\"\n{effect}"
        ))
    };
    assert!(rule("").is_ok());
    assert!(
        rule("path = \"x\"")
            .unwrap_err()
            .contains("`path` is for HTTP APIs")
    );
    assert!(rule("group = \"x\"").unwrap_err().contains("message group"));
}

#[test]
fn the_environment_says_which_queue_function_or_bus_it_is() {
    let mut config = destination("kind = \"sqs\"\nfifo = true").unwrap();
    assert_eq!(config.destinations["jobs"].url, "");
    let url = "https://sqs.eu-central-1.amazonaws.com/123456789012/jobs.fifo";
    config.override_target("jobs", url).unwrap();
    assert_eq!(config.destinations["jobs"].url, url);
    let wrong = config.override_target("jobs", "https://sqs.eu-central-1.amazonaws.com/123456789012/jobs");
    assert!(wrong.unwrap_err().contains("no FIFO queue"));
    assert!(
        config
            .override_url("jobs", url)
            .unwrap_err()
            .contains("no URL of its own")
    );
    assert!(config.override_target("job", url).unwrap_err().contains("jobs"));
}

/// The request that an effect for a destination is planned as.
fn planned(table: &str, effect: &str, kind: &str, body: &str) -> Result<RenderedRequest, String> {
    let config = destination(&format!(
        "{table}\n[[rule]]\nname = \"r\"\nsource = \"s\"\nevents = [\"*\"]\n[[rule.effect]]\nname = \"e\"\ndestination = \"jobs\"\n{effect}"
    ))?;
    let mut event = event(kind, body);
    event.source = "s".to_owned();
    let rules = Rules::new(&config).map_err(|errors| errors.to_string())?;
    let plan = rules.plan(&event);
    plan.map(|plan| plan.rules[0].effects[0].request.clone())
        .map_err(|error: PlanError| error.to_string())
}

#[test]
fn an_effect_is_planned_as_a_call_of_its_service() {
    let whole = "body = { event = true }";
    let queue = "kind = \"sqs\"\nqueue = \"https://sqs.eu-central-1.amazonaws.com/1/jobs\"";
    let request = planned(
        queue,
        &format!("{whole}\ngroup = \"{{{{ event.customer }}}}\""),
        "paid",
        r#"{"customer":"cus 1"}"#,
    )
    .unwrap();
    assert_eq!(
        (request.method.as_str(), request.body),
        ("SendMessage", EffectBody::Event)
    );
    let (name, group) = &request.headers[0];
    assert_eq!(
        (name.as_str(), group.len(), request.headers.len()),
        (GROUP, 64, 1)
    );

    let bus = "kind = \"eventbridge\"\nbus = \"jobs\"\nsource = \"com.example\"";
    let request = planned(bus, "body = '{\"id\": {{ event.id }}}'", "paid", r#"{"id":1.10}"#).unwrap();
    assert_eq!(
        (request.method.as_str(), request.url.as_str()),
        ("PutEvents", "jobs")
    );
    assert_eq!(request.body, EffectBody::Text("{\"id\": 1.10}".to_owned()));
    let parameters = [(SOURCE, "com.example"), (DETAIL_TYPE, "paid")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(request.headers, parameters);
}

#[test]
fn what_a_service_would_refuse_at_night_is_a_failed_plan_by_day() {
    let whole = "body = { event = true }";
    let large = format!("\"{}\"", "x".repeat(1_100_000));
    let queue = "kind = \"sqs\"\nqueue = \"https://sqs.eu-central-1.amazonaws.com/1/jobs\"";
    let bus = "kind = \"eventbridge\"";
    for (table, effect, kind, body, word) in [
        (queue, whole, "paid", large.as_str(), "1048576 are the most"),
        (bus, whole, "paid", large.as_str(), "1000000 are the most"),
        (bus, whole, &*"k".repeat(200), "{}", "128 characters"),
        (bus, "body = '[1]'", "paid", "{}", "JSON object"),
        ("kind = \"lambda\"", "body = 'x'", "paid", "{}", "not JSON"),
        ("kind = \"sqs\"", whole, "paid", "{}", "has no queue"),
    ] {
        let error = planned(table, effect, kind, body).unwrap_err();
        assert!(
            error.contains(word) && error.starts_with("rule `r`: effect"),
            "{error}"
        );
    }
    assert!(planned("kind = \"lambda\"", whole, "paid", &large).is_ok());
}
