//! Queues, functions and buses under `oncehook dev`: a stand-in takes what they would have got.

use serde_json::Value;

use super::{
    dev::{Dev, ask},
    err,
};

const CONFIG: &str = r#"
[source.stripe]
scheme = "stripe"
secret = "stripe"

[destination.jobs]
kind = "sqs"
fifo = true

[destination.work]
kind = "lambda"

[destination.bus]
kind = "eventbridge"

[[rule]]
name = "all"
source = "stripe"
events = ["*"]

  [[rule.effect]]
  name = "jobs"
  destination = "jobs"
  body = { event = true }

  [[rule.effect]]
  name = "work"
  destination = "work"
  body = { event = true }

  [[rule.effect]]
  name = "bus"
  destination = "bus"
  body = { event = true }
"#;

#[test]
fn the_stand_in_takes_one_message_for_each_and_shows_it() {
    let dev = Dev::start(CONFIG);
    let sent = dev.run(&["send", "stripe", "invoice.paid", "--times", "2"]);
    assert_eq!(sent.status.code(), Some(0), "{}", err(&sent));
    let messages = || -> Vec<Value> {
        let answer = ask(&dev.running("services"), "GET", "/messages", "", "");
        answer.json().as_array().cloned().unwrap_or_default()
    };
    dev.wait("three messages", || messages().len() == 3);
    let mut calls: Vec<(String, String)> = messages()
        .iter()
        .map(|message| {
            assert!(
                message["key"].as_str().is_some_and(|key| key.len() == 64),
                "{message}"
            );
            (
                message["call"].as_str().unwrap().to_owned(),
                message["target"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    calls.sort();
    let expected = [
        ("Invoke", "work"),
        ("PutEvents", "default"),
        (
            "SendMessage",
            "https://sqs.us-east-1.amazonaws.com/000000000000/jobs.fifo",
        ),
    ];
    assert_eq!(
        calls,
        expected.map(|(call, target)| (call.to_owned(), target.to_owned()))
    );
}
