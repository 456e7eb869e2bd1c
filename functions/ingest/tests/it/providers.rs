//! What providers ask of an endpoint besides taking events: challenges, batches, keys of their own.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::SignedDuration;
use lambda_http::{Body, Response};
use oncehook_core::{
    clock::Clock, config::Config, request::SignedRequest, rules::Rules, secret::Secret, verify::Source,
};
use oncehook_edge::{Environment, ProviderKeys, SecretStore, Secrets};
use oncehook_ingest::{Ingest, handle};
use oncehook_local::{
    behaviour::Behaviour, clock::ManualClock, database::Database, gateway, lines, recorder::Recorder,
};
use oncehook_store::{Ledger, Queue, create_table};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing::Level;

const CONFIG: &str = r#"
[source.meta]
scheme = "meta"
secret = "meta"
verify_token = "meta-token"

[source.hubspot]
scheme = "hubspot"
secret = "hubspot"
public_url = "https://hooks.example.com/crm"

[source.discord]
scheme = "discord"
secret = "discord"

[source.plaid]
scheme = "plaid"
secret = "plaid"

[source.mailgun]
scheme = "mailgun"
secret = "mailgun"

[source.stripe]
scheme = "stripe"
secret = "stripe"

[source.graph]
scheme = "microsoft-graph"
secret = "graph"

[source.asana]
scheme = "asana"
secret = "nothing-yet"
enrol_until = 2026-12-01T12:15:00Z

[source.sns]
scheme = "aws-sns"
secret = "sns"
"#;
/// RFC 8037, appendix A.1.
const ED25519: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
/// RFC 7515, appendix A.3.
const P256: &str = "8e9b109e719098bf980487df1f5d77e9cb29606ebed2263b5f57c213df84f4b2";

struct World {
    ingest: Ingest,
    config: Config,
    clock: Arc<ManualClock>,
    plaid: Recorder,
    _database: Database,
}

async fn world() -> World {
    lines::start(Level::INFO);
    let database = Database::start(None).unwrap();
    let client = oncehook_edge::local_dynamodb(&database.endpoint());
    create_table(&client, "oncehook").await.unwrap();
    let ledger = Ledger::new(client, "oncehook".into(), BTreeMap::new(), 4);
    let clock = Arc::new(ManualClock::at("2026-12-01T12:00:00Z".parse().unwrap()));
    let config = Config::parse(CONFIG, "oncehook.toml").unwrap();
    let environment = Environment::new(|name| {
        Some(match name {
            "ONCEHOOK_SECRET_META_TOKEN" => "token".to_owned(),
            "ONCEHOOK_SECRET_DISCORD" => format!("private:{ED25519}"),
            "ONCEHOOK_SECRET_PLAID" => "client:secret".to_owned(),
            "ONCEHOOK_SECRET_SNS" => "arn:aws:sns:eu-central-1:123456789012:orders".to_owned(),
            _ => "secret".to_owned(),
        })
    });
    let secrets = Arc::new(SecretStore::fixed(Secrets::read(&config, &environment)));
    let plaid = Recorder::start(None).unwrap();
    let rules = Arc::new(Rules::new(&config).unwrap());
    let queue = Queue::Local(mpsc::unbounded_channel().0);
    let mut ingest = Ingest::new(&config, secrets, rules, ledger, queue, clock.clone());
    ingest.sources = ingest.sources.with_keys(ProviderKeys::at(plaid.endpoint()));
    World {
        ingest,
        config,
        clock,
        plaid,
        _database: database,
    }
}

impl World {
    async fn post(&self, source: &str, secret: &str, body: &Value) -> Response<Body> {
        let (secret, _) = Secret::new(source, secret).unwrap();
        let signing = Source::new(&self.config.sources[source], vec![secret]).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let draft = SignedRequest {
            method: Method::POST,
            path_and_query: format!("/webhooks/{source}"),
            headers,
            body: Bytes::from(body.to_string()),
            source_ip: None,
        };
        let made = signing.make(draft, "", "", self.clock.now()).unwrap();
        self.send(
            Method::POST,
            source,
            &made.path_and_query,
            made.headers,
            made.body,
        )
        .await
    }

    async fn get(&self, source: &str, query: &str) -> Response<Body> {
        let path = format!("/webhooks/{source}?{query}");
        self.send(Method::GET, source, &path, HeaderMap::new(), Bytes::new())
            .await
    }

    async fn send(
        &self,
        method: Method,
        source: &str,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Response<Body> {
        let mut request = http::Request::builder().method(method).uri(path);
        *request.headers_mut().unwrap() = headers;
        let request = request.body(body).unwrap();
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let event = gateway::event_json(&request, source, ip, self.clock.now(), "request").to_string();
        handle(&self.ingest, lambda_http::request::from_str(&event).unwrap()).await
    }
}

fn text(response: &Response<Body>) -> &str {
    std::str::from_utf8(response.body()).unwrap()
}

#[tokio::test]
async fn only_those_who_know_the_token_get_an_echo() {
    let world = world().await;
    let query = |token: &str| format!("hub.mode=subscribe&hub.challenge=%3Cb%3E1&hub.verify_token={token}");
    let answer = world.get("meta", &query("token")).await;
    assert_eq!((answer.status().as_u16(), text(&answer)), (200, "<b>1"));
    assert_eq!(answer.headers()["content-type"], "text/plain");
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    let answer = world.get("meta", &query("other")).await;
    assert_eq!((answer.status().as_u16(), text(&answer)), (403, ""));
    assert_eq!(world.get("stripe", &query("token")).await.status(), 405);
}

#[tokio::test]
async fn a_token_of_mailgun_serves_for_one_event() {
    let world = world().await;
    let outcome = |answer: &Response<Body>| {
        let outcome = answer.headers()["oncehook-outcome"].to_str().unwrap();
        outcome.to_owned()
    };
    let event = |id: &str, token: &str| json!({"signature": {"token": token}, "event-data": {"id": id, "event": "opened"}});
    let first = world.post("mailgun", "secret", &event("1", "a")).await;
    assert_eq!((first.status().as_u16(), &*outcome(&first)), (200, "ignored"));
    let again = world.post("mailgun", "secret", &event("1", "a")).await;
    assert!(again.headers().contains_key("oncehook-replayed"));
    let forged = world.post("mailgun", "secret", &event("2", "a")).await;
    assert_eq!((forged.status().as_u16(), &*outcome(&forged)), (200, "held"));
    let other = world.post("mailgun", "secret", &event("3", "b")).await;
    assert_eq!(outcome(&other), "ignored");
}

#[tokio::test]
async fn a_redelivered_batch_with_a_new_element_is_no_repetition() {
    let world = world().await;
    let element =
        |id: u32| json!({"eventId": id, "subscriptionId": 1, "portalId": 1, "objectId": 1, "occurredAt": 1});
    let batch = |ids: &[u32]| json!(ids.iter().map(|id| element(*id)).collect::<Vec<_>>());
    for (ids, replayed) in [
        (&[1_u32, 2][..], false),
        (&[1, 2], true),
        (&[1, 2, 3], false),
        (&[3], true),
    ] {
        let answer = world.post("hubspot", "secret", &batch(ids)).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(
            answer.headers().contains_key("oncehook-replayed"),
            replayed,
            "{ids:?}"
        );
    }
    // As the provider was told it, not as the function sees it.
    let body = batch(&[9]).to_string();
    let mut config = world.config.sources["hubspot"].clone();
    config.public_url = Some("https://hooks.example.com/webhooks/hubspot".to_owned());
    let other = Source::new(&config, vec![Secret::new("x", "secret").unwrap().0]).unwrap();
    let headers = other
        .sign("", "", body.as_bytes(), world.clock.now(), &HeaderMap::new())
        .unwrap();
    let answer = world
        .send(Method::POST, "hubspot", "/webhooks/hubspot", headers, body.into())
        .await;
    assert_eq!(answer.status(), 401);
}

#[tokio::test]
async fn discord_is_answered_with_the_status_that_it_wants() {
    let world = world().await;
    let secret = format!("private:{ED25519}");
    let pong = world.post("discord", &secret, &json!({"type": 1})).await;
    assert_eq!((pong.status().as_u16(), text(&pong)), (200, r#"{"type":1}"#));
    assert_eq!(pong.headers()["content-type"], "application/json");
    assert_eq!(
        world.post("discord", &secret, &json!({"type": 0})).await.status(),
        204
    );
    let event =
        json!({"type": 1, "event": {"type": "APPLICATION_AUTHORIZED", "timestamp": "2026-12-01T12:00:00"}});
    assert_eq!(world.post("discord", &secret, &event).await.status(), 204);
    // Discord probes with wrong signatures and wants them refused.
    let forged = world
        .post("discord", &format!("private:{P256}"), &json!({"type": 1}))
        .await;
    assert_eq!((forged.status().as_u16(), text(&forged)), (401, ""));
}

#[tokio::test]
async fn without_its_key_a_request_waits_and_with_it_it_is_believed() {
    let world = world().await;
    let body = json!({"webhook_type": "ITEM", "webhook_code": "ERROR", "item_id": "i1"});
    let private = format!("private:{P256}");
    let answer = world.post("plaid", &private, &body).await;
    assert_eq!(answer.status(), 503, "the key cannot be had");
    assert!(answer.headers().contains_key("retry-after"));
    world.plaid.answer(json!({"key": {"kty": "EC", "crv": "P-256", "expired_at": null,
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}}));
    assert_eq!(world.post("plaid", &private, &body).await.status(), 200);
    let forged = format!("private:{ED25519}");
    assert_eq!(world.post("plaid", &forged, &body).await.status(), 401);
    assert_eq!(world.plaid.received().len(), 2, "the key is kept");
}

/// A message of the vectors of core, as SNS would send it.
fn sns(id: &str) -> Bytes {
    let vectors: Vec<Value> =
        serde_json::from_str(include_str!("../../../core/tests/data/vectors.json")).unwrap();
    let vector = vectors.iter().find(|vector| vector["id"] == id).unwrap();
    Bytes::from(vector["body"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_certificate_is_fetched_once_and_without_it_a_message_waits() {
    let world = world().await;
    let post = |id: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(
            "content-type",
            HeaderValue::from_static("text/plain; charset=UTF-8"),
        );
        world.send(Method::POST, "sns", "/webhooks/sns", headers, sns(id))
    };
    let answer = post("aws_sns-01").await;
    assert_eq!(answer.status(), 503, "what comes is no certificate");
    let certificate = include_str!("../../../core/tests/data/sns.pem");
    world.plaid.answer(json!(certificate));
    assert_eq!(post("aws_sns-05").await.status(), 401);
    assert_eq!(post("aws_sns-01").await.status(), 200);
    let again = post("aws_sns-01").await;
    assert!(again.headers().contains_key("oncehook-replayed"));
    assert_eq!(post("aws_sns-05").await.status(), 401);
    assert_eq!(post("aws_sns-06").await.status(), 200, "the same message");
    let asked = world.plaid.received();
    assert_eq!(
        asked.len(),
        3,
        "a certificate is kept once a message under it was believed"
    );
    assert_eq!(asked[2].path, "/SimpleNotificationService-0123456789abcdef.pem");

    // A subscription is confirmed before it is answered, and no event.
    let answer = post("aws_sns-03").await;
    assert_eq!((answer.status().as_u16(), text(&answer)), (200, ""));
    let asked = world.plaid.received();
    assert!(
        asked[3]
            .path
            .starts_with("/?Action=ConfirmSubscription&TopicArn=")
    );
    world.plaid.next(Behaviour::Status(500, None));
    assert_eq!(post("aws_sns-03").await.status(), 503, "SNS is to come again");

    // Later the certificate cannot be had: the one from before serves.
    world.clock.advance(SignedDuration::from_hours(2));
    world.plaid.next(Behaviour::Status(500, None));
    assert_eq!(post("aws_sns-02").await.status(), 200);
}

#[tokio::test]
async fn graphs_validation_token_is_echoed_as_text_and_nothing_that_a_browser_runs() {
    let world = world().await;
    let ask = |token: &str| {
        let path = format!("/webhooks/graph?validationToken={token}");
        let world = &world;
        async move {
            world
                .send(Method::POST, "graph", &path, HeaderMap::new(), Bytes::new())
                .await
        }
    };
    let answer = ask("Validation%3A+Testing+client+application+reachability").await;
    assert_eq!(
        (answer.status().as_u16(), text(&answer)),
        (200, "Validation: Testing client application reachability")
    );
    assert_eq!(answer.headers()["content-type"], "text/plain");
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    assert_eq!(ask("%3Cscript%3E").await.status(), 403);
}

#[tokio::test]
async fn asanas_secret_is_given_back_until_the_time_that_is_named_and_not_kept() {
    let world = world().await;
    let ask = |headers: &[(&'static str, &'static str)]| {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers: HeaderMap = headers.collect();
        world.send(
            Method::POST,
            "asana",
            "/webhooks/asana",
            headers,
            Bytes::from_static(b"{}"),
        )
    };
    let secret = "b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81";
    let answer = ask(&[("x-hook-secret", secret)]).await;
    assert_eq!((answer.status().as_u16(), text(&answer)), (200, ""));
    assert_eq!(answer.headers()["x-hook-secret"], secret);
    assert!(!lines::take().contains(secret));
    assert_eq!(ask(&[("x-hook-secret", "<script>")]).await.status(), 403);
    // It is no way round a signature.
    let signed = [("x-hook-secret", secret), ("x-hook-signature", "00")];
    assert_ne!(ask(&signed).await.status(), 200);
    world.clock.advance(SignedDuration::from_mins(15));
    let late = ask(&[("x-hook-secret", secret)]).await;
    assert_eq!(late.status(), 403);
    assert!(!late.headers().contains_key("x-hook-secret"));
}
