//! The order in which the reasons of a cancelled transaction are read.

use oncehook_core::plan::{Attr, OnCondition};
use oncehook_local::faults::{Fault, Reason};
use oncehook_store::{CommitError, Outcome};

use crate::{
    builders::{Build, add, add_if, apply, credit, event, nothing, rule, s, set, unsigned},
    support::World,
};

#[tokio::test]
async fn the_event_comes_first_even_when_everything_else_fails_too() {
    let world = World::with_account().await;
    world.new_record(&unsigned("evt_0", "same"), &nothing()).await;
    world.new_record(&event("evt_1"), &nothing()).await;
    world
        .new_record(&event("evt_2"), &apply([rule("r").once("a")]))
        .await;
    let mut event = unsigned("evt_1", "same");
    event.kind = "invoice.paid".to_owned();
    let decision = apply([
        rule("r").once("a"),
        rule("s").update(add("nobody", 1)),
        rule("t").update(add_if(1000, OnCondition::Retry)),
    ]);
    let record = world.duplicate(&event, &decision).await;
    assert_eq!(record.outcome, Outcome::Ignored);
}

/// The reasons of a transaction of event, once guard and update, all scripted.
async fn scripted(reasons: [Reason; 3]) -> (World, Result<oncehook_store::Committed, CommitError>) {
    let world = World::with_account().await;
    let fault = Fault::canceled(&reasons);
    world.proxy.fault("TransactWriteItems", fault);
    let decision = apply([rule("credit").update(add("cus_1", 5)).once("a")]);
    let result = world.commit(&event("evt_1"), &decision).await;
    assert_eq!(world.proxy.unmet(), 0);
    (world, result)
}

fn outcome(result: Result<oncehook_store::Committed, CommitError>) -> (bool, Outcome) {
    match result.unwrap() {
        oncehook_store::Committed::New(record) => (true, record.outcome),
        oncehook_store::Committed::Duplicate(record) => (false, record.outcome),
    }
}

#[tokio::test]
async fn a_conflict_comes_before_guards_conditions_and_invalid_updates() {
    for busy in [Reason::conflict(), Reason::throttled()] {
        let reasons = [Reason::none(), Reason::condition_failed(None), busy.clone()];
        let (world, result) = scripted(reasons).await;
        assert_eq!(outcome(result), (true, Outcome::Applied));
        assert_eq!(world.balance().await, 5);
        let (world, result) = scripted([busy, Reason::none(), Reason::validation("no")]).await;
        assert_eq!(outcome(result), (true, Outcome::Applied));
        assert_eq!(world.balance().await, 5);
    }
}

#[tokio::test]
async fn the_event_comes_before_a_conflict() {
    let item = serde_json::json!({ "outcome": { "S": "held" }, "commit_id": { "S": "other" } });
    let event = Reason::condition_failed(Some(item));
    let (_world, result) = scripted([event, Reason::conflict(), Reason::validation("no")]).await;
    assert_eq!(outcome(result), (false, Outcome::Held));
}

#[tokio::test]
async fn an_invalid_or_too_large_update_comes_before_a_guard() {
    let too_large = Reason::of("ItemCollectionSizeLimitExceeded", "Collection size exceeded.");
    for refused in [Reason::validation("no"), too_large] {
        let reasons = [Reason::none(), Reason::condition_failed(None), refused];
        let (world, result) = scripted(reasons).await;
        assert_eq!(outcome(result), (true, Outcome::Failed));
        assert_eq!(world.balance().await, 0);
    }
}

#[tokio::test]
async fn a_guard_comes_before_a_condition() {
    let world = World::with_account().await;
    world
        .new_record(&event("evt_0"), &apply([rule("r").once("a")]))
        .await;
    let decision = apply([rule("credit").update(add("nobody", 5)).once("a")]);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.outcome, Outcome::Skipped);
}

#[tokio::test]
async fn a_rule_whose_update_is_invalid_fails_the_event_alone() {
    let world = World::with_account().await;
    let text = set("cus_1", "balance", Attr::S("not a number".to_owned()));
    world
        .new_record(&event("evt_0"), &apply([rule("spoil").update(text)]))
        .await;
    let decision = apply([
        rule("credit").update(add("cus_1", 5)).effect("mail"),
        rule("note").update(set("cus_2", "note", Attr::Bool(true))),
    ]);
    world.open_account("cus_2").await;
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.outcome, Outcome::Failed);
    assert!(record.rules.is_empty() && record.wakeups.is_empty());
    let stored = world.record("evt_1").await;
    assert_eq!(s(&stored, "outcome"), "failed");
    assert_eq!(record.reason.as_deref(), Some(s(&stored, "reason").as_str()));
    assert!(!world.account("cus_2").await.unwrap().contains_key("note"));
    assert_eq!(world.listed("failed#shop").await, ["event"]);
}

#[tokio::test]
async fn a_call_refused_as_invalid_fails_the_event_if_a_rule_had_a_part() {
    for decision in [
        credit(),
        apply([rule("r").effect("mail")]),
        apply([rule("r").once("a")]),
    ] {
        let world = World::with_account().await;
        world
            .proxy
            .fault("TransactWriteItems", Fault::validation("Item size has exceeded"));
        let record = world.new_record(&event("evt_1"), &decision).await;
        assert_eq!(record.outcome, Outcome::Failed);
        assert!(record.reason.unwrap().contains("Item size has exceeded"));
    }
}

#[tokio::test]
async fn an_effect_too_large_for_an_item_fails_the_event() {
    let world = World::new().await;
    let mut large = rule("r").effect("mail");
    large.effects[0].request.url = "u".repeat(500_000);
    let record = world.new_record(&event("evt_1"), &apply([large])).await;
    assert_eq!(record.outcome, Outcome::Failed);
}

#[tokio::test]
async fn missing_permissions_and_tables_are_broken_and_write_nothing() {
    for fault in [Fault::access_denied("UpdateItem"), Fault::table_missing()] {
        let world = World::with_account().await;
        world.proxy.fault("TransactWriteItems", fault.clone());
        let result = world.commit(&event("evt_1"), &credit()).await;
        assert!(matches!(result, Err(CommitError::Broken(_))), "{result:?}");
        world.proxy.fault("PutItem", fault);
        let result = world.commit(&event("evt_2"), &nothing()).await;
        assert!(matches!(result, Err(CommitError::Broken(_))), "{result:?}");
        assert!(world.everything().await.is_empty());
    }
}

#[tokio::test]
async fn a_permission_missing_for_one_action_is_broken() {
    let denied = Reason::of("AccessDenied", "no KMS key");
    let (world, result) = scripted([Reason::none(), Reason::condition_failed(None), denied]).await;
    assert!(matches!(result, Err(CommitError::Broken(_))), "{result:?}");
    assert!(world.everything().await.is_empty());
}

#[tokio::test]
async fn an_invalid_event_alone_is_broken() {
    let world = World::new().await;
    world.proxy.fault("PutItem", Fault::validation("no"));
    let result = world.commit(&event("evt_1"), &nothing()).await;
    assert!(matches!(result, Err(CommitError::Broken(_))), "{result:?}");
}
