//! The queue over the real protocol: SQS as ministack speaks it, in a process of its own.
//!
//! `make test` installs ministack and names it in `ONCEHOOK_TEST_MINISTACK`; without it this test says that it did
//! nothing.

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::Duration,
};

use oncehook_edge::{Environment, local_sqs};
use oncehook_store::{OutboxKey, Queue, Wakeup};

struct Ministack {
    process: Child,
    endpoint: String,
}

impl Drop for Ministack {
    fn drop(&mut self) {
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

async fn start(program: &str) -> Ministack {
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .expect("a free port")
        .port();
    let endpoint = format!("http://127.0.0.1:{port}");
    let process = Command::new(program)
        .env("BIND_HOST", "127.0.0.1")
        .env("GATEWAY_PORT", port.to_string())
        .env("AWS_ENDPOINT_URL", &endpoint)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("ONCEHOOK_TEST_MINISTACK names a program that runs");
    let ministack = Ministack { process, endpoint };
    for _ in 0..300 {
        if local_sqs(&ministack.endpoint).list_queues().send().await.is_ok() {
            return ministack;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("ministack did not answer within 30 seconds");
}

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
    let Some(program) = Environment::process().get("ONCEHOOK_TEST_MINISTACK") else {
        #[expect(clippy::print_stderr, reason = "a test that does nothing says so")]
        {
            eprintln!("not run: set ONCEHOOK_TEST_MINISTACK to the ministack program, as `make test` does");
        }
        return;
    };
    let ministack = start(&program).await;
    let client = local_sqs(&ministack.endpoint);
    let url = client
        .create_queue()
        .queue_name("wakeups")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
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
