//! Parking by a person: after a restore, nothing is sent that the table does not know to have been sent.

use jiff::SignedDuration;
use oncehook_core::outbox::OutboxState;
use oncehook_store::{Acting, Actor, Claim, OutboxKey, StoredItem};

use crate::{
    builders::{n, pk, s},
    settle::done,
    support::{LEASE, SPLIT, World, later, now},
};

fn actor() -> Actor {
    Actor {
        by: "ada@example".to_owned(),
        why: Some("restored".to_owned()),
    }
}

async fn read(world: &World, key: &OutboxKey) -> StoredItem {
    world.ledger.item(key).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_parked_item_is_not_claimed_and_counts_as_sent_since_it_was_made() {
    let mut world = World::new().await;
    world.keep = SPLIT;
    let key = world.outbox("evt_1").await;
    let open = read(&world, &key).await;
    assert_eq!(open.item().unwrap().maybe_sent_at, None);
    let acting = world.ledger.park(&open, &actor(), later(60)).await;
    assert_eq!(acting.unwrap(), Acting::Written);

    let item = world.stored(&key).await;
    assert_eq!(
        (s(&item, "state").as_str(), n(&item, "work_at")),
        ("parked", later(60).as_millisecond())
    );
    assert_eq!(world.listed("parked#mail").await.len(), 1);
    let parked = read(&world, &key).await;
    assert_eq!(parked.reason.as_deref(), Some("parked by ada@example: restored"));
    let view = parked.view.as_ref().unwrap();
    assert_eq!(
        view.item.maybe_sent_at,
        Some(view.item.created_at),
        "nobody knows when, so as early as can be"
    );
    assert_eq!(
        (view.acts[0].act.as_str(), view.acts[0].before.as_str()),
        ("park", "open")
    );
    for gone in ["event", "body"] {
        let item = world.find(&pk("evt_1"), gone).await.unwrap();
        assert!(!item.contains_key("expires_at"), "{gone} waits for the person");
    }
    let claim = world.ledger.claim(&key, LEASE, later(61)).await.unwrap();
    assert!(matches!(claim, Claim::Settled), "{claim:?}");

    // A person finds out that it did not happen: the same key, and not taken for a first send.
    let retried = world
        .ledger
        .retry(&parked, later(90_000), &actor(), later(70))
        .await;
    assert_eq!(retried.unwrap(), Acting::Written);
    let (lease, item) = world.claimed(&key, later(71)).await;
    assert!(!lease.first_send);
    assert_eq!(item.idempotency_key, open.item().unwrap().idempotency_key);
    world.settle(&lease, &item, &done(), later(72)).await;
    let event = world.find(&pk("evt_1"), "event").await.unwrap();
    assert!(
        event.contains_key("expires_at"),
        "the last item done lets the event go"
    );
}

#[tokio::test]
async fn a_known_time_of_sending_stays_and_a_running_attempt_is_left_alone() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    world.claimed(&key, later(5)).await;
    let held = read(&world, &key).await;
    let acting = world.ledger.park(&held, &actor(), later(6)).await;
    assert_eq!(acting.unwrap(), Acting::Changed);
    let over = later(5) + LEASE + SignedDuration::from_secs(1);
    let acting = world.ledger.park(&held, &actor(), over).await;
    assert_eq!(acting.unwrap(), Acting::Written);
    let parked = read(&world, &key).await;
    assert_eq!(parked.state, Some(OutboxState::Parked));
    assert_eq!(parked.item().unwrap().maybe_sent_at, Some(later(5)));
    assert!(parked.item().unwrap().created_at == now());
}
