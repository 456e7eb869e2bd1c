//! Bodies at rest.

use oncehook_store::CommitError;

use crate::{
    builders::{Build, apply, nothing, pk, rule, s, with_body},
    support::{SPLIT, World},
};

/// Bytes that no compression makes smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..length).map(|_| random.u8(..)).collect()
}

#[tokio::test]
async fn bodies_are_plain_to_1_kib_and_compressed_above() {
    let world = World::new().await;
    for (id, length, encoding) in [("a", 0, "plain"), ("b", 1024, "plain"), ("c", 1025, "deflate")] {
        let body = vec![b'x'; length];
        world.new_record(&with_body(id, body.clone()), &nothing()).await;
        let item = world.record(id).await;
        assert_eq!(s(&item, "body_encoding"), encoding);
        let stored = item["body"].as_b().unwrap().as_ref().len();
        assert_eq!(stored == length, encoding == "plain");
        let (view, _) = world.ledger.event(&pk(id)).await.unwrap().unwrap();
        assert_eq!(view.body, Some(body));
    }
}

#[tokio::test]
async fn a_body_above_64_kib_compressed_is_too_large_and_writes_nothing() {
    let world = World::new().await;
    world
        .new_record(&with_body("fits", noise(65_000)), &nothing())
        .await;
    let result = world.commit(&with_body("large", noise(66_000)), &nothing()).await;
    assert!(matches!(result, Err(CommitError::TooLarge { .. })), "{result:?}");
    assert_eq!(world.writes(), (1, 0));
    let text = vec![b'a'; 1_000_000];
    world.new_record(&with_body("text", text), &nothing()).await;
}

#[tokio::test]
async fn the_body_of_an_effect_is_the_exact_body_of_its_event() {
    let mut world = World::new().await;
    for (id, keep) in [("a", world.keep), ("b", SPLIT)] {
        world.keep = keep;
        let body = noise(3000);
        let decision = apply([rule("forward").effect("app")]);
        let record = world.new_record(&with_body(id, body.clone()), &decision).await;
        let found = world.ledger.body(&record.wakeups[0].key).await.unwrap();
        assert_eq!(found, Some((body, Some("application/json".to_owned()))));
    }
}
