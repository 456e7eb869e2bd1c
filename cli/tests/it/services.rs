//! Queues, functions and buses under `oncehook dev`: a stand-in takes what they would have got.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{command, err, oncehook};

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

struct Dev(Child);

impl Drop for Dev {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn get(endpoint: &str, path: &str) -> Value {
    let address = endpoint.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Waits until something is there.
fn wait<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_stand_in_takes_one_message_for_each_and_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("oncehook.toml"), CONFIG).unwrap();
    let dev = command(folder.path(), &["dev", "--port", "0"])
        .env_remove("AWS_ENDPOINT_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _dev = Dev(dev.unwrap());
    let running: Value = wait("oncehook dev", || {
        let text = std::fs::read(folder.path().join(".oncehook/dev.json")).ok()?;
        serde_json::from_slice(&text).ok()
    });
    let sent = oncehook(folder.path(), &["send", "stripe", "invoice.paid", "--times", "2"]);
    assert_eq!(sent.status.code(), Some(0), "{}", err(&sent));
    let services = running["services"].as_str().unwrap();
    let messages = wait("three messages", || {
        let messages = get(services, "/messages").as_array().cloned().unwrap_or_default();
        (messages.len() == 3).then_some(messages)
    });
    let mut calls: Vec<(String, String)> = messages
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
