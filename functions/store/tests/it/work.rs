//! What is due, and the state of destinations.

use std::collections::BTreeMap;

use oncehook_core::settle::Pause;
use oncehook_store::Due;

use crate::{
    builders::{Build, apply, event, rule},
    settle::{done, retry},
    support::{World, later, now},
};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn known(known: &[(&str, u32)]) -> BTreeMap<String, u32> {
    known
        .iter()
        .map(|(name, shards)| ((*name).to_owned(), *shards))
        .collect()
}

#[tokio::test]
async fn due_items_are_spread_over_shards_and_come_oldest_first() {
    let world = World::new().await;
    for index in 0..40 {
        let decision = apply([rule("r").effect("mail").effect("app")]);
        let at = later(i64::from(index));
        world
            .commit_at(&event(&format!("evt_{index}")), &decision, at)
            .await
            .unwrap();
    }
    let mut found = Vec::new();
    for shard in 0..4 {
        let due = world.ledger.due("mail", shard, later(100), 100).await.unwrap();
        assert!(!due.is_empty(), "shard {shard} is empty");
        let mut times = Vec::new();
        for Due { wakeup, since } in &due {
            assert_eq!(wakeup.destination, "mail");
            let at = crate::builders::n(&world.stored(&wakeup.key).await, "work_at");
            assert_eq!(at, since.as_millisecond());
            times.push(at);
        }
        assert!(times.is_sorted(), "{times:?}");
        let few = world.ledger.due("mail", shard, later(100), 2).await.unwrap();
        assert_eq!(few, due[..2.min(due.len())]);
        found.extend(due.into_iter().map(|due| due.wakeup.key));
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 40);
    assert!(
        world
            .ledger
            .due("mail", 4, later(100), 100)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn only_open_items_that_were_due_before_then_are_due() {
    let world = World::new().await;
    let due = async |before| {
        let mut keys = Vec::new();
        for shard in 0..4 {
            let found = world.ledger.due("mail", shard, before, 10).await.unwrap();
            keys.extend(found.into_iter().map(|due| due.wakeup.key));
        }
        keys
    };
    let key = world.outbox("evt_1").await;
    assert!(due(later(-1)).await.is_empty());
    assert_eq!(due(now()).await, std::slice::from_ref(&key));
    let (lease, item) = world.claimed(&key, now()).await;
    assert_eq!(due(now()).await, std::slice::from_ref(&key));
    world
        .ledger
        .settle(&lease, &item, &retry(later(50)), later(1))
        .await
        .unwrap();
    assert!(due(later(49)).await.is_empty());
    assert_eq!(due(later(50)).await, std::slice::from_ref(&key));
    let (lease, item) = world.claimed(&key, later(50)).await;
    world.settle(&lease, &item, &done(), later(51)).await;
    assert!(due(later(1000)).await.is_empty());
}

#[tokio::test]
async fn registered_names_stay_and_shards_only_grow() {
    let world = World::new().await;
    let register = async |list: &[&str], shards| world.ledger.register(&names(list), shards).await.unwrap();
    assert_eq!(register(&["a"], 4).await, known(&[("a", 4)]));
    assert_eq!(register(&["b"], 8).await, known(&[("a", 4), ("b", 8)]));
    assert_eq!(register(&["a", "b"], 2).await, known(&[("a", 4), ("b", 8)]));
    assert_eq!(register(&[], 1).await, known(&[("a", 4), ("b", 8)]));
    assert_eq!(register(&["a"], 16).await, known(&[("a", 16), ("b", 8)]));
}

#[tokio::test]
async fn registering_what_is_known_writes_nothing() {
    let world = World::new().await;
    world.ledger.register(&names(&["a"]), 4).await.unwrap();
    world.proxy.reset();
    world.ledger.register(&names(&["a"]), 4).await.unwrap();
    assert_eq!(world.proxy.operations(), ["GetItem"]);
}

#[tokio::test]
async fn registering_at_once_loses_no_name_for_longer_than_a_round() {
    let world = World::new().await;
    let mut ways = tokio::task::JoinSet::new();
    for way in 0..8_u32 {
        let ledger = world.ledger.clone();
        ways.spawn(async move { ledger.register(&[format!("d{way}")], way + 1).await.unwrap() });
    }
    let all = ways.join_all().await;
    for way in 0..8_u32 {
        let own = format!("d{way}");
        assert!(all.iter().any(|known| known.get(&own) == Some(&(way + 1))));
        world.ledger.register(&[own], way + 1).await.unwrap();
    }
    assert_eq!(world.ledger.register(&[], 1).await.unwrap().len(), 8);
}

#[tokio::test]
async fn a_pause_is_never_shortened() {
    let world = World::new().await;
    let pause = |until| Pause {
        until: later(until),
        probe_from: later(until / 2),
    };
    assert_eq!(world.ledger.paused("mail").await.unwrap(), None);
    for (until, paused) in [(60, 60), (30, 60), (60, 60), (90, 90)] {
        world.ledger.pause("mail", pause(until)).await.unwrap();
        let found = world.ledger.paused("mail").await.unwrap();
        assert_eq!(found, Some(pause(paused)));
    }
    assert_eq!(world.ledger.paused("app").await.unwrap(), None);
    world.ledger.resume("mail", pause(89)).await.unwrap();
    assert_eq!(
        world.ledger.paused("mail").await.unwrap(),
        Some(pause(90)),
        "a longer one has begun"
    );
    world.ledger.resume("mail", pause(90)).await.unwrap();
    assert_eq!(world.ledger.paused("mail").await.unwrap(), None);
}

#[tokio::test]
async fn what_is_due_is_read_in_pages() {
    let world = World::new().await;
    let decision = apply((0..80).map(|number| rule(&format!("r{number}")).effect("mail")));
    for number in 0..7 {
        world
            .new_record(&event(&format!("evt_{number}")), &decision)
            .await;
    }
    let mut found = 0;
    for shard in 0..4 {
        found += world
            .ledger
            .due("mail", shard, later(1), 500)
            .await
            .unwrap()
            .len();
    }
    assert_eq!(found, 560);
    let some = world.ledger.due("mail", 0, later(1), 110).await.unwrap();
    assert_eq!(some.len(), 110);
}
