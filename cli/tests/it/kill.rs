//! `kill -9` of the whole service while requests come in: what was acknowledged is there, once.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Child, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::types::AttributeValue;
use oncehook_local::recorder::Recorder;
use serde_json::Value;

use super::{command, oncehook, out};

const CONFIG: &str = r#"
[source.stripe]
scheme = "stripe"
secret = "stripe"

[table.accounts]
key = { customer_id = "S" }

[[rule]]
name = "credit"
source = "stripe"
events = ["invoice.payment_succeeded"]

  [[rule.update]]
  table = "accounts"
  key = { customer_id = "/data/object/customer" }
  add = { balance = "/data/object/amount_paid" }
  must_exist = false

  [[rule.effect]]
  name = "receipt"
  destination = "mail"
  body = '{"event": {{ event.id | tojson }}}'

[destination.mail]
url = "https://mail.example.com/emails"
idempotency = { retention = "24h" }
"#;

const EVENTS: usize = 60;
const SENDERS: usize = 6;
const KILLS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(120);

fn start(folder: &Path, mail: &Recorder) -> Child {
    let _stale = std::fs::remove_file(folder.join(".oncehook/dev.json"));
    let dev = command(folder, &["dev", "--port", "0"])
        .env("ONCEHOOK_URL_MAIL", mail.endpoint())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait("oncehook dev", || folder.join(".oncehook/dev.json").exists());
    dev
}

fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn json(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    serde_json::from_str(&out(&oncehook(folder, arguments))).unwrap_or_default()
}

fn events_amount(folder: &Path, id: &str) -> i64 {
    let shown = json(folder, &["show", id, "--body", "--json"]);
    let body: Value = match &shown[0]["body"] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        body => body.clone(),
    };
    body["data"]["object"]["amount_paid"].as_i64().unwrap()
}

fn balance(folder: &Path) -> i64 {
    let running: Value =
        serde_json::from_slice(&std::fs::read(folder.join(".oncehook/dev.json")).unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let row = runtime.block_on(async {
        oncehook_edge::local_dynamodb(running["endpoint"].as_str().unwrap())
            .get_item()
            .table_name("accounts")
            .key("customer_id", AttributeValue::S("cus_1001".to_owned()))
            .consistent_read(true)
            .send()
            .await
    });
    let row = row.unwrap().item.unwrap();
    row["balance"].as_n().unwrap().parse().unwrap()
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_done_twice_over_kill_9_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("oncehook.toml"), CONFIG).unwrap();
    let mail = Recorder::start(None).unwrap();
    let dev = Mutex::new(start(folder, &mail));
    let (next, acknowledged) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= EVENTS {
                        return;
                    }
                    let id = format!("evt_{number}");
                    // As a provider does: until somebody says 2xx.
                    let send = ["send", "stripe", "invoice.payment_succeeded", "--id", &id];
                    let begun = Instant::now();
                    while !oncehook(folder, &send).status.success() {
                        if begun.elapsed() > PATIENCE {
                            failed.store(true, Ordering::Relaxed);
                            return;
                        }
                    }
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for kill in 1..=KILLS {
            let enough = EVENTS * kill / (KILLS + 1);
            wait("progress", || acknowledged.load(Ordering::Relaxed) >= enough);
            let mut dev = dev.lock().unwrap();
            // SIGKILL, in the middle of whatever the senders have under way.
            dev.kill().unwrap();
            dev.wait().unwrap();
            *dev = start(folder, &mail);
        }
    });
    assert!(!failed.load(Ordering::Relaxed), "an event was never taken");
    wait("deliveries", || {
        json(
            folder,
            &["outbox", "--state", "done", "--limit", "1000", "--json"],
        )
        .len()
            == EVENTS
    });
    let events = json(folder, &["events", "--limit", "1000", "--json"]);
    let ids: BTreeSet<&str> = events.iter().filter_map(|event| event["id"].as_str()).collect();
    assert_eq!(ids.len(), EVENTS, "every acknowledged event is there");
    assert!(events.iter().all(|event| event["outcome"] == "applied"));
    // Several calls for one receipt are possible; their key is the same, so that the receiver acts once.
    let calls = mail.received();
    let keys: BTreeSet<&str> = calls
        .iter()
        .filter_map(|call| call.header("idempotency-key"))
        .collect();
    assert_eq!(keys.len(), EVENTS, "one key for each event");
    let amount = events_amount(folder, "evt_0");
    assert_eq!(
        balance(folder),
        amount * i64::try_from(EVENTS).unwrap(),
        "each counted once"
    );
    let mut dev = dev.into_inner().unwrap();
    dev.kill().unwrap();
    dev.wait().unwrap();
}
