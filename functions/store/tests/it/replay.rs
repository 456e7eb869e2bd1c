//! Replays: events that have not taken effect, once more on the way of every other.

use std::time::Duration;

use oncehook_core::{decide::Decision, event::Event, verify::Scheme};
use oncehook_store::{Actor, EventView, Outcome, Replay, Replayed};
use tokio::time::Instant;

use crate::{
    builders::{Build, add, apply, credit, event, nothing, pk, rule, s, unsigned, with_body},
    support::{SPLIT, World, later},
};

fn actor() -> Actor {
    Actor {
        by: "ada@example".to_owned(),
        why: Some("the rule is mended".to_owned()),
    }
}

impl World {
    async fn view(&self, id: &str) -> EventView {
        self.ledger.event_alone(&pk(id)).await.unwrap().unwrap()
    }

    async fn again(&self, stored: &EventView, decision: &Decision, release: bool) -> Replayed {
        let event = stored.event(&stripe()).unwrap();
        let actor = actor();
        let replay = Replay {
            stored,
            event: &event,
            decision,
            keep: self.keep,
            release,
            actor: &actor,
            now: later(100),
            deadline: Instant::now() + Duration::from_secs(5),
        };
        self.ledger.replay(replay).await.unwrap()
    }
}

fn committed(replayed: Replayed) -> Outcome {
    match replayed {
        Replayed::Committed(record) => record.outcome,
        other => panic!("not committed: {other:?}"),
    }
}

async fn failed(world: &World, event: &Event) {
    let broken = Decision::Fail("rule `credit`: nothing at /data".to_owned());
    world.new_record(event, &broken).await;
}

#[tokio::test]
async fn a_failed_event_is_applied_once_its_rule_is_mended_and_never_twice() {
    let world = World::with_account().await;
    failed(&world, &event("evt_1")).await;
    let stored = world.view("evt_1").await;
    let mended = apply([rule("credit").update(add("cus_1", 5)).effect("mail")]);
    let (one, two) = tokio::join!(
        world.again(&stored, &mended, false),
        world.again(&stored, &mended, false)
    );
    let all = [one, two];
    let new = all
        .iter()
        .filter(|one| matches!(one, Replayed::Committed(_)))
        .count();
    assert_eq!(new, 1, "{all:?}");
    assert_eq!(world.balance().await, 5);
    assert!(world.listed("failed#shop").await.is_empty());

    let applied = world.view("evt_1").await;
    assert_eq!(applied.record.outcome, Outcome::Applied);
    assert_eq!(
        applied.record.received_at, stored.record.received_at,
        "when it came does not change"
    );
    assert!(applied.expires_at.is_some());
    let [act] = &applied.acts[..] else {
        panic!("{:?}", applied.acts)
    };
    assert_eq!(
        (act.act.as_str(), act.by.as_str(), act.before.as_str()),
        ("replay", "ada@example", "failed")
    );
    assert!(matches!(
        world.again(&applied, &mended, false).await,
        Replayed::Changed(_)
    ));
    assert!(matches!(
        world.again(&stored, &mended, false).await,
        Replayed::Changed(_)
    ));
    world.duplicate(&event("evt_1"), &mended).await;
    assert_eq!(world.balance().await, 5);
}

#[tokio::test]
async fn a_redelivery_that_was_quicker_leaves_nothing_to_replay() {
    let world = World::with_account().await;
    failed(&world, &event("evt_1")).await;
    let stored = world.view("evt_1").await;
    world.new_record(&event("evt_1"), &credit()).await;
    let replayed = world.again(&stored, &credit(), false).await;
    assert!(matches!(replayed, Replayed::Changed(_)), "{replayed:?}");
    assert_eq!(world.balance().await, 5);
}

#[tokio::test]
async fn an_event_that_fails_again_stays_in_its_list_with_the_new_reason() {
    let world = World::with_account().await;
    failed(&world, &event("evt_1")).await;
    let before = world.listed("failed#shop").await;
    let nobody = apply([rule("credit").update(add("nobody", 5))]);
    for decision in [Decision::Fail("another reason".to_owned()), nobody] {
        let stored = world.view("evt_1").await;
        let Replayed::Stays(why) = world.again(&stored, &decision, false).await else {
            panic!()
        };
        let now = world.view("evt_1").await;
        assert_eq!(
            (now.record.outcome, now.record.reason),
            (Outcome::Failed, Some(why.clone()))
        );
        assert_eq!(now.acts.last().unwrap().detail, Some(why));
        assert!(now.expires_at.is_none());
    }
    assert_eq!(world.listed("failed#shop").await, before);
    assert_eq!(world.view("evt_1").await.acts.len(), 2);
}

#[tokio::test]
async fn an_ignored_event_is_applied_after_a_rule_was_added_and_stays_ignored_if_that_fails() {
    let mut world = World::with_account().await;
    world.keep = SPLIT;
    world.new_record(&event("evt_1"), &nothing()).await;
    let stored = world.view("evt_1").await;
    let nobody = apply([rule("credit").update(add("nobody", 5))]);
    assert!(matches!(
        world.again(&stored, &nobody, false).await,
        Replayed::Stays(_)
    ));
    let now = world.view("evt_1").await;
    assert_eq!(now.record.outcome, Outcome::Ignored);
    assert!(now.expires_at.is_some(), "it is in no list, so it still expires");
    assert_eq!(
        committed(world.again(&now, &credit(), false).await),
        Outcome::Applied
    );
    assert!(matches!(
        world.again(&now, &credit(), false).await,
        Replayed::Changed(_)
    ));
    assert_eq!(world.balance().await, 5);
    assert_eq!(
        world.view("evt_1").await.body.as_deref(),
        Some(&b"{\"id\":\"evt_1\"}"[..])
    );
}

#[tokio::test]
async fn a_held_body_is_applied_only_if_somebody_releases_it() {
    let world = World::with_account().await;
    world.new_record(&unsigned("evt_1", "{\"a\":1}"), &credit()).await;
    let held = world.new_record(&unsigned("evt_2", "{\"a\":1}"), &credit()).await;
    assert_eq!(held.outcome, Outcome::Held);
    let stored = world.view("evt_2").await;
    let Replayed::Stays(why) = world.again(&stored, &credit(), false).await else {
        panic!()
    };
    assert!(why.contains("the same body"), "{why}");
    assert_eq!(world.balance().await, 5);
    let stored = world.view("evt_2").await;
    assert_eq!(stored.record.outcome, Outcome::Held);
    assert_eq!(
        committed(world.again(&stored, &credit(), true).await),
        Outcome::Applied
    );
    assert_eq!(world.balance().await, 10);
    assert!(world.listed("held#shop").await.is_empty());
    let acts: Vec<String> = world
        .view("evt_2")
        .await
        .acts
        .into_iter()
        .map(|act| act.act)
        .collect();
    assert_eq!(acts, ["replay", "release"]);
}

#[tokio::test]
async fn guards_hold_in_a_replay_as_ever() {
    let world = World::with_account().await;
    failed(&world, &event("evt_1")).await;
    let guarded = apply([rule("credit").update(add("cus_1", 5)).once("invoice:1")]);
    world.new_record(&event("evt_2"), &guarded).await;
    let stored = world.view("evt_1").await;
    assert_eq!(
        committed(world.again(&stored, &guarded, false).await),
        Outcome::Skipped
    );
    assert_eq!(world.balance().await, 5);
}

#[tokio::test]
async fn what_was_never_an_event_stays_a_defect() {
    let world = World::new().await;
    let defect = Event {
        defect: Some("no id at /id".to_owned()),
        ..with_body("sha256:00", b"{}".to_vec())
    };
    world
        .new_record(&defect, &Decision::Fail("no id at /id".to_owned()))
        .await;
    let stored = world.view("sha256:00").await;
    assert_eq!(
        stored.event(&stripe()).unwrap().defect.as_deref(),
        Some("no id at /id")
    );
    failed(&world, &event("evt_1")).await;
    let event = world.view("evt_1").await.event(&stripe()).unwrap();
    assert_eq!((event.defect, event.data["id"].as_str()), (None, Some("evt_1")));
}

#[tokio::test]
async fn a_discarded_event_leaves_its_list_and_expires_unapplied() {
    let world = World::with_account().await;
    failed(&world, &event("evt_1")).await;
    let stored = world.view("evt_1").await;
    assert!(
        world
            .ledger
            .dismiss(&stored, world.keep, &actor(), later(5))
            .await
            .unwrap()
    );
    assert!(
        !world
            .ledger
            .dismiss(&stored, world.keep, &actor(), later(6))
            .await
            .unwrap()
    );
    assert!(world.listed("failed#shop").await.is_empty());
    let now = world.view("evt_1").await;
    assert!(now.expires_at.is_some() && !now.listed);
    assert_eq!(now.acts[0].act, "discard");
    assert_eq!(s(&world.record("evt_1").await, "outcome"), "failed");
    // The provider's own redelivery still heals it.
    world.new_record(&event("evt_1"), &credit()).await;
    assert_eq!(world.balance().await, 5);
}

fn stripe() -> Scheme {
    Scheme::from_name("stripe").unwrap()
}
