//! The queue over the real protocol: SQS as ministack speaks it, in a process of its own.
//!
//! `make test` installs ministack and names it in `ONCEHOOK_TEST_MINISTACK`; without it this test says that it did
//! nothing.

use std::time::Duration;

use oncehook_store::{OutboxKey, Queue, Wakeup};
use oncehook_tests::{Ministack, say};

fn wakeup(number: usize) -> Wakeup {
    Wakeup {
        probe: false,
        key: OutboxKey::from_parts(&format!("event#stripe##evt_{number}"), "outbox#credit#receipt"),
        destination: "mail".to_owned(),
        tenant: format!("acct_{}:live", number % 3),
    }
}

#[tokio::test]
async fn wake_ups_go_through_sqs_in_batches_and_with_delays() {
    let Some(ministack) = Ministack::start().await else {
        say("not run: set ONCEHOOK_TEST_MINISTACK to the ministack program, as `make test` does");
        return;
    };
    let client = ministack.sqs();
    let url = ministack.queue("wakeups").await;
    let queue = Queue::Sqs {
        client: client.clone(),
        url: url.clone(),
    };

    let sent: Vec<Wakeup> = (0..25).map(wakeup).collect();
    queue.wake(&sent).await.unwrap();
    assert_eq!(queue.length().await.unwrap(), Some(25));
    let mut received = Vec::new();
    while received.len() < sent.len() {
        let batch = client
            .receive_message()
            .queue_url(&url)
            .max_number_of_messages(10)
            .send()
            .await
            .unwrap();
        assert!(
            !batch.messages().is_empty(),
            "{} of {} came",
            received.len(),
            sent.len()
        );
        for message in batch.messages() {
            received.push(Wakeup::parse(message.body().unwrap()).unwrap());
            let handle = message.receipt_handle().unwrap();
            client
                .delete_message()
                .queue_url(&url)
                .receipt_handle(handle)
                .send()
                .await
                .unwrap();
        }
    }
    received.sort_by(|a, b| a.key.cmp(&b.key));
    let mut sent = sent;
    sent.sort_by(|a, b| a.key.cmp(&b.key));
    assert_eq!(received, sent);

    // 1.2 seconds is rounded up to 2: never early, so that a claim finds its item due.
    queue
        .wake_after(&wakeup(99), Duration::from_millis(1200))
        .await
        .unwrap();
    let receive = || {
        client
            .receive_message()
            .queue_url(&url)
            .wait_time_seconds(0)
            .send()
    };
    assert!(receive().await.unwrap().messages().is_empty());
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(
        receive().await.unwrap().messages().is_empty(),
        "not before 2 seconds"
    );
    let late = client
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(5)
        .send()
        .await
        .unwrap();
    assert_eq!(late.messages().len(), 1);

    let missing = Queue::Sqs {
        client,
        url: format!("{url}-missing"),
    };
    assert!(
        missing.wake(&[wakeup(1)]).await.is_err(),
        "a refused wake-up is reported"
    );
}
