//! Guards: of bodies, of operations, of order.

use jiff::SignedDuration;
use oncehook_core::{decide::Decision, event::Event, plan::Guard};
use oncehook_store::{Committed, Outcome};

use crate::{
    builders::{Build, add, apply, event, n, pk, rule, s, unsigned},
    support::{World, later},
};

#[tokio::test]
async fn the_same_body_under_another_id_is_held_without_effects() {
    let world = World::with_account().await;
    let decision = apply([rule("credit").update(add("cus_1", 5)).effect("mail")]);
    world.new_record(&unsigned("evt_1", "body"), &decision).await;
    let record = world.new_record(&unsigned("evt_2", "body"), &decision).await;
    assert_eq!(record.outcome, Outcome::Held);
    assert!(record.reason.unwrap().contains(&pk("evt_1")));
    assert!(record.wakeups.is_empty() && record.rules.is_empty());
    assert_eq!(world.balance().await, 5);
    assert_eq!(world.listed("held#shop").await, ["event"]);
    let again = world.duplicate(&unsigned("evt_2", "body"), &decision).await;
    assert_eq!(again.outcome, Outcome::Held);
    // Another body, or another kind, is another event.
    world.new_record(&unsigned("evt_3", "other"), &decision).await;
    let mut other = unsigned("evt_4", "body");
    other.kind = "invoice.voided".to_owned();
    world.new_record(&other, &decision).await;
    assert_eq!(world.balance().await, 15);
}

#[tokio::test]
async fn a_signed_id_needs_no_guard_of_the_body() {
    let world = World::with_account().await;
    let decision = apply([rule("credit").update(add("cus_1", 5))]);
    for id in ["evt_1", "evt_2"] {
        let mut event = unsigned(id, "body");
        event.id_signed = true;
        event.guard_body = false;
        world.new_record(&event, &decision).await;
    }
    assert_eq!(world.balance().await, 10);
}

/// An event of a scheme that signs a token and nothing else.
fn with_token(id: &str, body: &str, token: &str) -> Event {
    Event {
        token: Some(token.to_owned()),
        ..unsigned(id, body)
    }
}

#[tokio::test]
async fn a_token_serves_for_one_event_with_one_body() {
    let world = World::with_account().await;
    let decision = apply([rule("credit").update(add("cus_1", 5)).effect("mail")]);
    world.new_record(&with_token("evt_1", "a", "t1"), &decision).await;
    let held = world.new_record(&with_token("evt_2", "b", "t1"), &decision).await;
    assert_eq!((held.outcome, held.wakeups.len()), (Outcome::Held, 0));
    assert!(held.reason.unwrap().contains(&format!(
        "token, which serves once, came before with another event or body ({})",
        pk("evt_1")
    )));
    assert_eq!(world.balance().await, 5);
    // The same once more is a repetition, and another token another event.
    world.duplicate(&with_token("evt_1", "a", "t1"), &decision).await;
    world.duplicate(&with_token("evt_1", "c", "t1"), &decision).await;
    world.new_record(&with_token("evt_3", "d", "t2"), &decision).await;
    assert_eq!(world.balance().await, 10);
}

#[tokio::test]
async fn an_event_that_failed_keeps_its_token_and_its_place_and_is_healed_by_itself_only() {
    let world = World::with_account().await;
    let fails = Decision::Fail("no plan".to_owned());
    let works = apply([rule("credit").update(add("cus_1", 5))]);
    let failed = world.new_record(&with_token("evt_1", "a", "t1"), &fails).await;
    assert_eq!(failed.outcome, Outcome::Failed);
    let other = world.new_record(&with_token("evt_2", "b", "t1"), &works).await;
    assert_eq!(other.outcome, Outcome::Held);
    // The same id with another body neither takes effect nor replaces what failed.
    let changed = world.duplicate(&with_token("evt_1", "c", "t1"), &works).await;
    assert_eq!(changed.outcome, Outcome::Failed);
    assert_eq!(world.balance().await, 0);
    let healed = world.new_record(&with_token("evt_1", "a", "t1"), &works).await;
    assert_eq!((healed.outcome, world.balance().await), (Outcome::Applied, 5));
}

#[tokio::test]
async fn an_event_forgotten_before_its_outbox_is_held_and_sends_nothing_again() {
    let world = World::with_account().await;
    let key = world.outbox("evt_1").await;
    world.claimed(&key, later(1)).await;
    let before = world.stored(&key).await;
    world.delete(&pk("evt_1"), "event").await;
    let decision = apply([rule("r").update(add("cus_1", 5)).effect("mail")]);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!((record.outcome, record.wakeups.len()), (Outcome::Held, 0));
    assert_eq!(world.stored(&key).await, before);
    assert_eq!(world.balance().await, 0);
}

#[tokio::test]
async fn a_taken_once_guard_skips_its_whole_rule_and_commits_the_rest() {
    let world = World::with_account().await;
    world.open_account("cus_2").await;
    world
        .new_record(&event("evt_1"), &apply([rule("x").once("invoice:1")]))
        .await;
    let decision = apply([
        rule("credit")
            .once("invoice:1")
            .newer("sub", 1)
            .update(add("cus_1", 5))
            .effect("mail"),
        rule("rest")
            .once("invoice:2")
            .update(add("cus_2", 7))
            .effect("app"),
    ]);
    let record = world.new_record(&event("evt_2"), &decision).await;
    assert_eq!(record.outcome, Outcome::Applied);
    assert!(record.rules[0].skipped.as_deref().unwrap().contains(&pk("evt_1")));
    assert_eq!(record.rules[1].skipped, None);
    assert_eq!(record.wakeups.len(), 1);
    assert_eq!(record.wakeups[0].destination, "app");
    assert_eq!(world.balance().await, 0);
    assert_eq!(n(&world.account("cus_2").await.unwrap(), "balance"), 7);
    // Two events, two once guards, one effect: nothing of the skipped rule.
    assert_eq!(world.everything().await.len(), 5);
}

#[tokio::test]
async fn an_event_whose_rules_are_all_skipped_is_recorded_as_skipped() {
    let world = World::with_account().await;
    let decision = apply([
        rule("a").once("1").update(add("cus_1", 5)),
        rule("b").newer("sub", 1).effect("mail"),
    ]);
    world.new_record(&event("evt_1"), &decision).await;
    let older = apply([
        rule("a").once("1").update(add("cus_1", 5)),
        rule("b").newer("sub", 0).effect("mail"),
    ]);
    let record = world.new_record(&event("evt_2"), &older).await;
    assert_eq!(record.outcome, Outcome::Skipped);
    assert!(record.rules.iter().all(|rule| rule.skipped.is_some()));
    assert_eq!(s(&world.record("evt_2").await, "outcome"), "skipped");
    assert_eq!(world.balance().await, 5);
}

#[tokio::test]
async fn a_once_guard_with_an_end_is_free_again_after_it() {
    let world = World::with_account().await;
    let mut once = rule("credit").update(add("cus_1", 5));
    once.guards.push(Guard::Once {
        key: "daily".to_owned(),
        lasts: Some(SignedDuration::from_secs(100)),
    });
    let decision = apply([once]);
    let applied = async |id: &str, at| {
        let result = world.commit_at(&event(id), &decision, at).await.unwrap();
        let Committed::New(record) = result else {
            panic!("{result:?}")
        };
        record.outcome == Outcome::Applied
    };
    assert!(applied("evt_1", later(0)).await);
    assert!(!applied("evt_2", later(99)).await);
    assert!(applied("evt_3", later(100)).await);
    assert!(!applied("evt_4", later(199)).await);
    assert_eq!(world.balance().await, 10);
}

#[tokio::test]
async fn a_once_guard_without_an_end_never_expires() {
    let world = World::new().await;
    world
        .new_record(&event("evt_1"), &apply([rule("r").once("a")]))
        .await;
    let guard = world.find("once#a", "once").await.unwrap();
    assert!(!guard.contains_key("expires_at"));
    assert_eq!(s(&guard, "event"), pk("evt_1"));
}

#[tokio::test]
async fn newer_and_equal_orders_apply_and_an_older_one_is_skipped() {
    let world = World::with_account().await;
    let orders = [
        (5, true),
        (5, true),
        (4, false),
        (10, true),
        (9, false),
        (10, true),
    ];
    for (index, (order, applies)) in orders.into_iter().enumerate() {
        let decision = apply([
            rule("state").newer("sub_1", order).update(add("cus_1", 1)),
            rule("rest").effect("mail"),
        ]);
        let record = world.new_record(&event(&format!("evt_{index}")), &decision).await;
        assert_eq!(record.rules[0].skipped.is_none(), applies, "{order}");
        assert_eq!(record.rules[1].skipped, None);
    }
    assert_eq!(world.balance().await, 4);
    let guard = world.find("newer#state#sub_1", "newer").await.unwrap();
    assert_eq!(n(&guard, "highest"), 10);
}

#[tokio::test]
async fn each_rule_and_each_thing_has_an_order_of_its_own() {
    let world = World::with_account().await;
    let one = apply([rule("a").newer("x", 9).update(add("cus_1", 1))]);
    world.new_record(&event("evt_1"), &one).await;
    for (id, name, of) in [("evt_2", "b", "x"), ("evt_3", "a", "y")] {
        let other = apply([rule(name).newer(of, 1).update(add("cus_1", 1))]);
        world.new_record(&event(id), &other).await;
    }
    assert_eq!(world.balance().await, 3);
}

#[tokio::test]
async fn many_guards_are_skipped_in_as_few_tries_as_dynamodb_allows() {
    let world = World::with_account().await;
    let rules = || (0..8).map(|index| rule(&format!("r{index}")).once(&format!("k{index}")));
    world.new_record(&event("evt_1"), &apply(rules())).await;
    world.proxy.reset();
    let record = world.new_record(&event("evt_2"), &apply(rules())).await;
    assert_eq!(record.outcome, Outcome::Skipped);
    let (puts, transactions) = world.writes();
    assert!(puts + transactions <= 9, "{puts} and {transactions}");
}
