//! The design's table of replies.

use std::{sync::Arc, time::Duration};

use aws_sdk_sqs::config::timeout::TimeoutConfig;
use bytes::Bytes;
use http::{HeaderMap, Method};
use jiff::SignedDuration;
use oncehook_core::{
    event::Event,
    plan::{Handler, Plan, PlanError},
};
use oncehook_local::{behaviour::Behaviour, faults::Fault, recorder::Recorder};
use oncehook_store::Queue;
use oncehook_tests::{CONFIG, RequestParts, World, invoice};

fn empty() -> RequestParts {
    RequestParts {
        headers: HeaderMap::new(),
        body: Bytes::new(),
    }
}

#[tokio::test]
async fn each_case_has_its_status() {
    let world = World::with(&format!(
        "{CONFIG}\n[source.other]\nscheme = \"github\"\nsecret = \"nobody\"\n"
    ))
    .await;
    let good = world.signed(&invoice("evt_a", "cus_a", 1));
    assert_eq!(world.send(Method::POST, "nowhere", &good).await.status, 404);
    assert_eq!(world.send(Method::GET, "stripe", &good).await.status, 405);
    assert_eq!(world.send(Method::POST, "stripe", &empty()).await.status, 401);
    assert_eq!(
        world.send(Method::POST, "other", &good).await.status,
        503,
        "a missing secret stops that source alone"
    );
    let mut huge = good.clone();
    huge.body = vec![b'x'; 5_000_000].into();
    assert_eq!(world.post(&huge).await.status, 413);
    assert!(world.proxy.operations().is_empty());
    let answer = world.post(&good).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"credited":1}"#));
    world.drain_due().await;
}

#[tokio::test]
async fn conflicts_are_retried_and_past_the_budget_the_provider_comes_again() {
    let world = World::new().await;
    let request = world.signed(&invoice("evt_b", "cus_b", 1));
    for _ in 0..3 {
        world
            .proxy
            .fault("TransactWriteItems", Fault::transaction_conflict());
    }
    assert_eq!(world.post(&request).await.status, 200);
    assert_eq!(world.proxy.count("TransactWriteItems"), 4);
    let request = world.signed(&invoice("evt_c", "cus_b", 1));
    for _ in 0..500 {
        world.proxy.fault("TransactWriteItems", Fault::throttling());
    }
    assert_eq!(world.post(&request).await.status, 503);
    world.proxy.reset();
    assert_eq!(world.balance("cus_b").await, "1");
    world.drain_due().await;
}

#[tokio::test]
async fn signed_but_unreadable_bodies_are_kept_as_failed() {
    let world = World::new().await;
    for body in ["} not json", "{\"type\":\"x\"}"] {
        let body = Bytes::from_static(body.as_bytes());
        let headers = world
            .source
            .sign("", "", &body, world.now(), &HeaderMap::new())
            .unwrap();
        let answer = world.post(&RequestParts { headers, body }).await;
        assert_eq!((answer.status, answer.outcome.as_str()), (200, "failed"));
    }
    let (events, _) = world.stored().await;
    assert!(
        events.len() == 2 && events.iter().all(|event| event.id.starts_with("sha256:")),
        "{events:?}"
    );
}

#[tokio::test]
async fn odd_paths_do_not_panic() {
    let world = World::new().await;
    for source in ["%00", "%ff%fe", "..", "stripe%2f", "a%20b", "%"] {
        let status = world.send(Method::POST, source, &empty()).await.status;
        assert!(matches!(status, 400..=499), "{source}: {status}");
    }
}

struct Panics;

impl Handler for Panics {
    fn plan(&self, _event: &Event) -> Result<Plan, PlanError> {
        panic!("a bug in a handler")
    }
}

#[tokio::test]
async fn a_panic_in_a_handler_is_500_and_writes_nothing() {
    let mut world = World::new().await;
    Arc::get_mut(&mut world.ingest).unwrap().handler = Arc::new(Panics);
    assert_eq!(
        world
            .post(&world.signed(&invoice("evt_p", "cus_p", 1)))
            .await
            .status,
        500
    );
    assert!(world.stored().await.0.is_empty());
    assert!(world.proxy.operations().is_empty());
}

#[tokio::test]
async fn a_queue_that_is_down_or_hangs_costs_a_little_latency_and_nothing_else() {
    let silent = Recorder::start(None).unwrap();
    for (endpoint, id) in [
        ("http://127.0.0.1:1".to_owned(), "evt_q1"),
        (silent.endpoint(), "evt_q2"),
    ] {
        silent.next(Behaviour::Hang(Duration::from_secs(60)));
        let mut world = World::new().await;
        // Without a limit of its own: what ends the wait is ingest's.
        let config = oncehook_edge::local_sqs(&endpoint).config().to_builder();
        let client = aws_sdk_sqs::Client::from_conf(config.timeout_config(TimeoutConfig::disabled()).build());
        let url = format!("{endpoint}/queue");
        Arc::get_mut(&mut world.ingest).unwrap().queue = Queue::Sqs { client, url };
        let signed = world.signed(&invoice(id, "cus_q", 1));
        let answer = tokio::time::timeout(Duration::from_secs(20), world.post(&signed))
            .await
            .unwrap();
        assert_eq!((answer.status, answer.outcome.as_str()), (200, "applied"));
        assert_eq!(world.stored().await.1[0].state, "open");
        world
            .pass(SignedDuration::from_mins(5), SignedDuration::from_mins(1))
            .await;
        assert_eq!(world.stored().await.1[0].state, "done");
    }
}
