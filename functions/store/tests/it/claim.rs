//! Claims.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::SignedDuration;
use oncehook_core::plan::EffectBody;
use oncehook_store::{Claim, OutboxKey};

use crate::{
    builders::{n, parts, pk, s},
    settle::{ambiguous, done, retry, throttled},
    support::{LEASE, World, later, now},
};

#[tokio::test]
async fn a_claim_counts_leases_and_returns_the_item() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    world.proxy.reset();
    let (lease, item) = world.claimed(&key, later(1)).await;
    assert_eq!(world.proxy.operations(), ["UpdateItem"]);
    assert_eq!((lease.key, lease.until), (key.clone(), later(1) + LEASE));
    assert!(lease.first_send);
    assert_eq!((item.attempts, item.generation), (1, 0));
    assert_eq!((item.source.as_str(), item.tenant.as_str()), ("shop", "acct_1"));
    assert_eq!((item.rule.as_str(), item.effect.as_str()), ("r", "to-mail"));
    assert_eq!(item.destination, "mail");
    assert_eq!(item.request.body, EffectBody::Text("{}".to_owned()));
    assert_eq!(item.created_at, now());
    assert_eq!(item.give_up_at, now() + SignedDuration::from_hours(72));
    assert_eq!(item.maybe_sent_at, Some(later(1)));
    assert_eq!((item.server_errors, item.last_status), (0, None));
}

#[tokio::test]
async fn a_claim_does_not_touch_the_index() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let before = world.stored(&key).await;
    world.claimed(&key, later(5)).await;
    let after = world.stored(&key).await;
    for name in ["work", "work_at", "state"] {
        assert_eq!(before[name], after[name], "{name}");
    }
}

#[tokio::test]
async fn a_held_item_is_held_elsewhere_until_its_lease_ends() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (first, _) = world.claimed(&key, now()).await;
    let until = now() + LEASE;
    let just_before = until - SignedDuration::from_millis(1);
    let claim = world.ledger.claim(&key, LEASE, just_before).await.unwrap();
    assert_eq!(claim, Claim::HeldElsewhere(until));
    assert_eq!(n(&world.stored(&key).await, "attempts"), 1);
    // A claim that was never settled may have reached the destination: the next one is no first send.
    let (second, item) = world.claimed(&key, until).await;
    assert!(!second.first_send);
    assert_ne!(first, second);
    assert_eq!((item.attempts, item.maybe_sent_at), (2, Some(now())));
}

#[tokio::test]
async fn an_ambiguous_attempt_keeps_the_first_time_of_sending() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, later(1)).await;
    world
        .ledger
        .settle(&lease, &item, &ambiguous(later(30)), later(2))
        .await
        .unwrap();
    let (lease, item) = world.claimed(&key, later(30)).await;
    assert!(!lease.first_send);
    assert_eq!(item.maybe_sent_at, Some(later(1)));
    // An unsent attempt after it does not take back what may have happened.
    world
        .ledger
        .settle(&lease, &item, &throttled(later(60)), later(31))
        .await
        .unwrap();
    let (lease, item) = world.claimed(&key, later(60)).await;
    assert!(!lease.first_send);
    assert_eq!(item.maybe_sent_at, Some(later(1)));
}

#[tokio::test]
async fn an_unsent_attempt_takes_back_the_time_of_sending_that_it_set() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, later(1)).await;
    world
        .ledger
        .settle(&lease, &item, &throttled(later(30)), later(2))
        .await
        .unwrap();
    assert!(!world.stored(&key).await.contains_key("maybe_sent_at"));
    let (lease, item) = world.claimed(&key, later(30)).await;
    assert!(lease.first_send);
    assert_eq!((item.attempts, item.maybe_sent_at), (1, Some(later(30))));
}

#[tokio::test]
async fn an_item_is_not_claimed_before_it_is_due() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, now()).await;
    world
        .ledger
        .settle(&lease, &item, &retry(later(100)), later(1))
        .await
        .unwrap();
    let claim = world.ledger.claim(&key, LEASE, later(99)).await.unwrap();
    assert_eq!(claim, Claim::NotYet(later(100)));
    world.claimed(&key, later(100)).await;
}

#[tokio::test]
async fn a_settled_item_and_a_missing_one_are_told_apart() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, now()).await;
    world.settle(&lease, &item, &done(), later(1)).await;
    let claim = world.ledger.claim(&key, LEASE, later(2)).await.unwrap();
    assert_eq!(claim, Claim::Settled);
    let missing = OutboxKey::from_parts(&pk("evt_9"), "outbox#r#to-mail");
    let claim = world.ledger.claim(&missing, LEASE, now()).await.unwrap();
    assert_eq!(claim, Claim::Gone);
    assert_eq!(world.find(&pk("evt_9"), "outbox#r#to-mail").await, None);
}

#[tokio::test]
async fn an_item_of_a_newer_release_is_left_alone() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let newer = AttributeValue::N("2".to_owned());
    world.alter(&pk("evt_1"), "outbox#r#to-mail", "v", newer).await;
    let before = world.stored(&key).await;
    let claim = world.ledger.claim(&key, LEASE, now()).await.unwrap();
    assert!(matches!(claim, Claim::NotYet(at) if at > now()), "{claim:?}");
    assert_eq!(world.stored(&key).await, before);
}

#[tokio::test]
async fn of_claims_at_once_one_holds_the_item() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let mut ways = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (ledger, key) = (world.ledger.clone(), key.clone());
        ways.spawn(async move { ledger.claim(&key, LEASE, now()).await.unwrap() });
    }
    let claims = ways.join_all().await;
    let held = claims.iter().filter(|claim| matches!(claim, Claim::Held(..)));
    assert_eq!(held.count(), 1);
    let item = world.stored(&key).await;
    assert_eq!((n(&item, "attempts"), s(&item, "state").as_str()), (1, "open"));
}

#[tokio::test]
async fn an_item_that_cannot_be_read_is_parked_for_a_person() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (pk, sk) = parts(&key);
    world
        .alter(&pk, &sk, "request", AttributeValue::S("{".to_owned()))
        .await;
    let claim = world
        .ledger
        .claim(&key, SignedDuration::from_secs(30), now())
        .await
        .unwrap();
    assert_eq!(claim, Claim::Settled);
    assert_eq!(s(&world.stored(&key).await, "state"), "parked");
    assert_eq!(world.listed("parked#mail").await.len(), 1);
    assert!(!world.record("evt_1").await.contains_key("expires_at"));
}
