//! The sweep against the embedded database.

#![expect(clippy::unwrap_used, reason = "a failing step of a test is a failing test")]

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use oncehook_core::settle::Pause;
use oncehook_local::{
    database::Database,
    faults::{Fault, Proxy},
    recorder::Recorder,
    sample,
};
use oncehook_store::{Commit, EventFilter, Keep, Ledger, Queue, Wakeup, create_table};
use oncehook_sweep::{Sweep, handle};
use tokio::{sync::mpsc, time::Instant};

struct World {
    sweep: Sweep,
    woken: mpsc::UnboundedReceiver<(Wakeup, Duration)>,
    proxy: Proxy,
    _database: Database,
}

fn now() -> Timestamp {
    "2026-12-01T00:00:00Z".parse().unwrap()
}

async fn world(events: u32) -> World {
    let database = Database::start(None).unwrap();
    let proxy = Proxy::start(&database.endpoint()).unwrap();
    let client = oncehook_edge::local_dynamodb(&proxy.endpoint());
    create_table(&client, "oncehook").await.unwrap();
    let ledger = Ledger::new(client, "oncehook".into(), BTreeMap::new(), 4);
    for number in 0..events {
        commit(&ledger, number).await;
    }
    let (sender, woken) = mpsc::unbounded_channel();
    let sweep = Sweep {
        destinations: vec!["other".into(), "mail".into()],
        shards: 4,
        grace: SignedDuration::from_mins(2),
        cap: 500,
        queue_limit: 10_000,
        ledger,
        queue: Queue::Local(sender),
    };
    World {
        sweep,
        woken,
        proxy,
        _database: database,
    }
}

async fn commit(ledger: &Ledger, number: u32) {
    let event = sample::event(&format!("evt_{number}"));
    let decision = sample::decision("http://127.0.0.1:1/", &["receipt"]);
    let day = SignedDuration::from_hours(24);
    let keep = Keep {
        retention: day,
        keys_for: day,
    };
    let deadline = Instant::now() + Duration::from_secs(2);
    let commit = Commit {
        event: &event,
        decision: &decision,
        keep,
        now: now(),
        deadline,
    };
    ledger.commit(commit).await.unwrap();
}

#[tokio::test]
async fn what_was_never_woken_is_woken_after_the_grace_and_not_before() {
    let mut world = world(7).await;
    let early = handle(&world.sweep, now() + SignedDuration::from_secs(119))
        .await
        .unwrap();
    assert!(early.woken.is_empty());
    let report = handle(&world.sweep, now() + SignedDuration::from_secs(121))
        .await
        .unwrap();
    assert_eq!(report.woken, [("mail".to_owned(), 7)].into());
    let mut keys = std::collections::BTreeSet::new();
    while let Ok((wakeup, delay)) = world.woken.try_recv() {
        assert_eq!((wakeup.destination.as_str(), delay), ("mail", Duration::ZERO));
        keys.insert(wakeup.key);
    }
    assert_eq!(keys.len(), 7);
}

#[tokio::test]
async fn a_paused_destination_gets_one_probe_unless_it_named_the_time() {
    let mut world = world(7).await;
    let later = now() + SignedDuration::from_mins(5);
    let until = later + SignedDuration::from_mins(5);
    for (probe_from, woken) in [(later, 1), (until, 0)] {
        let pause = Pause { until, probe_from };
        world.sweep.ledger.resume("mail", pause).await.unwrap();
        world.sweep.ledger.pause("mail", pause).await.unwrap();
        let report = handle(&world.sweep, later).await.unwrap();
        assert_eq!(report.woken.get("mail").copied().unwrap_or_default(), woken);
        assert_eq!(report.paused, ["mail"]);
    }
    assert!(world.woken.try_recv().unwrap().0.probe);
    assert!(world.woken.try_recv().is_err());
}

/// As SQS answers when so many messages wait.
async fn long_queue(world: &mut World, length: u64) -> Recorder {
    let sqs = Recorder::start(None).unwrap();
    sqs.answer(serde_json::json!({ "Attributes": { "ApproximateNumberOfMessages": length.to_string() } }));
    world.sweep.queue = Queue::Sqs {
        client: oncehook_edge::local_sqs(&sqs.endpoint()),
        url: format!("{}/1/wakeups", sqs.endpoint()),
    };
    sqs
}

#[tokio::test]
async fn nothing_is_woken_while_the_queue_is_long() {
    let mut world = world(3).await;
    let later = now() + SignedDuration::from_mins(5);
    for (length, held_back) in [(10_001, Some(10_001)), (10_000, None)] {
        let sqs = long_queue(&mut world, length).await;
        let report = handle(&world.sweep, later).await.unwrap();
        assert_eq!(report.held_back, held_back);
        assert_eq!(
            sqs.received().len() > 1,
            held_back.is_none(),
            "messages were sent"
        );
    }
}

#[tokio::test]
async fn an_event_is_kept_beyond_its_expiry_while_nobody_claims_its_items() {
    let mut world = world(3).await;
    let expiry = async |world: &World| {
        let (events, outbox) = world.sweep.ledger.scan(&EventFilter::default()).await.unwrap();
        let expiring = events.iter().filter(|event| event.expires_at.is_some()).count();
        (expiring, outbox.iter().filter(|view| view.item.kept).count())
    };
    let hours = SignedDuration::from_hours;
    handle(&world.sweep, now() + hours(11)).await.unwrap();
    assert_eq!(expiry(&world).await, (3, 0));
    // Whatever holds them up: a pause without end ...
    let pause = Pause {
        until: now() + hours(900),
        probe_from: now() + hours(900),
    };
    world.sweep.ledger.pause("mail", pause).await.unwrap();
    // ... or a queue that nobody empties.
    let _sqs = long_queue(&mut world, 50_000).await;
    let report = handle(&world.sweep, now() + hours(12)).await.unwrap();
    assert_eq!((report.kept, report.woken.len()), (3, 0));
    assert_eq!(expiry(&world).await, (0, 3));
    let again = handle(&world.sweep, now() + hours(13)).await.unwrap();
    assert_eq!(again.kept, 0, "not again before half a day has passed");
}

#[tokio::test]
async fn what_cannot_be_kept_is_woken_all_the_same() {
    let mut world = world(3).await;
    world
        .proxy
        .fault("TransactWriteItems", Fault::access_denied("TransactWriteItems"));
    let failed = handle(&world.sweep, now() + SignedDuration::from_hours(12)).await;
    assert!(failed.is_err(), "it is not hidden");
    for _ in 0..3 {
        world.woken.try_recv().unwrap();
    }
}

#[tokio::test]
async fn a_destination_that_left_the_configuration_is_swept_on_and_the_cap_holds() {
    let mut world = world(9).await;
    let later = now() + SignedDuration::from_mins(5);
    handle(&world.sweep, now()).await.unwrap();
    world.sweep.destinations = vec!["other".into()];
    world.sweep.cap = 4;
    let report = handle(&world.sweep, later).await.unwrap();
    assert!(
        report.woken["mail"] <= 4 && report.woken["mail"] > 0,
        "{report:?}"
    );
}

#[tokio::test]
async fn each_metric_of_sweep_is_emitted() {
    let lines = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let into = lines.clone();
    let mut world = world(1).await;
    world.woken.close();
    let _watching =
        oncehook_edge::metrics::watch(move |line| into.lock().unwrap().push_str(&format!("{line}\n")));
    handle(&world.sweep, now()).await.unwrap();
    assert_eq!(
        *lines.lock().unwrap(),
        "",
        "nothing is due beyond the grace, so nothing is sent"
    );
    handle(&world.sweep, now() + SignedDuration::from_mins(10))
        .await
        .unwrap();
    let lines = lines.lock().unwrap().clone();
    for metric in oncehook_edge::metrics::METRICS
        .iter()
        .filter(|one| one.function == "sweep")
    {
        assert!(
            lines.contains(&format!("\"{}\":", metric.name)),
            "{} is not in {lines}",
            metric.name
        );
    }
    assert!(lines.contains("\"OldestDue\":600.0"), "{lines}");
}
