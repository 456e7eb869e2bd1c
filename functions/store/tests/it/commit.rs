//! What one commit writes, and what it answers when it is told the same again.

use oncehook_core::decide::Decision;
use oncehook_local::faults::Fault;
use oncehook_store::Outcome;
use serde_json::json;

use crate::{
    builders::{Build, add, apply, credit, event, n, nothing, pk, plan, rule, s},
    support::{SPLIT, World},
};

#[tokio::test]
async fn a_lone_action_goes_as_a_put_item() {
    let world = World::new().await;
    let record = world.new_record(&event("evt_1"), &nothing()).await;
    assert_eq!(record.outcome, Outcome::Ignored);
    assert_eq!(world.writes(), (1, 0));
    let held = Decision::Hold("before the cut-over".to_owned());
    world.new_record(&event("evt_2"), &held).await;
    let failed = Decision::Fail("no such field".to_owned());
    world.new_record(&event("evt_3"), &failed).await;
    let observed = Decision::Observe(vec!["credit".to_owned()]);
    let record = world.new_record(&event("evt_4"), &observed).await;
    assert_eq!(record.outcome, Outcome::Observed);
    assert_eq!(record.rules[0].rule, "credit");
    assert_eq!(world.writes(), (4, 0));
}

#[tokio::test]
async fn two_actions_and_more_go_as_one_transaction() {
    let world = World::with_account().await;
    let decision = apply([rule("r")
        .update(add("cus_1", 5))
        .once("invoice:1")
        .newer("sub_1", 3)
        .effect("mail")
        .effect("app")]);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.outcome, Outcome::Applied);
    assert_eq!(world.writes(), (0, 1));
    assert_eq!(world.balance().await, 5);
    assert_eq!(record.wakeups.len(), 2);
    assert_eq!(world.everything().await.len(), 5);
    let wakeup = &record.wakeups[0];
    assert_eq!(
        (wakeup.destination.as_str(), wakeup.tenant.as_str()),
        ("mail", "acct_1")
    );
    let item = world.stored(&wakeup.key).await;
    assert_eq!(s(&item, "state"), "open");
    assert_eq!(s(&item, "pk"), pk("evt_1"));
    assert_eq!(s(&item, "idempotency_key").len(), 64);
}

#[tokio::test]
async fn a_body_kept_for_a_shorter_time_makes_a_transaction_of_two() {
    let mut world = World::new().await;
    world.keep = SPLIT;
    world.new_record(&event("evt_1"), &nothing()).await;
    assert_eq!(world.writes(), (0, 1));
    assert_eq!(world.everything().await.len(), 2);
}

#[tokio::test]
async fn a_duplicate_gets_the_stored_record_in_one_call() {
    let world = World::with_account().await;
    let mut given = plan([
        rule("credit").update(add("cus_1", 5)).effect("mail"),
        rule("other").once("taken"),
    ]);
    given.response = Some(json!({ "credited": 5 }));
    let first = apply([rule("x").once("taken")]);
    world.new_record(&event("evt_0"), &first).await;
    let decision = Decision::Apply(given);
    let mut first = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(first.response.as_deref(), Some(r#"{"credited":5}"#));
    assert!(first.rules[1].skipped.as_deref().unwrap().contains("taken"));

    world.proxy.reset();
    let again = world.duplicate(&event("evt_1"), &decision).await;
    first.wakeups.clear();
    assert_eq!(again, first);
    assert_eq!(world.proxy.operations(), ["TransactWriteItems"]);

    // Whatever the configuration has become, and also when the lone PutItem meets it.
    world.proxy.reset();
    assert_eq!(world.duplicate(&event("evt_1"), &nothing()).await, first);
    assert_eq!(world.proxy.operations(), ["PutItem"]);
    assert_eq!(world.balance().await, 5);
}

#[tokio::test]
async fn the_same_id_in_another_scope_or_namespace_is_another_event() {
    let world = World::new().await;
    world.new_record(&event("evt_1"), &nothing()).await;
    let mut other = event("evt_1");
    other.scope = "acct_2".to_owned();
    world.new_record(&other, &nothing()).await;
    other.namespace = "adyen".to_owned();
    world.new_record(&other, &nothing()).await;
    other.source = "renamed".to_owned();
    world.duplicate(&other, &nothing()).await;
}

#[tokio::test]
async fn long_and_strange_ids_fit_a_key() {
    let world = World::new().await;
    for id in ["%".repeat(390), "#".repeat(390), "ä".repeat(3000), String::new()] {
        let mut event = event(&id);
        event.namespace = "%".repeat(390);
        event.scope = "#".repeat(390);
        world.new_record(&event, &apply([rule("r").effect("mail")])).await;
        world.duplicate(&event, &nothing()).await;
    }
}

#[tokio::test]
async fn a_transaction_whose_answer_is_lost_is_new_and_applied_once() {
    let world = World::with_account().await;
    let decision = apply([rule("credit").update(add("cus_1", 5)).effect("mail")]);
    world.proxy.fault("TransactWriteItems", Fault::LoseAnswer);
    let internal = Fault::internal_error().acting();
    world.proxy.fault("TransactWriteItems", internal);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.outcome, Outcome::Applied);
    assert_eq!(record.wakeups.len(), 1);
    assert_eq!(world.balance().await, 5);
    assert_eq!(world.proxy.unmet(), 0);
    assert_eq!(world.writes(), (0, 3));
}

#[tokio::test]
async fn a_lone_put_whose_answer_is_lost_is_new() {
    let world = World::new().await;
    world.proxy.fault("PutItem", Fault::LoseAnswer);
    let record = world.new_record(&event("evt_1"), &nothing()).await;
    assert_eq!(record.outcome, Outcome::Ignored);
    assert_eq!(world.writes(), (2, 0));
    world.duplicate(&event("evt_1"), &nothing()).await;
}

#[tokio::test]
async fn a_lost_answer_and_a_guard_of_the_same_commit_are_no_skip() {
    let world = World::with_account().await;
    world.proxy.fault("TransactWriteItems", Fault::LoseAnswer);
    let decision = apply([rule("credit").update(add("cus_1", 5)).once("invoice:1")]);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.rules[0].skipped, None);
    assert_eq!(world.balance().await, 5);
}

#[tokio::test]
async fn an_item_of_a_newer_release_is_never_overwritten() {
    let world = World::with_account().await;
    let failed = Decision::Fail("broken".to_owned());
    world.new_record(&event("evt_1"), &failed).await;
    let newer = aws_sdk_dynamodb::types::AttributeValue::N("2".to_owned());
    world.alter(&pk("evt_1"), "event", "v", newer).await;
    let record = world.duplicate(&event("evt_1"), &credit()).await;
    assert_eq!(record.outcome, Outcome::Failed);
    assert_eq!(n(&world.record("evt_1").await, "v"), 2);
    assert_eq!(world.balance().await, 0);
}
