//! The design's table of replies.

use bytes::Bytes;
use http::{HeaderMap, Method};
use oncehook_local::faults::Fault;
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
