//! The same event at the same time.

use std::{sync::Arc, time::Duration};

use oncehook_store::{Commit, Committed};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    builders::{Build, add, apply, event, rule, unsigned},
    support::{KEEP, World, now},
};

const WAYS: usize = 8;
const ROUNDS: i64 = 25;

#[tokio::test]
async fn eight_deliveries_at_once_are_one_new_and_seven_duplicates() {
    let world = World::with_account().await;
    for round in 0..ROUNDS {
        let rule = rule("credit")
            .update(add("cus_1", 5))
            .once(&round.to_string())
            .effect("mail");
        let decision = Arc::new(apply([rule]));
        let event = Arc::new(unsigned(&format!("evt_{round}"), &round.to_string()));
        let mut ways = JoinSet::new();
        for _ in 0..WAYS {
            let (ledger, event) = (world.ledger.clone(), Arc::clone(&event));
            let decision = Arc::clone(&decision);
            ways.spawn(async move {
                let commit = Commit {
                    event: &event,
                    decision: &decision,
                    keep: KEEP,
                    now: now(),
                    deadline: Instant::now() + Duration::from_secs(20),
                };
                ledger.commit(commit).await.unwrap()
            });
        }
        let (mut new, mut duplicates) = (Vec::new(), Vec::new());
        for committed in ways.join_all().await {
            match committed {
                Committed::New(record) => new.push(record),
                Committed::Duplicate(record) => duplicates.push(record),
            }
        }
        assert_eq!((new.len(), duplicates.len()), (1, WAYS - 1));
        assert_eq!(new[0].wakeups.len(), 1);
        new[0].wakeups.clear();
        assert!(duplicates.iter().all(|record| *record == new[0]));
        assert_eq!(world.balance().await, 5 * (round + 1));
    }
}

#[tokio::test]
async fn eight_events_of_one_operation_at_once_apply_it_once() {
    let world = World::with_account().await;
    let mut ways = JoinSet::new();
    for way in 0..WAYS {
        let ledger = world.ledger.clone();
        ways.spawn(async move {
            let decision = apply([rule("credit").update(add("cus_1", 5)).once("invoice:1")]);
            let commit = Commit {
                event: &event(&format!("evt_{way}")),
                decision: &decision,
                keep: KEEP,
                now: now(),
                deadline: Instant::now() + Duration::from_secs(20),
            };
            ledger.commit(commit).await.unwrap()
        });
    }
    let all = ways.join_all().await;
    assert!(all.iter().all(|committed| matches!(committed, Committed::New(_))));
    assert_eq!(world.balance().await, 5);
}
