//! What people do to outbox items: one conditional write each.

use std::time::Duration;

use jiff::SignedDuration;
use oncehook_core::outbox::{KeyShape, OutboxState};
use oncehook_local::faults::Fault;
use oncehook_store::{Acting, Actor, Claim, Fresh, OutboxKey, Settling, StoredItem};

use crate::{
    builders::{n, pk, s},
    settle::{ambiguous, dead, done, parked},
    support::{DAY, LEASE, SPLIT, World, later, now},
};

fn actor() -> Actor {
    Actor {
        by: "ada@example".to_owned(),
        why: Some("the API was down".to_owned()),
    }
}

fn fresh(hours: i64) -> Fresh {
    Fresh {
        shape: KeyShape::DEFAULT,
        request: None,
        give_up_at: now() + SignedDuration::from_hours(hours),
    }
}

/// `evt_1` with one effect that was sent and then parked.
async fn with_parked() -> (World, OutboxKey) {
    let mut world = World::new().await;
    world.keep = SPLIT;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, now()).await;
    world.settle(&lease, &item, &parked(), later(1)).await;
    (world, key)
}

async fn read(world: &World, key: &OutboxKey) -> StoredItem {
    world.ledger.item(key).await.unwrap().unwrap()
}

async fn expires(world: &World, sk: &str) -> Option<i64> {
    let item = world.find(&pk("evt_1"), sk).await.unwrap();
    item.contains_key("expires_at").then(|| n(&item, "expires_at"))
}

#[tokio::test]
async fn a_retry_opens_an_item_under_the_same_key_and_says_who_did_it_and_why() {
    let (world, key) = with_parked().await;
    let before = read(&world, &key).await;
    let give_up = later(90_000);
    let acting = world.ledger.retry(&before, give_up, &actor(), later(10)).await;
    assert_eq!(acting.unwrap(), Acting::Written);
    let item = world.stored(&key).await;
    assert_eq!(s(&item, "state"), "open");
    assert_eq!(n(&item, "work_at"), later(10).as_millisecond());
    assert_eq!(n(&item, "give_up_at"), give_up.as_millisecond());
    assert!(world.listed("parked#mail").await.is_empty());
    assert!(s(&item, "work").starts_with("open#mail#"));
    for gone in ["reason", "lease_id", "lease_until", "expires_at"] {
        assert!(!item.contains_key(gone), "{gone}");
    }
    let view = read(&world, &key).await.view.unwrap();
    assert_eq!(view.item.idempotency_key, before.item().unwrap().idempotency_key);
    assert_eq!(view.item.maybe_sent_at, before.item().unwrap().maybe_sent_at);
    assert!(
        view.item.maybe_sent_at.is_some(),
        "the window is still that of the first attempt"
    );
    let [act] = &view.acts[..] else {
        panic!("{:?}", view.acts)
    };
    assert_eq!(
        (act.act.as_str(), act.by.as_str(), act.before.as_str()),
        ("retry", "ada@example", "parked")
    );
    assert_eq!(
        (act.at, act.why.as_deref()),
        (Some(later(10)), Some("the API was down"))
    );
    assert!(act.detail.as_ref().unwrap().contains("may have acted"), "{act:?}");
    // The next attempt is not taken for the first that may act.
    let (lease, item) = world.claimed(&key, later(11)).await;
    assert!(!lease.first_send);
    assert_eq!(item.attempts, 1);
    world.settle(&lease, &item, &done(), later(12)).await;
    assert!(
        expires(&world, "event").await.is_some(),
        "the last item done lets the event go"
    );
}

#[tokio::test]
async fn of_two_people_at_once_one_acts() {
    let (world, key) = with_parked().await;
    let seen = read(&world, &key).await;
    let (ledger, first, second) = (
        &world.ledger,
        actor(),
        Actor {
            by: "bob@example".to_owned(),
            why: None,
        },
    );
    let (again, give_up) = (fresh(72), later(90_000));
    let (one, two, three) = tokio::join!(
        ledger.retry(&seen, give_up, &first, later(10)),
        ledger.resend(&seen, &again, &second, later(10)),
        ledger.discard(&seen, &second, later(10)),
    );
    let all = [one.unwrap(), two.unwrap(), three.unwrap()];
    assert_eq!(
        all.iter().filter(|acting| **acting == Acting::Written).count(),
        1,
        "{all:?}"
    );
    assert_eq!(read(&world, &key).await.view.unwrap().acts.len(), 1);
    // Two retries: the second finds the item as it was not.
    let (world, key) = with_parked().await;
    let seen = read(&world, &key).await;
    let ledger = &world.ledger;
    let (one, two) = tokio::join!(
        ledger.retry(&seen, give_up, &first, later(10)),
        ledger.retry(&seen, give_up, &second, later(10)),
    );
    let mut all = [one.unwrap(), two.unwrap()];
    all.sort_by_key(|acting| *acting == Acting::Changed);
    assert_eq!(all, [Acting::Written, Acting::Changed]);
}

#[tokio::test]
async fn an_act_on_a_running_lease_writes_nothing() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    world.claimed(&key, now()).await;
    let held = read(&world, &key).await;
    assert_eq!(held.lease_until, Some(now() + LEASE));
    let before = world.stored(&key).await;
    let ledger = &world.ledger;
    for acting in [
        ledger.retry(&held, later(90_000), &actor(), later(5)).await,
        ledger.resend(&held, &fresh(72), &actor(), later(5)).await,
        ledger.discard(&held, &actor(), later(5)).await,
    ] {
        assert_eq!(acting.unwrap(), Acting::Changed);
    }
    assert_eq!(world.stored(&key).await, before);
    // Nor does one that was decided before somebody claimed the item, and settled it again.
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let seen = read(&world, &key).await;
    let (lease, item) = world.claimed(&key, now()).await;
    world.settle(&lease, &item, &ambiguous(now()), now()).await;
    let acting = world.ledger.retry(&seen, later(90_000), &actor(), later(5)).await;
    assert_eq!(acting.unwrap(), Acting::Changed);
}

#[tokio::test]
async fn a_resend_has_a_new_key_and_no_earlier_answer_settles_it() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    // One attempt whose lease was lost and whose answer is still to come, then a second that was parked.
    let (lost, first) = world.claimed(&key, now()).await;
    let (lease, item) = world.claimed(&key, later(30)).await;
    world.settle(&lease, &item, &parked(), later(31)).await;
    let seen = read(&world, &key).await;
    let acting = world.ledger.resend(&seen, &fresh(72), &actor(), later(40)).await;
    assert_eq!(acting.unwrap(), Acting::Written);
    let view = read(&world, &key).await.view.unwrap();
    assert_eq!(
        (view.state.as_str(), view.item.generation, view.item.attempts),
        ("open", 1, 0)
    );
    assert_ne!(view.item.idempotency_key, first.idempotency_key);
    assert_eq!(view.item.maybe_sent_at, None, "the new key was never sent");
    assert_eq!(
        view.item.request, first.request,
        "the stored request unless another is given"
    );
    assert!(
        view.acts[0]
            .detail
            .as_ref()
            .unwrap()
            .contains(&first.idempotency_key)
    );

    for late in [done(), dead(), ambiguous(later(99))] {
        let settling = world.settle(&lost, &first, &late, later(41)).await;
        assert_eq!(settling, Settling::LeaseLost, "{late:?}");
    }
    assert_eq!(read(&world, &key).await.state, Some(OutboxState::Open));
    let (lease, item) = world.claimed(&key, later(42)).await;
    assert!(lease.first_send);
    assert_eq!(
        world.settle(&lease, &item, &done(), later(43)).await,
        Settling::Written
    );
}

#[tokio::test]
async fn an_answer_that_comes_after_a_retry_counts_since_the_key_is_the_same() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lost, first) = world.claimed(&key, now()).await;
    let seen = read(&world, &key).await;
    let acting = world
        .ledger
        .retry(&seen, later(90_000), &actor(), later(30))
        .await;
    assert_eq!(acting.unwrap(), Acting::Written, "the lease is over");
    assert_eq!(
        world.settle(&lost, &first, &parked(), later(31)).await,
        Settling::LeaseLost
    );
    assert_eq!(
        world.settle(&lost, &first, &done(), later(32)).await,
        Settling::Written
    );
    assert_eq!(
        world.ledger.claim(&key, LEASE, later(33)).await.unwrap(),
        Claim::Settled
    );
}

#[tokio::test]
async fn a_delivered_item_that_is_sent_once_more_keeps_its_event_until_it_is_done_again() {
    let world = World::new().await;
    let key = world.outbox("evt_1").await;
    let (lease, item) = world.claimed(&key, now()).await;
    world.settle(&lease, &item, &done(), later(1)).await;
    assert!(expires(&world, "event").await.is_some());
    let seen = read(&world, &key).await;
    world
        .ledger
        .resend(&seen, &fresh(72), &actor(), later(2))
        .await
        .unwrap();
    assert_eq!(expires(&world, "event").await, None);
    assert!(!world.stored(&key).await.contains_key("expires_at"));
    let (lease, item) = world.claimed(&key, later(3)).await;
    world.settle(&lease, &item, &done(), later(4)).await;
    assert!(expires(&world, "event").await.is_some());
}

#[tokio::test]
async fn what_is_discarded_leaves_its_list_and_lets_its_event_expire() {
    let (world, key) = with_parked().await;
    assert_eq!(
        (expires(&world, "event").await, expires(&world, "body").await),
        (None, None)
    );
    let seen = read(&world, &key).await;
    let acting = world.ledger.discard(&seen, &actor(), later(10)).await;
    assert_eq!(acting.unwrap(), Acting::Written);
    let item = world.stored(&key).await;
    assert_eq!(s(&item, "state"), "discarded");
    assert!(world.listed("parked#mail").await.is_empty());
    assert!(!item.contains_key("work"));
    let record = (now() + SPLIT.keys_for).as_second();
    let body = (now() + SPLIT.retention).as_second();
    assert_eq!(n(&item, "expires_at"), record);
    assert_eq!(
        (expires(&world, "event").await, expires(&world, "body").await),
        (Some(record), Some(body))
    );
    assert_eq!(
        world.ledger.claim(&key, LEASE, later(11)).await.unwrap(),
        Claim::Settled
    );
    // Long after, both are left for a day, for people who look.
    let (world, key) = with_parked().await;
    let late = now() + DAY * 500;
    world
        .ledger
        .discard(&read(&world, &key).await, &actor(), late)
        .await
        .unwrap();
    let at = Some((late + DAY).as_second());
    assert_eq!(
        (expires(&world, "event").await, expires(&world, "body").await),
        (at, at)
    );
}

#[tokio::test]
async fn an_item_that_cannot_be_read_can_be_discarded_and_nothing_else() {
    let (world, key) = with_parked().await;
    let broken = aws_sdk_dynamodb::types::AttributeValue::S("{".to_owned());
    world
        .alter(&pk("evt_1"), "outbox#r#to-mail", "request", broken)
        .await;
    let seen = read(&world, &key).await;
    assert!(seen.view.is_none());
    assert_eq!(seen.state, Some(OutboxState::Parked));
    assert!(
        world
            .ledger
            .resend(&seen, &fresh(72), &actor(), later(9))
            .await
            .is_err()
    );
    let acting = world.ledger.discard(&seen, &actor(), later(10)).await;
    assert_eq!(acting.unwrap(), Acting::Written);
    assert!(expires(&world, "event").await.is_some());
}

#[tokio::test]
async fn an_act_whose_answer_was_lost_is_known_as_ones_own() {
    let (world, key) = with_parked().await;
    let seen = read(&world, &key).await;
    world.proxy.fault("TransactWriteItems", Fault::LoseAnswer);
    let acting = world
        .ledger
        .retry(&seen, later(90_000), &actor(), later(10))
        .await;
    assert_eq!(acting.unwrap(), Acting::Written);
    let seen = read(&world, &key).await;
    world.proxy.fault("UpdateItem", Fault::LoseAnswer);
    let acting = world.ledger.discard(&seen, &actor(), later(11)).await;
    assert_eq!(acting.unwrap(), Acting::Written);
    assert_eq!(read(&world, &key).await.view.unwrap().acts.len(), 2);
}

#[tokio::test]
async fn an_item_of_a_newer_release_is_left_alone() {
    let (world, key) = with_parked().await;
    let newer = aws_sdk_dynamodb::types::AttributeValue::N("99".to_owned());
    world.alter(&pk("evt_1"), "outbox#r#to-mail", "v", newer).await;
    let seen = read(&world, &key).await;
    let acting = world
        .ledger
        .retry(&seen, later(90_000), &actor(), later(10))
        .await;
    assert_eq!(acting.unwrap(), Acting::Changed);
}

#[tokio::test]
async fn an_item_reopened_while_its_event_is_let_go_keeps_it() {
    let (world, key) = with_parked().await;
    let seen = read(&world, &key).await;
    world
        .ledger
        .retry(&seen, later(90_000), &actor(), later(2))
        .await
        .unwrap();
    let (lease, item) = world.claimed(&key, later(3)).await;
    // The settlement goes through; giving the event its expiry back takes its time.
    world.proxy.fault("UpdateItem", Fault::Delay(Duration::ZERO));
    for _ in 0..2 {
        world
            .proxy
            .fault("UpdateItem", Fault::Delay(Duration::from_millis(1500)));
    }
    let reopen = async {
        while read(&world, &key).await.state != Some(OutboxState::Done) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let seen = read(&world, &key).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        world
            .ledger
            .resend(&seen, &fresh(72), &actor(), later(5))
            .await
            .unwrap()
    };
    let given = done();
    let (settling, acting) = tokio::join!(world.settle(&lease, &item, &given, later(4)), reopen);
    assert_eq!((settling, acting), (Settling::Written, Acting::Written));
    assert_eq!(
        (expires(&world, "event").await, expires(&world, "body").await),
        (None, None)
    );
}
