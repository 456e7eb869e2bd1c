//! Public keys from a stand-in for Plaid's API.

use jiff::{SignedDuration, Timestamp};
use oncehook_core::secret::Secret;
use oncehook_edge::ProviderKeys;
use oncehook_local::recorder::Recorder;
use serde_json::{Value, json};

fn now() -> Timestamp {
    "2026-12-01T12:00:00Z".parse().unwrap()
}

/// The key of RFC 7515, appendix A.3.
fn answer(expired_at: &Value) -> Value {
    json!({"request_id": "1", "key": {"alg": "ES256", "kid": "k1", "kty": "EC", "crv": "P-256", "use": "sig",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        "created_at": 1_560_466_143, "expired_at": expired_at}})
}

fn credentials(text: &str) -> Secret {
    Secret::new("plaid", text).unwrap().0
}

#[tokio::test]
async fn a_key_is_asked_for_once_an_hour() {
    let plaid = Recorder::start(None).unwrap();
    plaid.answer(answer(&Value::Null));
    let keys = ProviderKeys::at(plaid.endpoint());
    let secret = credentials("client:secret");
    for minutes in [0, 1, 59, 61] {
        let at = now() + SignedDuration::from_mins(minutes);
        assert!(keys.key(&secret, "k1", at).await.is_some());
    }
    let asked = plaid.received();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].path, "/webhook_verification_key/get");
    let question: Value = serde_json::from_slice(&asked[0].body).unwrap();
    assert_eq!(
        question,
        json!({"client_id": "client", "secret": "secret", "key_id": "k1"})
    );
}

#[tokio::test]
async fn what_is_no_key_or_has_expired_is_not_believed() {
    let plaid = Recorder::start(None).unwrap();
    let keys = ProviderKeys::at(plaid.endpoint());
    let secret = credentials("client:secret:sandbox");
    let large = json!({"key": answer(&Value::Null)["key"], "x": "x".repeat(20_000)});
    for answer in [
        json!({}),
        answer(&json!(1_600_000_000)),
        json!({"key": {"kty": "oct"}}),
        large,
    ] {
        plaid.answer(answer);
        assert!(keys.key(&secret, "k1", now()).await.is_none());
    }
    let question: Value = serde_json::from_slice(&plaid.received()[0].body).unwrap();
    assert_eq!(question["secret"], "secret");
    // Nobody listens there.
    let nowhere = ProviderKeys::at("http://127.0.0.1:1".to_owned());
    assert!(nowhere.key(&secret, "k1", now()).await.is_none());
}

#[tokio::test]
async fn strangers_cannot_make_it_ask_at_will() {
    let plaid = Recorder::start(None).unwrap();
    let keys = ProviderKeys::at(plaid.endpoint());
    let secret = credentials("client:secret");
    for index in 0..30 {
        assert!(keys.key(&secret, &format!("k{index}"), now()).await.is_none());
    }
    assert_eq!(plaid.received().len(), 10);
    plaid.answer(answer(&Value::Null));
    assert!(keys.key(&secret, "k1", now()).await.is_none());
    let later = now() + SignedDuration::from_mins(1);
    assert!(keys.key(&secret, "k1", later).await.is_some());
}

#[tokio::test]
async fn strangers_use_up_the_questions_of_one_source_only() {
    let provider = Recorder::start(None).unwrap();
    let keys = ProviderKeys::at(provider.endpoint());
    let url = |index: u32| format!("https://sns.eu-central-1.amazonaws.com/{index}.pem");
    for index in 0..30 {
        let found = keys.certificate("orders", &url(index), now()).await;
        assert_eq!(found.is_some(), index < 10, "{index}");
    }
    assert!(keys.certificate("other", &url(99), now()).await.is_some());
    assert!(keys.visit("orders", &url(99), now()).await);
    // What was kept is at hand all the same, and stays when it cannot be fetched again.
    keys.keep(url(1), "pem".into(), now());
    let later = now() + SignedDuration::from_hours(2);
    for index in 0..30 {
        let _spent = keys.certificate("orders", &url(100 + index), later).await;
    }
    let found = keys.certificate("orders", &url(1), later).await;
    assert_eq!(found.as_deref(), Some(b"pem".as_slice()));
}
