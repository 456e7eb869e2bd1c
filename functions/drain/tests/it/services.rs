//! Queues, functions and buses as destinations, against a stand-in that speaks their protocols.

use std::time::Duration;

use jiff::SignedDuration;
use oncehook_edge::{Secrets, Signer};
use oncehook_local::{
    behaviour::Behaviour,
    services::{Next, Services},
};
use serde_json::{Value, json};

use crate::planned::{Planned, config};

const QUEUE: &str = "kind = \"sqs\"\nqueue = \"https://sqs.eu-central-1.amazonaws.com/123456789012/orders\"";
const FIFO: &str =
    "kind = \"sqs\"\nqueue = \"https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo\"";
const FUNCTION: &str = "kind = \"lambda\"\nfunction = \"orders:live\"";
const BUS: &str = "kind = \"eventbridge\"\nbus = \"orders\"";
const WHOLE: &str = "body = { event = true }";
const BODY: &[u8] = b"{ \"amount\": 1.10 }";

async fn committed(services: &Services, destination: &str, effect: &str) -> Planned {
    let signer = Signer::local(&services.endpoint());
    let config = config(destination, effect);
    Planned::commit(
        &config,
        BODY,
        Some("application/json"),
        Secrets::default(),
        signer,
    )
    .await
    .unwrap()
}

fn drop_after_acting() -> Next {
    Next::Like(Behaviour::AcceptAndDrop)
}

fn error(status: u16, name: &str) -> Next {
    Next::Error(status, name.to_owned(), "as told by the test".to_owned())
}

#[tokio::test]
async fn each_takes_the_exact_event_with_its_key_once() {
    for (destination, call, target, body) in [
        (
            QUEUE,
            "SendMessage",
            "https://sqs.eu-central-1.amazonaws.com/123456789012/orders",
            None,
        ),
        (
            FIFO,
            "SendMessage",
            "https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo",
            None,
        ),
        (FUNCTION, "Invoke", "orders:live", None),
        (BUS, "PutEvents", "orders", Some("event")),
    ] {
        let services = Services::start(None).unwrap();
        let planned = committed(&services, destination, WHOLE).await;
        planned.wake().await;
        planned.wake().await;
        let item = planned.item().await;
        assert_eq!(item.state, "done", "{destination}: {item:?}");
        let taken = services.taken();
        assert_eq!(taken.len(), 1);
        assert_eq!((taken[0].call, taken[0].target.as_str()), (call, target));
        let key = item.item.idempotency_key;
        assert_eq!(taken[0].key.as_deref(), Some(key.as_str()));
        let exact: Value = serde_json::from_slice(BODY).unwrap();
        assert_eq!(body.map_or(&taken[0].body, |field| &taken[0].body[field]), &exact);
        let request = &services.received()[0];
        let sent = String::from_utf8_lossy(&request.body).replace("\\\"", "\"");
        assert!(
            sent.contains(std::str::from_utf8(BODY).unwrap()),
            "byte for byte: {sent}"
        );
        let signature = request.header("authorization").unwrap();
        let scope = match (destination, call) {
            (_, "SendMessage") => "/eu-central-1/sqs/aws4_request",
            (_, "Invoke") => "/us-east-1/lambda/aws4_request",
            _ => "/us-east-1/events/aws4_request",
        };
        assert!(signature.contains(scope), "{signature}");
    }
}

#[tokio::test]
async fn without_recognition_a_lost_answer_waits_for_a_person_or_is_sent_again_if_you_say_so() {
    for destination in [QUEUE, FUNCTION, BUS] {
        let services = Services::start(None).unwrap();
        services.next(drop_after_acting());
        let planned = committed(&services, destination, WHOLE).await;
        planned.wake().await;
        assert_eq!(planned.item().await.state, "parked", "{destination}");
        assert_eq!(services.taken().len(), 1);

        services.next(drop_after_acting());
        let again = format!("{destination}\non_ambiguous = \"resend\"");
        let planned = committed(&services, &again, WHOLE).await;
        planned.wake().await;
        planned.wake_when_due().await;
        assert_eq!(planned.item().await.state, "done");
        let taken = services.taken();
        assert_eq!(taken.len(), 3, "at least once");
        assert_eq!(
            taken[1].key, taken[2].key,
            "which the receiver can tell by the key"
        );
    }
}

#[tokio::test]
async fn a_fifo_queue_takes_a_repetition_once_and_after_five_minutes_nothing_is_repeated() {
    let services = Services::start(None).unwrap();
    services.next(drop_after_acting());
    let planned = committed(&services, FIFO, WHOLE).await;
    planned.wake().await;
    planned.wake_when_due().await;
    assert_eq!(
        (planned.item().await.state.as_str(), services.taken().len()),
        ("done", 1)
    );
    assert_eq!(services.received().len(), 2);

    let services = Services::start(None).unwrap();
    services.next(drop_after_acting());
    let planned = committed(&services, FIFO, WHOLE).await;
    planned.wake().await;
    planned.clock.advance(SignedDuration::from_secs(240));
    services.advance(Duration::from_secs(240));
    planned.wake().await;
    let item = planned.item().await;
    assert_eq!((item.state.as_str(), services.taken().len()), ("parked", 1));
    assert!(item.reason.unwrap().contains("300s"), "the window");
}

#[tokio::test]
async fn a_receiver_that_promises_to_recognise_the_key_is_sent_it_again() {
    let services = Services::start(None).unwrap();
    for next in [
        Next::FunctionError,
        Next::FunctionError,
        Next::FunctionError,
        error(500, "ServiceException"),
    ] {
        services.next(next);
    }
    let promised = format!("{FUNCTION}\nidempotency = {{ retention = \"7d\" }}");
    let planned = committed(&services, &promised, WHOLE).await;
    planned.wake().await;
    for _ in 0..4 {
        planned.wake_when_due().await;
    }
    assert_eq!(planned.item().await.state, "done");
    let keys: Vec<_> = services.taken().into_iter().map(|taken| taken.key).collect();
    assert_eq!(keys.len(), 4, "three runs that failed, and one that did not");
    assert!(keys.iter().all(|key| key == &keys[0]));

    let services = Services::start(None).unwrap();
    services.next(Next::FunctionError);
    let planned = committed(&services, FUNCTION, WHOLE).await;
    planned.wake().await;
    let item = planned.item().await;
    assert_eq!(item.state, "parked", "it ran, and nobody knows how far");
    assert!(
        item.last_error
            .unwrap()
            .contains("the function failed (Unhandled)")
    );
}

#[tokio::test]
async fn missing_rights_pause_the_destination_and_cost_no_attempt() {
    for (destination, next, word) in [
        (
            QUEUE,
            error(403, "AccessDenied"),
            "sqs:SendMessage on https://sqs",
        ),
        (QUEUE, error(400, "QueueDoesNotExist"), "see to https://sqs"),
        (
            FUNCTION,
            error(404, "ResourceNotFoundException"),
            "see to orders:live",
        ),
        (
            BUS,
            Next::Entry("AccessDeniedException".into()),
            "events:PutEvents on orders",
        ),
    ] {
        let services = Services::start(None).unwrap();
        services.next(next);
        let planned = committed(&services, destination, WHOLE).await;
        planned.wake().await;
        let item = planned.item().await;
        assert_eq!((item.state.as_str(), item.item.attempts), ("open", 0), "{item:?}");
        assert!(item.last_error.as_ref().unwrap().contains(word), "{item:?}");
        assert_eq!(item.item.maybe_sent_at, None, "nothing can have happened");
        assert!(planned.stored().await.contains("paused_until"));
        planned.wake_when_due().await;
        assert_eq!(
            (planned.item().await.state.as_str(), services.taken().len()),
            ("done", 1)
        );
    }
}

#[tokio::test]
async fn throttling_waits_and_what_is_never_taken_is_dead() {
    for (destination, next) in [
        (QUEUE, error(400, "RequestThrottled")),
        (FUNCTION, error(429, "TooManyRequestsException")),
        (BUS, Next::Entry("ThrottlingException".into())),
    ] {
        let services = Services::start(None).unwrap();
        services.next(next);
        let planned = committed(&services, destination, WHOLE).await;
        planned.wake().await;
        assert_eq!(planned.item().await.state, "open");
        planned.wake_when_due().await;
        assert_eq!(
            (planned.item().await.state.as_str(), services.taken().len()),
            ("done", 1)
        );
    }
    for (destination, next) in [
        (QUEUE, error(400, "InvalidMessageContents")),
        (FUNCTION, error(413, "RequestTooLargeException")),
        (BUS, Next::Entry("MalformedDetail".into())),
    ] {
        let services = Services::start(None).unwrap();
        services.next(next);
        let planned = committed(&services, destination, WHOLE).await;
        planned.wake().await;
        assert_eq!(planned.item().await.state, "dead");
    }
}

#[tokio::test]
async fn a_time_out_is_uncertain_and_an_address_where_nobody_listens_is_not() {
    let services = Services::start(None).unwrap();
    services.next(Next::Like(Behaviour::Hang(Duration::from_secs(5))));
    let planned = committed(&services, &format!("{QUEUE}\ntimeout = \"1s\""), WHOLE).await;
    planned.wake().await;
    let item = planned.item().await;
    assert_eq!(item.state, "parked");
    assert!(item.last_error.unwrap().contains("no answer within 1000 ms"));

    let config = config(QUEUE, WHOLE);
    let nobody = Signer::local("http://127.0.0.1:1");
    let planned = Planned::commit(&config, BODY, None, Secrets::default(), nobody)
        .await
        .unwrap();
    planned.wake().await;
    let item = planned.item().await;
    assert_eq!((item.state.as_str(), item.item.maybe_sent_at), ("open", None));
}

#[tokio::test]
async fn rendered_bodies_and_groups_come_from_the_event() {
    let services = Services::start(None).unwrap();
    let effect = "group = \"{{ event.amount }}\"\nbody = '{\"credited\": {{ event.amount }}}'";
    let planned = committed(&services, FIFO, effect).await;
    planned.wake().await;
    assert_eq!(
        services.taken()[0].body,
        json!({ "credited": serde_json::Number::from_string_unchecked("1.10".into()) })
    );
    let sent: Value = serde_json::from_slice(&services.received()[0].body).unwrap();
    assert_eq!(sent["MessageGroupId"], "1.10");
    assert_eq!(
        sent["MessageDeduplicationId"],
        planned.item().await.item.idempotency_key.as_str()
    );
}
