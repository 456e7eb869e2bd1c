//! A batch of wake-ups: who waits for whom, and what goes back to the queue.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, header};
use jiff::SignedDuration;
use oncehook_local::{behaviour::Behaviour, faults::Fault, recorder::Recorder};
use oncehook_tests::{CONFIG, World, invoice};

/// The tests' configuration with a second effect, for a destination that takes one call at a time.
fn with_other(url: &str, more: &str) -> String {
    let effect =
        "\n  [[rule.effect]]\n  name = \"tell\"\n  destination = \"other\"\n  body = { event = true }\n";
    let other = format!("\n[destination.other]\nurl = \"{url}/events\"\n{more}\n");
    CONFIG.replace("\n[destination.mail]", &format!("{effect}\n[destination.mail]")) + &other
}

#[tokio::test]
async fn one_slow_destination_does_not_hold_up_the_others() {
    let other = Recorder::start(None).unwrap();
    for _ in 0..3 {
        other.next(Behaviour::Hang(Duration::from_secs(20)));
    }
    let world = World::with(&with_other(
        &other.endpoint(),
        "concurrency = 1\ntimeout = \"1s\"",
    ))
    .await;
    for number in 0..3 {
        let payload = invoice(&format!("evt_{number}"), "cus_slow", 1);
        assert_eq!(world.post(&world.signed(&payload)).await.status, 200);
    }
    let mut wakeups = world.due_wakeups();
    wakeups.sort_by_key(|wakeup| wakeup.destination != "other");
    assert_eq!(wakeups.len(), 6);
    let all_mails = async {
        while world.mail.mails().len() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        other.received().len()
    };
    let (calls_meanwhile, failures) = tokio::join!(all_mails, world.drain(&wakeups));
    assert!(
        calls_meanwhile <= 1,
        "all mails went out while the slow one was at its first call: {calls_meanwhile}"
    );
    assert_eq!(failures, 0);
    world.lose_wakeups();
}

#[tokio::test]
async fn a_failing_database_sends_its_messages_back_and_no_others() {
    let world = World::new().await;
    for number in 0..3 {
        let payload = invoice(&format!("evt_{number}"), "cus_back", 1);
        assert_eq!(world.post(&world.signed(&payload)).await.status, 200);
    }
    let due = world.due_wakeups();
    world.proxy.reset();
    // A claim is tried twice.
    world.proxy.fault("UpdateItem", Fault::Refuse);
    world.proxy.fault("UpdateItem", Fault::Refuse);
    let (back, rest) = due.split_at(1);
    assert_eq!(world.drain(back).await, 1);
    assert_eq!(world.drain(rest).await, 0);
    assert_eq!(world.mail.mails().len(), 2);
    assert_eq!(world.drain(&due).await, 0, "SQS hands it over again");
    assert_eq!(world.mail.mails().len(), 3);
    assert_eq!(world.mail.calls().len(), 3);
}

#[tokio::test]
async fn a_forwarded_event_keeps_its_exact_bytes_and_is_signed_under_its_key() {
    let other = Recorder::start(None).unwrap();
    let settings = "sign = \"standard-webhooks\"\nsecret = \"other\"\nidempotency = { retention = \"30d\" }";
    let world = World::with(&with_other(&other.endpoint(), settings)).await;
    other.next(Behaviour::AcceptAndDrop);
    let text = invoice("evt_f", "cus_f", 1).to_string();
    // White space and big numbers that a JSON parser would not keep.
    let body = Bytes::from(text.replacen('{', "{ \"n\" :1.0e2, \"m\":9007199254740993,\r\n", 1));
    let mut headers = world
        .source
        .sign("", "", &body, world.now(), &HeaderMap::new())
        .unwrap();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json; charset=utf-8"),
    );
    assert_eq!(
        world
            .post(&oncehook_tests::RequestParts {
                headers,
                body: body.clone()
            })
            .await
            .status,
        200
    );
    world.drain_due().await;
    world
        .pass(SignedDuration::from_mins(10), SignedDuration::from_mins(1))
        .await;
    let calls = other.received();
    assert_eq!(calls.len(), 2);
    for call in &calls {
        assert_eq!(call.body, body);
        assert_eq!(
            call.header("content-type"),
            Some("application/json; charset=utf-8")
        );
        assert_eq!(call.header("webhook-id"), calls[0].header("webhook-id"));
        assert!(
            call.header("webhook-signature")
                .is_some_and(|value| value.starts_with("v1,"))
        );
    }
}
