//! `kill -9` of the whole service while requests come in: what was acknowledged is there, once.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;

use super::dev::{CONFIG, Dev};

const EVENTS: usize = 60;
const SENDERS: usize = 6;
const KILLS: usize = 3;
const KIND: &str = "invoice.payment_succeeded";

#[tokio::test]
async fn nothing_acknowledged_is_lost_and_nothing_is_done_twice_over_kill_9_under_load() {
    let dev = Dev::start(CONFIG);
    let (next, acknowledged) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= EVENTS {
                        return;
                    }
                    // As a provider does: until somebody says 2xx.
                    dev.send(KIND, &format!("evt_{number}"));
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for kill in 1..=KILLS {
            let enough = EVENTS * kill / (KILLS + 1);
            dev.wait("progress", || acknowledged.load(Ordering::Relaxed) >= enough);
            dev.kill_and_start();
        }
    });
    let all = |arguments: &[&str]| -> Vec<Value> {
        let listed = dev.json(&[arguments, &["--limit", "1000", "--json"]].concat());
        listed.as_array().cloned().unwrap_or_default()
    };
    dev.wait("deliveries", || {
        all(&["outbox", "--state", "done"]).len() == EVENTS
    });
    let events = all(&["events"]);
    let ids: BTreeSet<&str> = events.iter().filter_map(|event| event["id"].as_str()).collect();
    assert_eq!(ids.len(), EVENTS, "every acknowledged event is there");
    assert!(events.iter().all(|event| event["outcome"] == "applied"));
    // Several calls for one receipt are possible; their key is the same, so that the receiver acts once.
    let keys: BTreeSet<String> = dev.keys().into_iter().collect();
    assert_eq!(keys.len(), EVENTS, "one key for each event");
    let once = Dev::start(CONFIG);
    once.send(KIND, "evt_0");
    let amount = once.balance().await;
    assert!(amount > 0);
    let events = i64::try_from(EVENTS).unwrap();
    assert_eq!(dev.balance().await, amount * events, "each counted once");
}
