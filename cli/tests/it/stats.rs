//! `oncehook stats` says what a known load did: that of a running `oncehook dev`, and what CloudWatch knows of a stack.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::{Output, Stdio},
    sync::mpsc,
    thread,
};

use oncehook_core::clock::Clock as _;
use oncehook_local::behaviour::Behaviour;
use serde_json::{Value, json};

use super::{
    command,
    dev::{CONFIG, Dev},
    err, oncehook, out,
};

#[test]
fn the_counts_of_dev_are_those_of_a_known_load() {
    let dev = Dev::start(CONFIG);
    // Four events, one of them thrice: delivered, refused, given no answer, and one that no rule is for.
    for (id, kind, behaviour, state) in [
        ("evt_1", "invoice.payment_succeeded", Behaviour::Normal, "done"),
        (
            "evt_2",
            "invoice.payment_succeeded",
            Behaviour::Status(422, None),
            "dead",
        ),
        ("evt_3", "invoice.voided", Behaviour::AcceptAndDrop, "parked"),
    ] {
        dev.mail.next(behaviour);
        dev.send(kind, id);
        dev.wait_for(id, state);
    }
    dev.send("invoice.updated", "evt_4");
    for _ in 0..2 {
        dev.send("invoice.payment_succeeded", "evt_1");
    }
    assert_eq!(
        dev.run(&["send", "stripe", "invoice.updated", "--tamper"])
            .status
            .code(),
        Some(1)
    );
    // One that stays open.
    dev.mail.next(Behaviour::Status(429, Some(3600)));
    dev.send("invoice.payment_succeeded", "evt_5");
    dev.wait("a throttled call", || dev.keys().len() == 3);
    dev.wait("its end", || {
        dev.json(&["stats", "--json"])["destinations"]["mail"]["retried"] == 1
    });

    let stats = dev.json(&["stats", "--json"]);
    let stripe = &stats["sources"]["stripe"];
    let today = stats["until"].as_str().unwrap()[..10].to_owned();
    let expected = json!({
        "received": 7, "applied": 4, "duplicates": 2, "skipped": 0, "ignored": 1, "observed": 0, "failed": 0, "held": 0,
        "not_committed": 0, "refused": 1, "duplicate_rate": 2.0 / 7.0,
        "days": [{"day": today, "received": 7, "duplicates": 2, "duplicate_rate": 2.0 / 7.0}],
    });
    assert_eq!(*stripe, expected);
    let mail = &stats["destinations"]["mail"];
    for (name, count) in [
        ("attempts", 3),
        ("delivered", 1),
        ("retried", 1),
        ("dead", 1),
        ("parked", 0),
    ] {
        assert_eq!(mail[name], count, "{name}: {mail}");
    }
    assert_eq!(stats["destinations"]["keyless"]["parked"], 1);
    let age = mail["oldest_open_seconds"].as_f64().unwrap();
    assert!(age < 60.0, "{age}");
    assert!(stats["destinations"]["keyless"]["oldest_open_seconds"].is_null());
    // The lists say the same.
    for (state, count) in [("parked", 1), ("dead", 1), ("open", 1), ("done", 1)] {
        let items = dev.json(&["outbox", "--state", state, "--json"]);
        assert_eq!(items.as_array().unwrap().len(), count, "{state}");
    }

    let shown = out(&dev.run(&["stats"]));
    assert!(shown.contains("28.6") && shown.contains("oldest open"), "{shown}");
    assert_eq!(
        dev.json(&["stats", "--since", "2999-01-01T00:00:00Z", "--json"])["sources"]["stripe"]["received"],
        0
    );
    // The counts outlive the process.
    dev.kill();
    assert_eq!(dev.json(&["stats", "--json"])["sources"]["stripe"]["received"], 7);
}

/// What stands for CloudWatch: answers each request with the next of these, and hands over what it was asked.
fn cloudwatch(answers: Vec<(u16, Value)>) -> (String, mpsc::Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (asked, requests) = mpsc::channel();
    thread::spawn(move || {
        for (status, answer) in answers {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let start = head.len();
                reader.read_line(&mut head).unwrap();
                let line = head[start..].to_lowercase();
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            asked
                .send((head, serde_json::from_slice(&body).unwrap()))
                .unwrap();
            let text = answer.to_string();
            let mut stream = stream;
            write!(
                stream,
                "HTTP/1.1 {status} X\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                text.len()
            )
            .unwrap();
        }
    });
    (endpoint, requests)
}

fn stats(endpoint: &str, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("oncehook.toml"), CONFIG).unwrap();
    let arguments = [&["stats", "--stack", "oncehook-live", "--json"], more].concat();
    command(folder.path(), &arguments)
        .env("AWS_ENDPOINT_URL", endpoint)
        .envs([
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", "the-secret"),
            ("AWS_REGION", "eu-west-1"),
        ])
        .envs([
            ("AWS_CONFIG_FILE", "none"),
            ("AWS_SHARED_CREDENTIALS_FILE", "none"),
        ])
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn the_counts_of_a_stack_are_asked_of_cloudwatch_page_by_page() {
    let now = oncehook_edge::SystemClock.now();
    let hour = now.as_second() - now.as_second().rem_euclid(3600);
    // The first question is `Received` of the one source, the third `Duplicates`: in the order of the metrics.
    let first = json!({
        "MetricDataResults": [
            {"Id": "q0", "Timestamps": [hour - 3600, hour], "Values": [40.0, 50.0], "StatusCode": "PartialData"},
            {"Id": "q2", "Timestamps": [hour], "Values": [9.0], "StatusCode": "Complete"},
        ],
        "NextToken": "more",
    });
    let last = json!({"MetricDataResults": [
        {"Id": "q0", "Timestamps": [hour - 7200], "Values": [10.0], "StatusCode": "Complete"},
    ]});
    let (endpoint, requests) = cloudwatch(vec![(200, first), (200, last)]);
    let answer = stats(&endpoint, &["--since", "1d"]);
    assert_eq!(answer.status.code(), Some(0), "{}", err(&answer));
    let found: Value = serde_json::from_str(&out(&answer)).unwrap();
    let stripe = &found["sources"]["stripe"];
    assert_eq!(
        (&stripe["received"], &stripe["duplicates"]),
        (&json!(100), &json!(9))
    );
    assert_eq!(stripe["duplicate_rate"], 0.09);
    assert_eq!(found["destinations"]["mail"]["delivered"], 0);

    let (head, asked) = requests.recv().unwrap();
    assert!(head.starts_with("POST / HTTP/1.1"), "{head}");
    let lower = head.to_lowercase();
    assert!(
        lower.contains("x-amz-target: graniteserviceversion20100801.getmetricdata"),
        "{head}"
    );
    assert!(lower.contains("/eu-west-1/monitoring/aws4_request"), "{head}");
    assert!(!head.contains("the-secret"));
    let query = &asked["MetricDataQueries"][0]["MetricStat"];
    assert_eq!(
        *query,
        json!({
            "Metric": {
                "Namespace": "Oncehook/oncehook-live", "MetricName": "Received",
                "Dimensions": [{"Name": "function", "Value": "ingest"}, {"Name": "source", "Value": "stripe"}],
            },
            "Period": 3600, "Stat": "Sum",
        })
    );
    assert_eq!(asked["StartTime"].as_i64().unwrap() % 3600, 0, "whole hours");
    assert_eq!(requests.recv().unwrap().1["NextToken"], "more");
}

#[test]
fn what_cloudwatch_refuses_is_said_with_its_remedy() {
    for (kind, remedy) in [
        ("AccessDenied", "cloudwatch:GetMetricData"),
        ("ExpiredToken", "aws sso login"),
    ] {
        let (endpoint, _requests) = cloudwatch(vec![(
            400,
            json!({"__type": format!("com.amazon#{kind}"), "message": "no"}),
        )]);
        let answer = stats(&endpoint, &[]);
        assert_eq!(answer.status.code(), Some(1));
        assert!(
            err(&answer).contains(kind) && err(&answer).contains(remedy),
            "{}",
            err(&answer)
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let both = oncehook(folder.path(), &["stats", "--region", "eu-west-1"]);
    assert_eq!(both.status.code(), Some(2), "a Region belongs to a stack");
}
