//! What expires, and what does not.

use oncehook_core::decide::Decision;
use oncehook_store::{Keep, Settling};

use crate::{
    builders::{Build, apply, event, n, nothing, pk, rule, unsigned},
    settle::{dead, done, parked, retry},
    support::{DAY, KEEP, SPLIT, World, later, now},
};

fn after(keep: jiff::SignedDuration) -> i64 {
    (now() + keep).as_second()
}

#[tokio::test]
async fn resolved_events_expire_after_the_time_of_their_keys() {
    let mut world = World::new().await;
    for (index, keep) in [KEEP, SPLIT].into_iter().enumerate() {
        world.keep = keep;
        for (name, decision) in [
            ("applied", apply([rule("r").effect("mail")])),
            ("ignored", nothing()),
            ("observed", Decision::Observe(Vec::new())),
        ] {
            let id = format!("{name}_{index}");
            world.new_record(&event(&id), &decision).await;
            assert_eq!(n(&world.record(&id).await, "expires_at"), after(keep.keys_for));
        }
    }
}

#[tokio::test]
async fn a_body_kept_for_a_shorter_time_is_an_item_of_its_own() {
    let mut world = World::new().await;
    world.new_record(&event("evt_1"), &nothing()).await;
    assert!(world.record("evt_1").await.contains_key("body"));
    assert_eq!(world.find(&pk("evt_1"), "body").await, None);
    world.keep = SPLIT;
    world.new_record(&event("evt_2"), &nothing()).await;
    assert!(!world.record("evt_2").await.contains_key("body"));
    let body = world.find(&pk("evt_2"), "body").await.unwrap();
    assert_eq!(n(&body, "expires_at"), after(SPLIT.retention));
}

#[tokio::test]
async fn a_healed_event_keeps_its_body_once() {
    let mut world = World::new().await;
    world.keep = SPLIT;
    world
        .new_record(&event("evt_1"), &Decision::Fail("no".to_owned()))
        .await;
    world.new_record(&event("evt_1"), &nothing()).await;
    assert!(!world.record("evt_1").await.contains_key("body"));
    assert!(world.find(&pk("evt_1"), "body").await.is_some());
}

#[tokio::test]
async fn failed_and_held_events_stand_on_their_lists_and_never_expire() {
    let mut world = World::new().await;
    for keep in [KEEP, SPLIT] {
        world.keep = keep;
        let id = keep.keys_for.as_hours();
        let (failed, held) = (format!("failed_{id}"), format!("held_{id}"));
        world
            .new_record(&event(&failed), &Decision::Fail("no".to_owned()))
            .await;
        world
            .new_record(&event(&held), &Decision::Hold("no".to_owned()))
            .await;
        for id in [failed, held] {
            let record = world.record(&id).await;
            assert!(!record.contains_key("expires_at"));
            assert!(record.contains_key("body"));
            assert_eq!(n(&record, "work_at"), now().as_millisecond());
        }
    }
    assert_eq!(world.listed("failed#shop").await.len(), 2);
    assert_eq!(world.listed("held#shop").await.len(), 2);
}

#[tokio::test]
async fn parked_dead_and_open_items_never_expire_and_done_ones_expire_with_their_event() {
    let mut world = World::new().await;
    for keep in [
        KEEP,
        SPLIT,
        Keep {
            retention: DAY,
            keys_for: DAY,
        },
    ] {
        world.keep = keep;
        let id = |name: &str| format!("{name}_{}_{}", keep.retention, keep.keys_for);
        let open = world.outbox(&id("open")).await;
        assert!(!world.stored(&open).await.contains_key("expires_at"));
        for (name, settled, expires) in [
            ("done", done(), true),
            ("parked", parked(), false),
            ("dead", dead(), false),
        ] {
            let key = world.outbox(&id(name)).await;
            let (lease, item) = world.claimed(&key, now()).await;
            world.settle(&lease, &item, &settled, later(9)).await;
            let (item, event) = (world.stored(&key).await, world.record(&id(name)).await);
            assert_eq!(item.get("expires_at"), event.get("expires_at"), "{name}");
            assert_eq!(item.contains_key("expires_at"), expires, "{name}");
        }
    }
}

#[tokio::test]
async fn the_guard_of_a_body_expires_with_the_keys() {
    let mut world = World::new().await;
    world.keep = SPLIT;
    world.new_record(&unsigned("evt_1", "body"), &nothing()).await;
    let everything = world.everything().await;
    let guard = everything
        .iter()
        .find(|item| item["sk"].as_s().unwrap() == "body" && item["pk"].as_s().unwrap().starts_with("body#"));
    assert_eq!(n(guard.unwrap(), "expires_at"), after(SPLIT.keys_for));
}

#[tokio::test]
async fn an_event_never_goes_before_its_outbox() {
    let mut world = World::new().await;
    for (id, keep) in [("evt_1", KEEP), ("evt_2", SPLIT)] {
        world.keep = keep;
        let split = keep.keys_for > keep.retention;
        let decision = apply([rule("r").effect("mail").effect("app")]);
        let record = world.new_record(&event(id), &decision).await;
        let keys: Vec<_> = record.wakeups.iter().map(|wakeup| wakeup.key.clone()).collect();
        // The body goes first: it decides.
        let gone = now() + keep.retention;
        let hours = jiff::SignedDuration::from_hours;
        let expiry = async || {
            let body = world.find(&pk(id), "body").await;
            let of =
                |item: &crate::support::Item| item.contains_key("expires_at").then(|| n(item, "expires_at"));
            (of(&world.record(id).await), body.and_then(|body| of(&body)))
        };
        let whole = (Some(after(keep.keys_for)), split.then(|| after(keep.retention)));
        // Early retries change nothing, late ones keep the event, however often.
        for (at, kept) in [(hours(-19), false), (hours(-17), true), (hours(500), true)] {
            let (lease, item) = world.claimed(&keys[0], gone + at - hours(1)).await;
            assert_eq!(item.kept, kept && at > hours(0));
            let settling = world
                .ledger
                .settle(&lease, &item, &retry(gone + at), gone + at)
                .await;
            assert_eq!(settling.unwrap(), Settling::Written);
            assert_eq!(expiry().await == whole, !kept, "{at}");
            assert_eq!(expiry().await == (None, None), kept, "{at}");
        }
        // The other item was never in trouble, and still the event waits for it.
        let late = gone + hours(501);
        let (lease, item) = world.claimed(&keys[0], late).await;
        world.settle(&lease, &item, &done(), late).await;
        assert_eq!(expiry().await, (None, None));
        let (lease, item) = world.claimed(&keys[1], late).await;
        world.settle(&lease, &item, &done(), late).await;
        let day_left = (late + hours(24)).as_second();
        let record = after(keep.keys_for).max(day_left);
        assert_eq!(expiry().await, (Some(record), split.then_some(day_left)));
    }
}

#[tokio::test]
async fn an_item_that_nobody_claims_keeps_its_event_and_loses_no_time() {
    let mut world = World::new().await;
    world.keep = SPLIT;
    let key = world.outbox("evt_1").await;
    let due = async |before| {
        let mut found = Vec::new();
        for shard in 0..4 {
            found.extend(world.ledger.due("mail", shard, before, 10).await.unwrap());
        }
        found.pop()
    };
    let found = due(now()).await.unwrap();
    let give_up = n(&world.stored(&key).await, "give_up_at");
    let (_, before) = (world.claimed(&key, now()).await, later(10));
    assert!(
        !world.ledger.keep(&found, before).await.unwrap(),
        "somebody claimed it"
    );
    assert!(world.ledger.keep(&found, later(1000)).await.unwrap());
    let item = world.stored(&key).await;
    assert_eq!(n(&item, "give_up_at"), give_up + 1_000_000);
    assert_eq!(n(&item, "work_at"), later(1000).as_millisecond());
    assert!(!world.record("evt_1").await.contains_key("expires_at"));
    assert!(
        !world
            .find(&pk("evt_1"), "body")
            .await
            .unwrap()
            .contains_key("expires_at")
    );
    assert!(
        !world.ledger.keep(&found, later(1001)).await.unwrap(),
        "it is no longer due since then"
    );
    assert_eq!(due(later(1000)).await.unwrap().since, later(1000));
}
