//! Secrets that are set, rotated, removed or spoilt while ingest runs: no deploy is needed, and one bad secret stops one
//! source.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, Method};
use jiff::SignedDuration;
use lambda_http::{Body, Response};
use oncehook_core::{clock::Clock, config::Config, rules::Rules, secret::Secret, verify::Source};
use oncehook_edge::{SecretStore, local_ssm};
use oncehook_ingest::{Ingest, handle};
use oncehook_local::{
    behaviour::Behaviour, clock::ManualClock, database::Database, gateway, lines, parameters::Parameters,
};
use oncehook_store::{Ledger, Queue, create_table};
use serde_json::json;
use tokio::sync::mpsc;
use tracing::Level;

const NAME: &str = "/oncehook/test/secrets";
const CONFIG: &str = r#"
[source.stripe]
scheme = "stripe"
secret = "stripe"

[source.app]
scheme = "standard-webhooks"
secret = ["app", "app-old"]
"#;
/// What stands in for the secrets of `app`.
const APP: &str = "whsec_dGhlIHNlY3JldCBvZiBhIHRlc3Q=";

struct World {
    ingest: Ingest,
    config: Config,
    clock: Arc<ManualClock>,
    ssm: Parameters,
    _database: Database,
}

async fn world(text: Option<&str>) -> World {
    lines::start(Level::INFO);
    let database = Database::start(None).unwrap();
    let client = oncehook_edge::local_dynamodb(&database.endpoint());
    create_table(&client, "oncehook").await.unwrap();
    let ledger = Ledger::new(client, "oncehook".into(), BTreeMap::new(), 4);
    let ssm = Parameters::start().unwrap();
    if let Some(text) = text {
        ssm.put(NAME, text);
    }
    let clock = Arc::new(ManualClock::at("2026-12-01T12:00:00Z".parse().unwrap()));
    let secrets = SecretStore::open(local_ssm(&ssm.endpoint()), NAME.into(), clock.now()).await;
    let config = Config::parse(CONFIG, "oncehook.toml").unwrap();
    let rules = Arc::new(Rules::new(&config).unwrap());
    let (sender, _) = mpsc::unbounded_channel();
    let queue = Queue::Local(sender);
    let ingest = Ingest::new(&config, Arc::new(secrets), rules, ledger, queue, clock.clone());
    World {
        ingest,
        config,
        clock,
        ssm,
        _database: database,
    }
}

impl World {
    async fn post(&self, source: &str, secret: &str, id: &str) -> Response<Body> {
        let (secret, _) = Secret::new(source, secret).unwrap();
        let signing = Source::new(&self.config.sources[source], vec![secret]).unwrap();
        let now = self.clock.now();
        let body = Bytes::from(json!({ "id": id, "type": "paid", "created": 1 }).to_string());
        let headers = signing.sign(id, "paid", &body, now, &HeaderMap::new()).unwrap();
        let mut request = http::Request::builder()
            .method(Method::POST)
            .uri(format!("/webhooks/{source}"));
        *request.headers_mut().unwrap() = headers;
        let request = request.body(body).unwrap();
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let event = gateway::event_json(&request, source, ip, now, "request").to_string();
        handle(&self.ingest, lambda_http::request::from_str(&event).unwrap()).await
    }

    async fn status(&self, source: &str, secret: &str, id: &str) -> u16 {
        self.post(source, secret, id).await.status().as_u16()
    }

    fn readings(&self) -> usize {
        self.ssm.calls().len()
    }
}

#[tokio::test]
async fn a_start_without_the_parameter_answers_503_until_the_secret_is_set() {
    let world = world(None).await;
    let answer = world.post("stripe", "whsec_1", "evt_1").await;
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], "5");
    for _ in 0..50 {
        assert_eq!(world.status("stripe", "whsec_1", "evt_1").await, 503);
    }
    assert_eq!(
        world.readings(),
        1,
        "a crowd does not ask Systems Manager more often"
    );
    world.ssm.put(NAME, r#"{"stripe": "whsec_1"}"#);
    world.clock.advance(SignedDuration::from_secs(5));
    assert_eq!(world.status("stripe", "whsec_1", "evt_1").await, 200);
    assert_eq!(
        world.status("app", APP, "evt_2").await,
        503,
        "the other has none yet"
    );
    let log = lines::take();
    for expected in [
        "there is no such parameter",
        "oncehook secret set",
        "run `oncehook secret set stripe --parameter /oncehook/test/secrets`",
        "\"no_secret\"",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
}

#[tokio::test]
async fn a_rotation_needs_no_deploy_and_the_request_that_meets_it_first_is_accepted() {
    let world = world(Some(r#"{"stripe": "whsec_old"}"#)).await;
    assert_eq!(world.status("stripe", "whsec_old", "evt_1").await, 200);
    assert_eq!(world.readings(), 1);
    assert!(!lines::take().contains("older secret"));
    world.ssm.put(NAME, r#"{"stripe": ["whsec_new", "whsec_old"]}"#);
    assert_eq!(world.status("stripe", "whsec_new", "evt_2").await, 200);
    assert_eq!(world.readings(), 2);
    assert!(
        !lines::take().contains("older secret"),
        "the first is not worth a line"
    );
    assert_eq!(
        world.status("stripe", "whsec_old", "evt_3").await,
        200,
        "side by side"
    );
    let log = lines::take();
    assert!(
        log.contains("verified with an older secret") && log.contains("\"value\":2"),
        "{log}"
    );
    world.ssm.put(NAME, r#"{"stripe": ["whsec_new"]}"#);
    world.clock.advance(SignedDuration::from_mins(5));
    assert_eq!(
        world.status("stripe", "whsec_old", "evt_4").await,
        401,
        "what was dropped is over"
    );
    assert_eq!(world.status("stripe", "whsec_new", "evt_5").await, 200);
    for text in [log, lines::take()] {
        assert!(!text.contains("whsec_"), "{text}");
    }
}

#[tokio::test]
async fn the_log_names_the_secret_and_the_value_that_matched() {
    let world = world(Some(&format!(
        r#"{{"app": "whsec_bmV3", "app-old": ["whsec_b2xk", "{APP}"]}}"#
    )))
    .await;
    assert_eq!(world.status("app", APP, "evt_1").await, 200);
    let log = lines::take();
    assert!(
        log.contains("\"secret\":\"app-old\"") && log.contains("\"value\":2"),
        "{log}"
    );
}

#[tokio::test]
async fn wrong_signatures_lead_to_one_reading_a_minute() {
    let world = world(Some(r#"{"stripe": "whsec_1"}"#)).await;
    for _ in 0..59 {
        assert_eq!(world.status("stripe", "whsec_wrong", "evt_1").await, 401);
        world.clock.advance(SignedDuration::from_secs(1));
    }
    assert_eq!(world.readings(), 2, "at start, and once since");
    world.clock.advance(SignedDuration::from_secs(1));
    world.ssm.put(NAME, r#"{"stripe": "whsec_2"}"#);
    assert_eq!(world.status("stripe", "whsec_2", "evt_2").await, 200);
    assert_eq!(world.readings(), 3);
}

#[tokio::test]
async fn a_slow_systems_manager_costs_a_request_200_ms_once_and_no_answer() {
    let world = world(Some(r#"{"stripe": "whsec_1"}"#)).await;
    assert_eq!(world.status("stripe", "whsec_1", "evt_0").await, 200);
    world.clock.advance(SignedDuration::from_mins(6));
    world.ssm.next(Behaviour::Hang(Duration::from_secs(30)));
    let started = Instant::now();
    assert_eq!(world.status("stripe", "whsec_1", "evt_1").await, 200);
    let slow = started.elapsed();
    assert!(
        slow >= Duration::from_millis(190) && slow < Duration::from_millis(1500),
        "{slow:?}"
    );
    for number in 0..20 {
        assert_eq!(
            world.status("stripe", "whsec_1", &format!("evt_2{number}")).await,
            200
        );
    }
    assert_eq!(
        world.readings(),
        2,
        "the last good one serves, and not every request asks"
    );
    assert!(lines::take().contains("the last good secrets stay in use"));
}

#[tokio::test]
async fn a_bad_secret_stops_its_source_and_no_other() {
    for (bad, why) in [
        ("5", "is a number and not a string"),
        ("[]", "this secret has no usable value"),
        (r#"" ""#, "secret `app` is empty"),
        (r#""not base64!""#, "base64 is expected"),
        (r#"{"value": "whsec_bmV3"}"#, "is an object and not a string"),
    ] {
        let world = world(Some(&format!(r#"{{"stripe": "whsec_1", "app": {bad}}}"#))).await;
        assert_eq!(world.status("app", APP, "evt_1").await, 503, "{bad}");
        assert_eq!(world.status("stripe", "whsec_1", "evt_1").await, 200, "{bad}");
        let log = lines::take();
        assert!(log.contains(why) && log.contains("answers 503"), "{why}: {log}");
        assert!(!log.contains("not base64!") && !log.contains("bmV3"), "{log}");
    }
}

#[tokio::test]
async fn one_bad_value_beside_a_good_one_is_left_out() {
    let world = world(Some(&format!(r#"{{"app": ["not base64!", "{APP}", null]}}"#))).await;
    assert_eq!(world.status("app", APP, "evt_1").await, 200);
    let log = lines::take();
    assert!(
        log.contains("a value of its secret is left out") && log.contains("null"),
        "{log}"
    );
}

#[tokio::test]
async fn a_malformed_parameter_keeps_what_was_good_and_says_so() {
    let world = world(Some(r#"{"stripe": "whsec_1"}"#)).await;
    world.ssm.put(NAME, "{'stripe': 'whsec_2'}");
    world.clock.advance(SignedDuration::from_mins(6));
    assert_eq!(world.status("stripe", "whsec_1", "evt_1").await, 200);
    let log = lines::take();
    assert!(
        log.contains("\"ERROR\"")
            && log.contains("malformed")
            && log.contains("the last good secrets stay in use"),
        "{log}"
    );
    assert!(!log.contains("whsec_"), "{log}");
}

#[tokio::test]
async fn a_rotation_that_many_requests_meet_at_once_is_read_once_and_refuses_none() {
    let world = world(Some(r#"{"stripe": "whsec_old"}"#)).await;
    world.ssm.put(NAME, r#"{"stripe": "whsec_new"}"#);
    world.ssm.next(Behaviour::Hang(Duration::from_millis(300)));
    let ids: Vec<String> = (0..20).map(|number| format!("evt_{number}")).collect();
    let posts = ids.iter().map(|id| world.status("stripe", "whsec_new", id));
    let statuses = futures_util::future::join_all(posts).await;
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    assert_eq!(world.readings(), 2);
}

#[tokio::test]
async fn requests_are_counted_by_source_reason_and_secret() {
    let world = world(Some(&json!({"stripe": ["whsec_1", "whsec_0"]}).to_string())).await;
    let lines = Arc::new(std::sync::Mutex::new(String::new()));
    let into = lines.clone();
    let _watching =
        oncehook_edge::metrics::watch(move |line| into.lock().unwrap().push_str(&format!("{line}\n")));
    for (secret, id, expected) in [
        (
            "whsec_1",
            "evt_1",
            &[
                "\"Ignored\":1.0",
                "\"Received\":1.0",
                "CommitLatency",
                "\"SecretPosition\":0.0",
            ][..],
        ),
        (
            "whsec_0",
            "evt_1",
            &["\"Duplicates\":1.0", "\"SecretPosition\":1.0"],
        ),
        (
            "whsec_x",
            "evt_2",
            &["\"Refused\":1.0", "\"reason\":\"signature_mismatch\""],
        ),
    ] {
        lines.lock().unwrap().clear();
        world.status("stripe", secret, id).await;
        let seen = lines.lock().unwrap().clone();
        for part in expected {
            assert!(seen.contains(part), "{part}: {seen}");
        }
        assert!(!seen.contains(id), "no event id is a dimension: {seen}");
    }
}
