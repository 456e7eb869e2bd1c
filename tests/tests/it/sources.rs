//! What a source's own settings do: observe, not_before, networks, and ids that the signature does not cover.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use bytes::Bytes;
use http::{HeaderMap, Method};
use oncehook_core::{config::Config, secret::Secret, verify::Source};
use oncehook_store::Outcome;
use oncehook_tests::{Answer, CONFIG, RequestParts, World, invoice};

fn configured(setting: &str) -> String {
    CONFIG.replace("scheme = \"stripe\"", &format!("scheme = \"stripe\"\n{setting}"))
}

#[tokio::test]
async fn a_source_that_observes_records_and_plans_and_does_nothing() {
    let world = World::with(&configured("mode = \"observe\"")).await;
    let answer = world.post(&world.signed(&invoice("evt_o", "cus_o", 5))).await;
    assert_eq!((answer.status, answer.outcome.as_str()), (200, "observed"));
    let (events, outbox) = world.stored().await;
    assert_eq!(
        events[0].record.rules[0].rule, "credit",
        "it says what would have applied"
    );
    assert!(outbox.is_empty());
    assert_eq!(world.balance("cus_o").await, "null");
}

#[tokio::test]
async fn events_from_before_the_cut_over_are_held() {
    let world = World::with(&configured("not_before = 2026-01-01T00:00:00Z")).await;
    let answer = world.post(&world.signed(&invoice("evt_h", "cus_h", 5))).await;
    assert_eq!((answer.status, answer.outcome.as_str()), (200, "held"));
    assert_eq!(world.expiries().await, [None], "a held event does not expire");
    assert_eq!(world.balance("cus_h").await, "null");
}

#[tokio::test]
async fn a_network_that_is_not_allowed_is_refused_before_the_signature_is_looked_at() {
    let world = World::with(&configured("networks = [\"192.0.2.0/24\"]")).await;
    assert_eq!(
        world
            .post(&world.signed(&invoice("evt_n", "cus_n", 5)))
            .await
            .status,
        403
    );
    assert!(world.proxy.operations().is_empty());
}

/// GitHub's endpoint with this setting, and what becomes of one body under two ids.
async fn one_body_under_two_ids(setting: &str) -> (World, Answer) {
    let text = CONFIG
        .replace(
            "[table.accounts]",
            "[source.github]\nscheme = \"github\"\nsecret = \"stripe\"\nSETTING\n\n[table.accounts]",
        )
        .replace("SETTING", setting);
    let world = World::with(&text).await;
    let config = Config::parse(&text, "oncehook.toml").unwrap();
    let (secret, _) = Secret::new("stripe", "whsec_for_tests").unwrap();
    let github = Source::new(&config.sources["github"], vec![secret]).unwrap();
    let body = Bytes::from_static(br#"{"action":"opened","number":7}"#);
    let request = |id: &str| RequestParts {
        headers: github
            .sign(id, "pull_request.opened", &body, world.now(), &HeaderMap::new())
            .unwrap(),
        body: body.clone(),
    };
    let first = world.send(Method::POST, "github", &request("guid-1")).await;
    assert_eq!((first.status, first.outcome.as_str()), (200, "ignored"));
    let redelivered = world.send(Method::POST, "github", &request("guid-1")).await;
    assert!(
        redelivered.replayed,
        "GitHub's own redelivery keeps the id: {redelivered:?}"
    );
    let replay = world.send(Method::POST, "github", &request("guid-2")).await;
    (world, replay)
}

#[tokio::test]
async fn the_same_body_under_another_unsigned_id_is_held() {
    let (world, replay) = one_body_under_two_ids("").await;
    assert_eq!(
        (replay.status, replay.outcome.as_str(), replay.replayed),
        (200, "held", false)
    );
    let (events, _) = world.stored().await;
    let held = events.iter().find(|event| event.id == "guid-2").unwrap();
    assert_eq!(held.record.outcome, Outcome::Held);
    assert!(
        held.record.reason.as_deref().unwrap().contains("guid-1"),
        "{:?}",
        held.record.reason
    );
}

#[tokio::test]
async fn the_guard_of_bodies_can_be_switched_off() {
    let (_world, replay) = one_body_under_two_ids("body_guard = false").await;
    assert_eq!((replay.status, replay.outcome.as_str()), (200, "ignored"));
}
