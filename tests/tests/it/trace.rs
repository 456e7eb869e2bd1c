//! The event's way in spans: one trace from the request to the call, known from the event alone; none unless wanted.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use std::{cell::RefCell, rc::Rc};

use oncehook_edge::trace;
use oncehook_local::{behaviour::Behaviour, recorder::Recorder};
use oncehook_tests::{CONFIG, World, invoice};
use serde_json::Value;

fn spans(lines: &Rc<RefCell<Vec<Value>>>) -> Vec<Value> {
    let span = |line: &Value| line["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone();
    lines.borrow().iter().map(span).collect()
}

fn attribute<'s>(span: &'s Value, key: &str) -> &'s str {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    let value = &found.unwrap_or_else(|| panic!("no {key} in {span}"))["value"];
    value["stringValue"]
        .as_str()
        .or(value["intValue"].as_str())
        .unwrap()
}

#[tokio::test]
async fn an_event_is_one_trace_from_the_request_to_the_call() {
    let destination = Recorder::start(None).unwrap();
    let other = format!(
        "[destination.other]\nurl = \"{}\"\nidempotency = {{ retention = \"24h\" }}\n",
        destination.endpoint()
    );
    let text = CONFIG.replace("destination = \"mail\"", "destination = \"other\"");
    let world = World::with(&format!("{text}\n{other}")).await;
    let lines = Rc::new(RefCell::new(Vec::new()));
    let into = Rc::clone(&lines);
    let watching = trace::watch(move |line| into.borrow_mut().push(serde_json::from_str(line).unwrap()));
    let event = world.signed(&invoice("evt_1", "cus_private", 10));
    world.post(&event).await;
    world.post(&event).await;
    destination.next(Behaviour::Status(503, None));
    world.drain_due().await;
    world.clock.advance(jiff::SignedDuration::from_mins(2));
    world.sweep().await;
    world.drain_due().await;

    let spans = spans(&lines);
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["receive", "receive", "deliver", "deliver"]);
    let root = &spans[0];
    for span in &spans {
        assert_eq!(span["traceId"], root["traceId"]);
        assert_eq!(attribute(span, "oncehook.event.id"), "evt_1");
        let nanos = |key: &str| span[key].as_str().unwrap().parse::<i128>().unwrap();
        assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"), "{span}");
    }
    assert!(root.get("parentSpanId").is_none());
    for span in &spans[1..] {
        assert_eq!(span["parentSpanId"], root["spanId"]);
        assert_ne!(span["spanId"], root["spanId"]);
    }
    let outcomes: Vec<&str> = spans
        .iter()
        .map(|span| attribute(span, "oncehook.outcome"))
        .collect();
    assert_eq!(outcomes, ["applied", "duplicate", "ambiguous", "delivered"]);
    let codes: Vec<i64> = spans
        .iter()
        .map(|span| span["status"]["code"].as_i64().unwrap())
        .collect();
    assert_eq!(codes, [1, 1, 2, 1]);
    assert_eq!(attribute(&spans[2], "http.response.status_code"), "503");
    assert_eq!(attribute(&spans[3], "oncehook.attempt"), "2");
    // The destination can go on with it.
    for (call, span) in destination.received().iter().zip(&spans[2..]) {
        let text = |key: &str| span[key].as_str().unwrap().to_owned();
        let parent = format!("00-{}-{}-01", text("traceId"), text("spanId"));
        assert_eq!(call.header("traceparent"), Some(parent.as_str()));
    }
    let all = Value::Array(lines.borrow().clone()).to_string();
    for hidden in ["cus_private", "whsec_", "re_for_tests", "example.com"] {
        assert!(!all.contains(hidden), "{hidden} is in a span");
    }

    drop(watching);
    world
        .post(&world.signed(&invoice("evt_2", "cus_private", 10)))
        .await;
    world.drain_due().await;
    assert_eq!(
        destination.received().last().unwrap().header("traceparent"),
        None,
        "switched off, nothing is sent along"
    );
    assert_eq!(lines.borrow().len(), 4);
}
