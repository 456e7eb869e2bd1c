//! The process dies at the worst moments: nothing is lost, and nothing happens twice at a destination that honours
//! idempotency keys.

use jiff::SignedDuration;
use oncehook_local::faults::Fault;
use oncehook_store::Claim;
use oncehook_tests::{World, invoice};

async fn committed(world: &World) {
    assert_eq!(
        world
            .post(&world.signed(&invoice("evt_crash", "cus_crash", 700)))
            .await
            .status,
        200
    );
}

async fn delivered_once(world: &World, calls: usize) {
    world
        .pass(SignedDuration::from_mins(30), SignedDuration::from_mins(1))
        .await;
    let (_, outbox) = world.stored().await;
    assert_eq!(outbox[0].state, "done", "{:?}", outbox[0]);
    assert_eq!(world.mail.mails().len(), 1);
    assert_eq!(world.mail.calls().len(), calls);
    assert_eq!(world.balance("cus_crash").await, "700");
}

#[tokio::test]
async fn killed_after_the_commit() {
    let world = World::new().await;
    committed(&world).await;
    world.lose_wakeups();
    delivered_once(&world, 1).await;
}

#[tokio::test]
async fn killed_after_the_claim() {
    let world = World::new().await;
    committed(&world).await;
    let wakeup = world.due_wakeups().remove(0);
    let claim = world
        .ledger
        .claim(&wakeup.key, SignedDuration::from_secs(30), world.now())
        .await
        .unwrap();
    assert!(matches!(claim, Claim::Held(..)));
    delivered_once(&world, 1).await;
}

#[tokio::test]
async fn killed_after_the_call_before_it_was_settled() {
    let world = World::new().await;
    committed(&world).await;
    // Claim is the first UpdateItem, settling the second: it never arrives.
    world.proxy.reset();
    for nth in 2..=6 {
        world.proxy.fault_at("UpdateItem", nth, Fault::Refuse);
    }
    let due = world.due_wakeups();
    world.drain(&due).await;
    assert_eq!(world.mail.mails().len(), 1);
    assert_eq!(world.stored().await.1[0].state, "open");
    world.proxy.reset();
    delivered_once(&world, 2).await;
}

#[tokio::test]
async fn the_answer_to_settling_is_lost() {
    let world = World::new().await;
    committed(&world).await;
    world.proxy.reset();
    world.proxy.fault_at("UpdateItem", 2, Fault::LoseAnswer);
    let due = world.due_wakeups();
    world.drain(&due).await;
    delivered_once(&world, 1).await;
}

#[tokio::test]
async fn the_answer_to_the_commit_is_lost() {
    let world = World::new().await;
    world.proxy.fault("TransactWriteItems", Fault::LoseAnswer);
    let answer = world
        .post(&world.signed(&invoice("evt_crash", "cus_crash", 700)))
        .await;
    assert_eq!(
        (answer.status, answer.replayed),
        (200, false),
        "it recognises its own commit"
    );
    world.drain_due().await;
    delivered_once(&world, 1).await;
}
