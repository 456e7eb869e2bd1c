//! The sweep against the embedded database.

#![expect(clippy::unwrap_used, reason = "a failing step of a test is a failing test")]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    decide::Decision,
    event::Event,
    outbox::{GIVE_UP_AFTER, KeyShape},
    plan::{Effect, EffectBody, Plan, RenderedRequest, RulePlan},
};
use oncehook_local::database::Database;
use oncehook_store::{Commit, Keep, Ledger, Queue, Wakeup, create_table};
use oncehook_sweep::{Sweep, handle};
use tokio::{sync::mpsc, time::Instant};

struct World {
    sweep: Sweep,
    woken: mpsc::UnboundedReceiver<(Wakeup, Duration)>,
    _database: Database,
}

fn now() -> Timestamp {
    "2026-12-01T00:00:00Z".parse().unwrap()
}

async fn world(events: u32) -> World {
    let database = Database::start(None).unwrap();
    let client = oncehook_edge::local_dynamodb(&database.endpoint());
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
        _database: database,
    }
}

async fn commit(ledger: &Ledger, number: u32) {
    let event = Event {
        source: "stripe".into(),
        namespace: "stripe".into(),
        scope: "acct".into(),
        id: format!("evt_{number}"),
        kind: "paid".into(),
        occurred_at: None,
        tenant: "acct".into(),
        id_signed: true,
        content_type: None,
        body: Bytes::from_static(b"{}"),
        data: Arc::new(serde_json::json!({})),
        defect: None,
    };
    let request = RenderedRequest {
        method: "POST".into(),
        url: "http://127.0.0.1:1/".into(),
        headers: vec![],
        content_type: None,
        body: EffectBody::Text("{}".into()),
    };
    let effect = Effect {
        name: "receipt".into(),
        destination: "mail".into(),
        request,
        key: KeyShape::DEFAULT,
        give_up_after: GIVE_UP_AFTER,
    };
    let rule = RulePlan {
        rule: "credit".into(),
        guards: vec![],
        updates: vec![],
        effects: vec![effect],
    };
    let decision = Decision::Apply(Plan {
        rules: vec![rule],
        response: None,
    });
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
async fn a_paused_destination_gets_one_probe() {
    let world = world(7).await;
    let later = now() + SignedDuration::from_mins(5);
    world
        .sweep
        .ledger
        .pause("mail", later + SignedDuration::from_mins(5))
        .await
        .unwrap();
    let report = handle(&world.sweep, later).await.unwrap();
    assert_eq!(report.woken, [("mail".to_owned(), 1)].into());
    assert_eq!(report.paused, ["mail"]);
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
