//! Commands against a running `oncehook dev`.

use std::{
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{command, err, oncehook, out};

/// The configuration of the demo: one credit and one receipt for an invoice.
const CONFIG: &str = include_str!("../../src/demo/oncehook.toml");
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that ends with the test.
struct Dev(Child);

impl Drop for Dev {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn start(folder: &Path) -> Dev {
    std::fs::write(folder.join("oncehook.toml"), CONFIG).unwrap();
    let mut dev = command(folder, &["dev", "--port", "0"]);
    let dev = Dev(dev
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap());
    wait("oncehook dev", || folder.join(".oncehook/dev.json").exists());
    dev
}

fn wait(what: &str, mut is_there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn json_of(folder: &Path, arguments: &[&str]) -> Value {
    let output = oncehook(folder, arguments);
    serde_json::from_str(&out(&output)).unwrap_or_else(|_| panic!("{arguments:?}: {}", err(&output)))
}

#[test]
fn what_is_sent_is_shown_with_all_that_belongs_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let _dev = start(folder);
    let send = [
        "send",
        "stripe",
        "invoice.payment_succeeded",
        "--id",
        "evt_1",
        "--times",
        "4",
        "--concurrently",
    ];
    // A busy machine may answer 503, which a provider repeats.
    wait("four accepted deliveries", || {
        oncehook(folder, &send).status.success()
    });
    let answers = json_of(folder, &[&send[..], &["--json"]].concat());
    assert!(
        answers
            .as_array()
            .unwrap()
            .iter()
            .all(|answer| answer["replayed"] == true),
        "{answers}"
    );
    let forged = oncehook(
        folder,
        &[
            "send",
            "stripe",
            "invoice.payment_succeeded",
            "--id",
            "evt_2",
            "--forge",
        ],
    );
    assert_eq!(forged.status.code(), Some(1));
    assert!(out(&forged).contains("401"), "{}", out(&forged));

    let done = ["outbox", "--state", "done", "--destination", "mail", "--json"];
    wait("a delivered receipt", || {
        json_of(folder, &done).as_array().unwrap().len() == 1
    });
    let events = json_of(folder, &["events", "--source", "stripe", "--json"]);
    assert_eq!(events.as_array().unwrap().len(), 1);
    let event = &json_of(folder, &["events", "evt_1", "--json"])[0];
    assert_eq!(event["outcome"], "applied");
    assert_eq!(event["rules"], json!([{ "rule": "credit", "skipped": null }]));
    assert_eq!(event["body"]["data"]["object"]["amount_paid"], 5000);
    assert_eq!(
        (&event["outbox"][0]["state"], &event["outbox"][0]["effect"]),
        (&json!("done"), &json!("receipt"))
    );

    let shown = out(&oncehook(folder, &["events", "evt_1"]));
    for part in [
        "evt_1 of stripe: applied",
        "credit  applied",
        "credit/receipt -> mail: done",
        "idempotency key",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert_eq!(json_of(folder, &["events", "--failed", "--json"]), json!([]));
    assert_eq!(oncehook(folder, &["events", "evt_2"]).status.code(), Some(1));
}
