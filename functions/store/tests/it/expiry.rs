//! What expires, and what does not.

use oncehook_core::decide::Decision;
use oncehook_store::Keep;

use crate::{
    builders::{Build, apply, event, n, nothing, pk, rule, unsigned},
    settle::{dead, done, parked},
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
            world
                .ledger
                .settle(&lease, &item, &settled, later(9))
                .await
                .unwrap();
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
