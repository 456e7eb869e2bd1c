//! Conflicts and throttling: the same plan again inside the budget, then busy.

use std::time::{Duration, Instant};

use oncehook_local::faults::{Fault, Reason};
use oncehook_store::{CommitError, Outcome};
use serde_json::json;

use crate::{
    builders::{credit, event, nothing},
    support::World,
};

/// A cancelled transaction as DynamoDB might tell it, but without reasons.
fn without_reasons() -> Fault {
    Fault::Answer {
        status: 400,
        body: json!({
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            "Message": "Transaction cancelled",
        }),
    }
}

#[tokio::test]
async fn every_kind_of_busy_transaction_is_tried_again() {
    let world = World::with_account().await;
    let none = Reason::none;
    let faults = [
        Fault::throttling(),
        Fault::throughput_exceeded(),
        Fault::transaction_conflict(),
        Fault::transaction_in_progress(),
        Fault::internal_error(),
        Fault::error("RequestLimitExceeded", "too many"),
        Fault::canceled(&[none(), Reason::conflict()]),
        Fault::canceled(&[Reason::conflict(), none()]),
        Fault::canceled(&[Reason::throttled(), none()]),
        Fault::canceled(&[none(), Reason::of("ProvisionedThroughputExceeded", "too much")]),
        Fault::canceled(&[none(), none()]),
        Fault::canceled(&[none()]),
        Fault::canceled(&[Reason::condition_failed(None)]),
        Fault::canceled(&[]),
        without_reasons(),
        Fault::Refuse,
    ];
    for (index, fault) in faults.into_iter().enumerate() {
        world.proxy.reset();
        world.proxy.fault("TransactWriteItems", fault.clone());
        let record = world.new_record(&event(&format!("evt_{index}")), &credit()).await;
        assert_eq!(record.outcome, Outcome::Applied, "{fault:?}");
        assert_eq!(world.writes(), (0, 2), "{fault:?}");
    }
    assert_eq!(world.balance().await, 80);
}

#[tokio::test]
async fn every_kind_of_busy_lone_put_is_tried_again() {
    let world = World::new().await;
    let faults = [
        Fault::throttling(),
        Fault::throughput_exceeded(),
        Fault::transaction_conflict(),
        Fault::internal_error(),
        Fault::Refuse,
    ];
    for (index, fault) in faults.into_iter().enumerate() {
        world.proxy.reset();
        world.proxy.fault("PutItem", fault.clone());
        world
            .new_record(&event(&format!("evt_{index}")), &nothing())
            .await;
        assert_eq!(world.writes(), (2, 0), "{fault:?}");
    }
}

#[tokio::test]
async fn a_database_busy_past_the_deadline_is_told_as_busy_and_nothing_is_written() {
    let mut world = World::with_account().await;
    world.budget = Duration::from_millis(300);
    for fault in [
        Fault::throttling(),
        Fault::canceled(&[Reason::none(), Reason::conflict()]),
    ] {
        world.proxy.reset();
        for _ in 0..200 {
            world.proxy.fault("TransactWriteItems", fault.clone());
        }
        let started = Instant::now();
        let result = world.commit(&event("evt_1"), &credit()).await;
        assert!(started.elapsed() < Duration::from_secs(2));
        let Err(CommitError::Busy { attempts, .. }) = result else {
            panic!("{result:?}")
        };
        assert!(attempts > 1, "{attempts}");
        // The deadline may cut the last one off before it is on its way.
        let (lone, sent) = world.writes();
        let attempts = attempts as usize;
        assert!(
            lone == 0 && (attempts - 1..=attempts).contains(&sent),
            "{sent} of {attempts}"
        );
        assert!(world.everything().await.is_empty());
    }
}

#[tokio::test]
async fn a_database_that_hangs_past_the_deadline_is_told_as_busy() {
    let mut world = World::with_account().await;
    world.budget = Duration::from_millis(200);
    world.proxy.fault("TransactWriteItems", Fault::Hang);
    let started = Instant::now();
    let result = world.commit(&event("evt_1"), &credit()).await;
    assert!(
        matches!(result, Err(CommitError::Busy { attempts: 1, .. })),
        "{result:?}"
    );
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn an_event_told_as_busy_but_applied_is_a_duplicate_at_its_redelivery() {
    let mut world = World::with_account().await;
    world.budget = Duration::from_millis(300);
    for nth in 1..200 {
        let fault = if nth == 1 {
            Fault::LoseAnswer
        } else {
            Fault::Refuse
        };
        world.proxy.fault("TransactWriteItems", fault);
    }
    let result = world.commit(&event("evt_1"), &credit()).await;
    assert!(matches!(result, Err(CommitError::Busy { .. })), "{result:?}");
    world.proxy.reset();
    world.duplicate(&event("evt_1"), &credit()).await;
    assert_eq!(world.balance().await, 5);
}
