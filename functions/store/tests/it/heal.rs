//! Failed events: healed by a redelivery whose plan works, left as they are by one that fails again.

use oncehook_core::decide::Decision;
use oncehook_local::faults::Fault;
use oncehook_store::{Outcome, Record};

use crate::{
    builders::{Build, add, apply, credit, event, nothing, pk, rule, s, unsigned},
    support::World,
};

fn broken() -> Decision {
    Decision::Fail("rule `credit`: the event has nothing at /data".to_owned())
}

async fn with_failed() -> (World, Record) {
    let world = World::with_account().await;
    let failed = world.new_record(&event("evt_1"), &broken()).await;
    assert_eq!(failed.outcome, Outcome::Failed);
    (world, failed)
}

#[tokio::test]
async fn a_redelivery_whose_plan_works_heals_a_failed_event() {
    let (world, _) = with_failed().await;
    let decision = apply([rule("credit").update(add("cus_1", 5)).effect("mail")]);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.outcome, Outcome::Applied);
    assert_eq!((record.reason, record.wakeups.len()), (None, 1));
    let stored = world.record("evt_1").await;
    assert_eq!(s(&stored, "outcome"), "applied");
    for gone in ["reason", "work", "work_at"] {
        assert!(!stored.contains_key(gone), "{gone}");
    }
    assert!(stored.contains_key("expires_at"));
    assert!(world.listed("failed#shop").await.is_empty());
    world.duplicate(&event("evt_1"), &decision).await;
    assert_eq!(world.balance().await, 5);
}

#[tokio::test]
async fn a_redelivery_that_nothing_matches_any_more_heals_it_too() {
    let (world, _) = with_failed().await;
    let record = world.new_record(&event("evt_1"), &nothing()).await;
    assert_eq!(record.outcome, Outcome::Ignored);
    assert_eq!(world.writes(), (2, 0));
}

#[tokio::test]
async fn a_plan_that_fails_again_leaves_the_record_as_it_was() {
    let (world, failed) = with_failed().await;
    let before = world.record("evt_1").await;
    let another = Decision::Fail("for another reason".to_owned());
    assert_eq!(world.duplicate(&event("evt_1"), &another).await, failed);
    // It fails only at the database this time.
    let nobody = apply([rule("credit").update(add("nobody", 5))]);
    assert_eq!(world.duplicate(&event("evt_1"), &nobody).await, failed);
    assert_eq!(world.record("evt_1").await, before);
}

#[tokio::test]
async fn an_answer_lost_while_healing_is_new_and_applied_once() {
    let (world, _) = with_failed().await;
    world.proxy.fault("TransactWriteItems", Fault::LoseAnswer);
    let record = world.new_record(&event("evt_1"), &credit()).await;
    assert_eq!(record.outcome, Outcome::Applied);
    assert_eq!(world.balance().await, 5);
    let (world, _) = with_failed().await;
    world.proxy.fault("PutItem", Fault::LoseAnswer);
    world.new_record(&event("evt_1"), &nothing()).await;
}

#[tokio::test]
async fn an_answer_lost_while_recording_a_failure_is_new() {
    let world = World::with_account().await;
    world.proxy.fault("PutItem", Fault::LoseAnswer);
    let nobody = apply([rule("credit").update(add("nobody", 5))]);
    let record = world.new_record(&event("evt_1"), &nobody).await;
    assert_eq!(record.outcome, Outcome::Failed);
    assert_eq!(world.writes(), (2, 1));
}

#[tokio::test]
async fn only_failed_events_heal() {
    let world = World::with_account().await;
    let held = Decision::Hold("before the cut-over".to_owned());
    world.new_record(&event("evt_1"), &held).await;
    let record = world.duplicate(&event("evt_1"), &credit()).await;
    assert_eq!(record.outcome, Outcome::Held);
    world
        .new_record(&event("evt_2"), &Decision::Observe(Vec::new()))
        .await;
    world.duplicate(&event("evt_2"), &credit()).await;
    assert_eq!(world.balance().await, 0);
}

#[tokio::test]
async fn a_failed_event_takes_no_guards() {
    let world = World::with_account().await;
    let nobody = apply([rule("r")
        .update(add("nobody", 5))
        .once("a")
        .newer("b", 1)
        .effect("mail")]);
    let record = world.new_record(&unsigned("evt_1", "body"), &nobody).await;
    assert_eq!(record.outcome, Outcome::Failed);
    let everything = world.everything().await;
    assert_eq!(everything.len(), 1);
    assert_eq!(s(&everything[0], "pk"), pk("evt_1"));
    // So it can be healed, guards and all.
    world.open_account("nobody").await;
    let record = world.new_record(&unsigned("evt_1", "body"), &nobody).await;
    assert_eq!(record.outcome, Outcome::Applied);
}
