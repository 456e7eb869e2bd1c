//! Settlements.

use jiff::{SignedDuration, Timestamp};
use oncehook_core::settle::{Settled, Settlement};
use oncehook_local::faults::{Fault, Reason};
use oncehook_store::{Claim, Settling, StoreError};

use crate::{
    builders::{n, pk, s},
    support::{DAY, LEASE, SPLIT, World, later, now},
};

pub(crate) fn settled(settlement: Settlement) -> Settled {
    Settled {
        settlement,
        unsent: false,
        counted: true,
        extend: SignedDuration::ZERO,
        pause: None,
        server_errors: 0,
        last_status: None,
        error: None,
    }
}

pub(crate) fn done() -> Settled {
    settled(Settlement::Done)
}

pub(crate) fn retry(at: Timestamp) -> Settled {
    settled(Settlement::RetryAt(at))
}

pub(crate) fn parked() -> Settled {
    Settled {
        error: Some("timed out".to_owned()),
        ..settled(Settlement::Parked("may have acted".to_owned()))
    }
}

pub(crate) fn dead() -> Settled {
    settled(Settlement::Dead("refused: 422".to_owned()))
}

pub(crate) fn ambiguous(at: Timestamp) -> Settled {
    Settled {
        server_errors: 2,
        last_status: Some(502),
        error: Some("502".to_owned()),
        ..retry(at)
    }
}

pub(crate) fn throttled(at: Timestamp) -> Settled {
    Settled {
        unsent: true,
        counted: false,
        extend: SignedDuration::from_secs(30),
        ..retry(at)
    }
}

#[tokio::test]
async fn a_delivery_is_done_and_leaves_the_index() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, now()).await;
    world.proxy.reset();
    let settling = world.settle(&lease, &item, &done(), later(1)).await;
    assert_eq!(settling, Settling::Written);
    assert_eq!(world.proxy.operations(), ["UpdateItem"]);
    let item = world.stored(&key).await;
    assert_eq!(s(&item, "state"), "done");
    for gone in ["work", "work_at", "lease_id", "lease_until"] {
        assert!(!item.contains_key(gone), "{gone}");
    }
}

#[tokio::test]
async fn a_retry_moves_the_item_in_the_index_and_keeps_what_happened() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, now()).await;
    let given = ambiguous(later(60));
    world.settle(&lease, &item, &given, later(1)).await;
    let stored = world.stored(&key).await;
    assert_eq!(n(&stored, "work_at"), later(60).as_millisecond());
    assert_eq!(s(&stored, "last_error"), "502");
    let (lease, item) = world.claimed(&key, later(60)).await;
    assert_eq!(
        (item.attempts, item.server_errors, item.last_status),
        (2, 2, Some(502))
    );
    // The next answer of another kind ends the row of server errors.
    world
        .ledger
        .settle(&lease, &item, &retry(later(90)), later(61))
        .await
        .unwrap();
    let (_, item) = world.claimed(&key, later(90)).await;
    assert_eq!((item.server_errors, item.last_status), (0, None));
}

#[tokio::test]
async fn waiting_that_the_destination_asked_for_counts_neither_as_attempt_nor_as_time() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, now()).await;
    world
        .ledger
        .settle(&lease, &item, &throttled(later(30)), later(1))
        .await
        .unwrap();
    let stored = world.stored(&key).await;
    assert_eq!(n(&stored, "attempts"), 0);
    let give_up_at = now() + SignedDuration::from_hours(72) + SignedDuration::from_secs(30);
    assert_eq!(n(&stored, "give_up_at"), give_up_at.as_millisecond());
}

#[tokio::test]
async fn what_a_person_must_see_stands_on_its_list_with_its_reason() {
    let world = World::new().await;
    for (id, given, list, why) in [
        ("evt_1", parked(), "parked", "may have acted"),
        ("evt_2", dead(), "dead", "refused: 422"),
    ] {
        let key = world.outbox(id).await;
        let (lease, item) = world.claimed(&key, now()).await;
        let settling = world.settle(&lease, &item, &given, later(7)).await;
        assert_eq!(settling, Settling::Written);
        let stored = world.stored(&key).await;
        assert_eq!(s(&stored, "state"), list);
        assert_eq!(s(&stored, "reason"), why);
        assert_eq!(n(&stored, "work_at"), later(7).as_millisecond());
        assert_eq!(world.listed(&format!("{list}#mail")).await, ["outbox#r#to-mail"]);
        let claim = world.ledger.claim(&key, LEASE, later(100)).await.unwrap();
        assert_eq!(claim, Claim::Settled);
    }
}

#[tokio::test]
async fn under_a_lost_lease_nothing_is_written_but_a_delivery() {
    for given in [retry(later(90)), parked(), dead(), throttled(later(90))] {
        let world = World::new().await;
        let key = world.outbox("evt_1").await;
        let (lost, item) = world.claimed(&key, now()).await;
        let (holding, _) = world.claimed(&key, later(20)).await;
        let before = world.everything().await.len();
        let stored = world.stored(&key).await;
        let record = world.record("evt_1").await;
        let settling = world.settle(&lost, &item, &given, later(21)).await;
        assert_eq!(settling, Settling::LeaseLost);
        assert_eq!(world.stored(&key).await, stored);
        assert_eq!(world.record("evt_1").await, record);
        assert_eq!(world.everything().await.len(), before);

        let settling = world.settle(&lost, &item, &done(), later(22)).await;
        assert_eq!(settling, Settling::Written);
        assert_eq!(s(&world.stored(&key).await, "state"), "done");
        let settling = world.settle(&holding, &item, &given, later(23)).await;
        assert_eq!(settling, Settling::LeaseLost);
        assert_eq!(s(&world.stored(&key).await, "state"), "done");
    }
}

#[tokio::test]
async fn a_delivery_is_recorded_even_when_another_parked_the_item() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lost, item) = world.claimed(&key, now()).await;
    let (holding, held) = world.claimed(&key, later(20)).await;
    world.settle(&holding, &held, &parked(), later(21)).await;
    let settling = world.settle(&lost, &item, &done(), later(22)).await;
    assert_eq!(settling, Settling::Written);
    let stored = world.stored(&key).await;
    assert_eq!(s(&stored, "state"), "done");
    assert!(!stored.contains_key("reason"));
    assert!(world.listed("parked#mail").await.is_empty());
    // A second time there is nothing left to record.
    let settling = world.settle(&lost, &item, &done(), later(23)).await;
    assert_eq!(settling, Settling::LeaseLost);
}

#[tokio::test]
async fn a_delivery_under_an_older_generation_is_not_recorded() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, now()).await;
    let next = aws_sdk_dynamodb::types::AttributeValue::N("1".to_owned());
    world
        .alter(&pk("evt_1"), "outbox#r#to-mail", "generation", next)
        .await;
    let settling = world.settle(&lease, &item, &done(), later(1)).await;
    assert_eq!(settling, Settling::LeaseLost);
}

#[tokio::test]
async fn parking_and_giving_up_take_the_expiry_off_the_event_and_its_body() {
    for (keep, given) in [
        (crate::support::KEEP, parked()),
        (SPLIT, parked()),
        (SPLIT, dead()),
    ] {
        let mut world = World::new().await;
        world.keep = keep;
        let key = world.outbox("evt_1").await;
        let (lease, item) = world.claimed(&key, now()).await;
        world.settle(&lease, &item, &given, later(1)).await;
        let everything = world.everything().await;
        assert_eq!(everything.len(), if keep == SPLIT { 3 } else { 2 });
        for item in everything {
            assert!(!item.contains_key("expires_at"), "{item:?}");
        }
    }
}

#[tokio::test]
async fn parking_works_when_the_body_or_the_event_are_gone_and_makes_neither() {
    for gone in [&["body"][..], &["body", "event"]] {
        let mut world = World::new().await;
        world.keep = SPLIT;
        let key = world.outbox("evt_1").await;
        let (lease, item) = world.claimed(&key, now()).await;
        for sk in gone {
            world.delete(&pk("evt_1"), sk).await;
        }
        let settling = world.settle(&lease, &item, &parked(), later(1)).await;
        assert_eq!(settling, Settling::Written);
        assert_eq!(s(&world.stored(&key).await, "state"), "parked");
        assert_eq!(world.everything().await.len(), 3 - gone.len());
    }
}

#[tokio::test]
async fn a_database_that_stays_busy_is_told_as_busy() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, now()).await;
    for _ in 0..10 {
        world.proxy.fault("UpdateItem", Fault::throttling());
        let conflict = [Reason::none(), Reason::conflict()];
        world
            .proxy
            .fault("TransactWriteItems", Fault::canceled(&conflict));
    }
    for given in [retry(later(9) + DAY), parked()] {
        let result = world.ledger.settle(&lease, &item, &given, later(1)).await;
        assert!(matches!(result, Err(StoreError::Busy { .. })), "{result:?}");
    }
    assert_eq!(s(&world.stored(&key).await, "state"), "open");
}
