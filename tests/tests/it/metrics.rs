//! Every metric, emitted by the handlers themselves, and as often as what happened.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use http::Method;
use jiff::SignedDuration;
use oncehook_edge::{
    Watching,
    metrics::{self, METRICS},
};
use oncehook_local::{behaviour::Behaviour, faults::Fault};
use oncehook_tests::{CONFIG, World, invoice};
use serde_json::{Value, json};

/// What was emitted on this thread.
struct Emitted {
    lines: Rc<RefCell<Vec<Value>>>,
    _watching: Watching,
}

impl Emitted {
    fn new() -> Self {
        let lines = Rc::new(RefCell::new(Vec::new()));
        let into = Rc::clone(&lines);
        let watching = metrics::watch(move |line| {
            into.borrow_mut().push(serde_json::from_str(line).unwrap());
        });
        Self {
            lines,
            _watching: watching,
        }
    }

    /// The values of a metric with this value of a dimension, in order.
    fn values(&self, name: &str, by: (&str, &str)) -> Vec<f64> {
        let lines = self.lines.borrow();
        let of = lines.iter().filter(|line| line[by.0] == by.1);
        of.filter_map(|line| line[name].as_f64()).collect()
    }

    fn sum(&self, name: &str, by: (&str, &str)) -> f64 {
        self.values(name, by).iter().sum()
    }

    /// The names that were declared, as CloudWatch reads them.
    fn names(&self) -> BTreeSet<String> {
        let lines = self.lines.borrow();
        let declared = |line: &Value| {
            let metrics = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].clone();
            metrics.as_array().unwrap().clone()
        };
        let all = lines.iter().flat_map(declared);
        all.map(|metric| metric["Name"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// The configuration of the tests, with sources that hold and observe, and a rule that applies once.
fn config() -> String {
    let sources = "
[source.held]
scheme = \"stripe\"
secret = \"stripe\"
not_before = 2099-01-01T00:00:00Z

[source.observed]
scheme = \"stripe\"
secret = \"stripe\"
mode = \"observe\"

[table.accounts]";
    CONFIG.replace("[table.accounts]", sources).replace(
        "name = \"credit\"",
        "name = \"credit\"\nonce_per = \"invoice:{{ event.data.object.id }}\"",
    )
}

#[tokio::test]
async fn every_metric_is_emitted_and_counts_what_happened() {
    let world = World::with(&config()).await;
    let emitted = Emitted::new();
    let stripe = ("source", "stripe");
    let mail = ("destination", "mail");

    // Five events, a copy, an operation done before, a plan that fails, one that no rule is for.
    for index in 0..5 {
        let answer = world.signed(&invoice(&format!("evt_{index}"), "cus_1", 10));
        assert_eq!(world.post(&answer).await.outcome, "applied");
    }
    assert!(
        world
            .post(&world.signed(&invoice("evt_0", "cus_1", 10)))
            .await
            .replayed
    );
    let mut again = invoice("evt_again", "cus_1", 10);
    again["data"]["object"]["id"] = invoice("evt_0", "cus_1", 10)["data"]["object"]["id"].clone();
    assert_eq!(world.post(&world.signed(&again)).await.outcome, "skipped");
    let mut broken = invoice("evt_broken", "cus_1", 10);
    broken["data"]["object"]["amount_paid"] = json!("ten");
    assert_eq!(world.post(&world.signed(&broken)).await.outcome, "failed");
    let mut other = invoice("evt_other", "cus_1", 10);
    other["type"] = json!("customer.created");
    assert_eq!(world.post(&world.signed(&other)).await.outcome, "ignored");
    for (source, outcome) in [("held", "held"), ("observed", "observed")] {
        let request = world.signed(&invoice(&format!("evt_{source}"), "cus_1", 10));
        assert_eq!(world.send(Method::POST, source, &request).await.outcome, outcome);
    }
    // A forgery, and a database that refuses.
    let mut forged = world.signed(&invoice("evt_forged", "cus_1", 10));
    forged.body = b"{}".as_slice().into();
    assert_eq!(world.post(&forged).await.status, 401);
    world
        .proxy
        .fault("TransactWriteItems", Fault::access_denied("TransactWriteItems"));
    let lost = world.signed(&invoice("evt_lost", "cus_1", 10));
    assert_eq!(world.post(&lost).await.status, 500);

    for (name, count) in [
        ("Received", 10.0),
        ("Applied", 5.0),
        ("Duplicates", 1.0),
        ("Skipped", 1.0),
        ("Failed", 1.0),
        ("Ignored", 1.0),
        ("NotCommitted", 1.0),
        ("Refused", 1.0),
    ] {
        assert_eq!(emitted.sum(name, stripe), count, "{name}");
    }
    assert_eq!(emitted.sum("Held", ("source", "held")), 1.0);
    assert_eq!(emitted.sum("Observed", ("source", "observed")), 1.0);
    assert_eq!(emitted.sum("Refused", ("reason", "signature_mismatch")), 1.0);
    assert_eq!(emitted.values("CommitLatency", stripe).len(), 10);
    assert_eq!(emitted.values("SecretPosition", stripe), [0.0; 10]);

    // Two delivered, one of them at the second try; one refused; one parked, since the same error came thrice.
    let behaviours = [
        Behaviour::Normal,
        Behaviour::Status(422, None),
        Behaviour::Status(503, None),
    ];
    let wakeups = world.due_wakeups();
    for (wakeup, behaviour) in wakeups.iter().zip(behaviours) {
        world.mail.next(behaviour);
        world.drain(std::slice::from_ref(wakeup)).await;
    }
    assert_eq!(emitted.sum("Retried", mail), 1.0);
    assert_eq!(emitted.values("OpenFor", mail).len(), 1);
    for (wakeup, _) in wakeups[3..].iter().zip(0..2) {
        world.mail.next(Behaviour::AcceptAndDrop);
        world.drain(std::slice::from_ref(wakeup)).await;
    }
    // Past the destination's memory of keys.
    world.lose_wakeups();
    world.clock.advance(SignedDuration::from_hours(25));
    world.sweep().await;
    world.drain_due().await;
    for (name, count) in [
        ("Delivered", 1.0),
        ("Dead", 1.0),
        ("Parked", 3.0),
        ("Retried", 3.0),
    ] {
        assert_eq!(emitted.sum(name, mail), count, "{name}");
    }
    assert_eq!(emitted.sum("Attempts", mail), 8.0);
    assert_eq!(emitted.values("ReceivedToDelivered", mail).len(), 1);
    let oldest = emitted.values("OldestDue", mail);
    assert!(
        oldest[0] > 24.0 * 3600.0 && oldest[0] <= 25.0 * 3600.0,
        "{oldest:?}"
    );

    // A queue that takes nothing is tested in the crate of sweep.
    let known = METRICS.iter().map(|metric| metric.name.to_owned());
    let known: BTreeSet<String> = known.filter(|name| name != "Unsent").collect();
    assert_eq!(emitted.names(), known);
}

#[tokio::test]
async fn dimensions_are_those_of_the_table_and_hold_nothing_of_a_request() {
    let world = World::with(&config()).await;
    let emitted = Emitted::new();
    for id in ["evt_1", "evt_1", "evt_2"] {
        world.post(&world.signed(&invoice(id, "cus_private", 10))).await;
    }
    let lost = world.signed(&invoice("evt_3", "cus_private", 10));
    assert_eq!(world.send(Method::POST, "nobody", &lost).await.status, 404);
    world.drain_due().await;
    world.sweep().await;
    let lines = emitted.lines.borrow();
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in lines.iter() {
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        let sets = directive["Dimensions"].as_array().unwrap();
        assert_eq!(sets[0], json!(["function"]));
        for metric in directive["Metrics"].as_array().unwrap() {
            let name = metric["Name"].as_str().unwrap();
            let known = METRICS.iter().find(|known| known.name == name).unwrap();
            assert_eq!(line["function"], known.function, "{name}");
            assert_eq!(metric["Unit"], known.unit, "{name}");
            assert!(line[name].is_number(), "{name}");
            let by: Vec<&str> = sets.last().unwrap().as_array().unwrap()[1..]
                .iter()
                .map(|dimension| dimension.as_str().unwrap())
                .collect();
            assert_eq!(by, known.by, "{name}");
            assert_eq!(sets.len(), known.by.len() + 1, "{name}");
        }
        for name in ["source", "destination", "reason"] {
            if let Some(value) = line[name].as_str() {
                seen.entry(name.to_owned()).or_default().insert(value.to_owned());
            }
        }
        let text = line.to_string();
        assert!(!text.contains("evt_") && !text.contains("cus_"), "{text}");
    }
    assert_eq!(seen["source"], BTreeSet::from(["stripe".to_owned()]));
    let configured = BTreeSet::from(["keyless".to_owned(), "mail".to_owned()]);
    assert!(seen["destination"].is_subset(&configured), "{seen:?}");
}
