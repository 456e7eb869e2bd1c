//! Eight deliveries of one event at once, two hundred times.

use futures_util::future::join_all;
use oncehook_tests::{Answer, World, invoice};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_eight_concurrent_deliveries_one_is_applied_and_seven_are_answered_alike() {
    const ROUNDS: i64 = 200;
    let world = World::new().await;
    for round in 0..ROUNDS {
        let request = world.signed(&invoice(&format!("evt_{round}"), "cus_race", 5));
        let answers: Vec<Answer> = join_all((0..8).map(|_| world.post(&request))).await;
        let (replayed, fresh): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.replayed);
        assert_eq!(
            (fresh.len(), replayed.len()),
            (1, 7),
            "round {round}: {answers:?}"
        );
        for answer in replayed {
            assert_eq!(
                (answer.status, &answer.body, &answer.outcome),
                (200, &fresh[0].body, &fresh[0].outcome)
            );
        }
    }
    assert_eq!(world.balance("cus_race").await, (ROUNDS * 5).to_string());
    world.drain_due().await;
    assert_eq!(world.mail.mails().len(), usize::try_from(ROUNDS).unwrap());
}
