//! Every preset against a fake of its API: acts once, is recognised, and stops where the document says nothing safe.
//!
//! Requests are rendered by rules and judged by `settle`, as in production; only the database is left out.

use std::time::Duration;

use jiff::SignedDuration;
use oncehook_core::{
    config::Config,
    outbox::{EffectId, OutboxItem},
    plan::Handler,
    preset::{Keys, Preset},
    rules::Rules,
    settle::{Admission, Attempt, Settlement, Stuck, admit, settle},
};
use oncehook_drain::Destination;
use oncehook_local::{
    behaviour::Behaviour,
    keyed::{KeyIn, KeyedApi, OtherBody, Repeat, contract, names},
    sample,
};

use crate::{
    server::{Script, Server},
    world::{self, now},
};

/// The body of the effect: what the API needs for its key to be looked at.
fn body(preset: &Preset) -> &'static str {
    match preset.name {
        "shopify" => {
            r#"{"query": "mutation($idempotencyKey: String!) { refundCreate @idempotent(key: $idempotencyKey) }"}"#
        }
        _ if preset.content_type != "application/json" => "amount=1&to={{ meta.id }}",
        _ => r#"{"amount": 1.10, "to": {{ meta.id | tojson }}}"#,
    }
}

fn path(preset: &Preset) -> String {
    let url: String = preset.url.split(['{', '}']).collect();
    url.replace("..", "x")
        .parse::<http::Uri>()
        .unwrap()
        .path()
        .to_owned()
}

fn text(preset: &Preset, endpoint: &str) -> String {
    let undocumented = preset.keys.is_some_and(|keys| keys.retention.is_none());
    let keys = if undocumented {
        "idempotency = { retention = \"24h\" }"
    } else {
        ""
    };
    format!(
        "[source.stripe]\nscheme = \"stripe\"\nsecret = \"s\"\n[destination.mail]\npreset = \"{}\"\nurl = \"{endpoint}{}\"\n\
         secret = \"mail\"\n{keys}\n[[rule]]\nname = \"r\"\nsource = \"stripe\"\nevents = [\"paid\"]\n[[rule.effect]]\nname = \"e\"\n\
         destination = \"mail\"\nbody = '{}'\n",
        preset.name,
        path(preset),
        body(preset)
    )
}

struct Stand {
    destination: Destination,
    item: OutboxItem,
}

impl Stand {
    fn new(preset: &Preset, endpoint: &str) -> Self {
        let config = Config::parse(&text(preset, endpoint), "f").unwrap_or_else(|errors| panic!("{errors}"));
        let plan = Rules::new(&config)
            .unwrap()
            .plan(&sample::event("evt_1"))
            .unwrap();
        let effect = plan.rules[0].effects[0].clone();
        let id = EffectId {
            namespace: "stripe",
            scope: "acct",
            id: "evt_1",
            rule: "r",
            effect: "e",
            generation: 0,
        };
        let mut destination = config.destinations["mail"].clone();
        destination.timeout = SignedDuration::from_secs(2);
        let item = OutboxItem {
            idempotency_key: id.key(effect.key),
            request: effect.request,
            ..world::item(endpoint)
        };
        Self {
            destination: world::destination_with(destination, "user:password"),
            item,
        }
    }

    /// One attempt and what becomes of the item.
    async fn attempt(&self, item: &OutboxItem, first: bool) -> (Attempt, Settlement) {
        let attempt = self
            .destination
            .deliver(item, None, Duration::from_secs(2), now())
            .await
            .unwrap();
        let settled = settle(item, &self.destination.policy(), &attempt, first, now(), 0.5);
        (attempt, settled.settlement)
    }

    /// The item as it is claimed the second time.
    fn again(&self) -> OutboxItem {
        OutboxItem {
            attempts: 2,
            ..self.item.clone()
        }
    }
}

fn keyed() -> impl Iterator<Item = (&'static Preset, Keys)> {
    let callable = Preset::all().filter(|preset| preset.barred.is_none());
    callable.filter_map(|preset| Some((preset, preset.keys?)))
}

#[test]
fn every_preset_has_a_contract_of_its_own_and_agrees_with_it() {
    assert_eq!(names().len(), Preset::all().count());
    for preset in Preset::all() {
        let contract = contract(preset.name).unwrap_or_else(|| panic!("{} has no contract", preset.name));
        assert_eq!(
            contract.key == KeyIn::Nowhere,
            preset.keys.is_none(),
            "{}",
            preset.name
        );
        if let Some(retention) = preset.keys.and_then(|keys| keys.retention) {
            assert!(retention.unsigned_abs() <= contract.kept, "{}", preset.name);
        }
    }
}

#[tokio::test]
async fn a_repetition_after_a_lost_answer_is_recognised_and_acts_once() {
    for (preset, _) in keyed() {
        let api = KeyedApi::start(preset.name).unwrap();
        let stand = Stand::new(preset, &api.endpoint());
        api.next(Behaviour::AcceptAndDrop);
        let (_, first) = stand.attempt(&stand.item, true).await;
        let Settlement::RetryAt(at) = first else {
            panic!("{}: {first:?}", preset.name)
        };
        assert!(at >= now() + preset.gap, "{} asks for a gap", preset.name);
        let (attempt, second) = stand.attempt(&stand.again(), false).await;
        assert_eq!(second, Settlement::Done, "{}: {attempt:?}", preset.name);
        assert_eq!(
            (api.calls(), api.acts().len()),
            (2, 1),
            "{} acted twice",
            preset.name
        );
        let marked = matches!(attempt, Attempt::Recognised { .. });
        assert_eq!(
            marked,
            matches!(api.contract().repeat, Repeat::Marked(_)),
            "{}",
            preset.name
        );
        assert_eq!(
            matches!(attempt, Attempt::Duplicate { .. }),
            matches!(api.contract().repeat, Repeat::Error(_)),
            "{}",
            preset.name
        );
    }
}

#[tokio::test]
async fn one_key_with_another_request_parks_where_the_api_notices() {
    let mut noticed = 0;
    for (preset, _) in keyed() {
        let api = KeyedApi::start(preset.name).unwrap();
        let stand = Stand::new(preset, &api.endpoint());
        assert_eq!(stand.attempt(&stand.item, true).await.1, Settlement::Done);
        let mut other = stand.again();
        let oncehook_core::plan::EffectBody::Text(text) = &mut other.request.body else {
            panic!()
        };
        *text = text
            .replace("evt_1", "evt_2")
            .replace("{\"query", "{\"x\":1,\"query");
        let (attempt, settlement) = stand.attempt(&other, false).await;
        assert_eq!(api.acts().len(), 1, "{}", preset.name);
        if matches!(api.contract().other_body, OtherBody::Refused(_)) && preset.name != "brevo" {
            assert!(
                matches!(settlement, Settlement::Parked(_)),
                "{}: {attempt:?}",
                preset.name
            );
            noticed += 1;
        }
    }
    assert_eq!(noticed, 5, "stripe, square, shopify, resend, telnyx");
}

#[tokio::test]
async fn a_key_in_use_is_tried_again_later() {
    let mut documented = 0;
    for (preset, _) in keyed().filter(|(preset, _)| preset.name != "brevo") {
        let api = KeyedApi::start(preset.name).unwrap();
        let stand = Stand::new(preset, &api.endpoint());
        if api.contract().in_flight.is_none() {
            continue;
        }
        documented += 1;
        api.next(Behaviour::AcceptAndDrop);
        stand.attempt(&stand.item, true).await;
        api.busy(true);
        let (attempt, settlement) = stand.attempt(&stand.again(), false).await;
        assert!(
            matches!(attempt, Attempt::Later { .. }),
            "{}: {attempt:?}",
            preset.name
        );
        assert!(matches!(settlement, Settlement::RetryAt(_)), "{}", preset.name);
        api.busy(false);
        assert_eq!(stand.attempt(&stand.again(), false).await.1, Settlement::Done);
        assert_eq!(api.acts().len(), 1, "{}", preset.name);
    }
    assert_eq!(documented, 6, "stripe, paypal, adyen, checkout, shopify, resend");
}

#[tokio::test]
async fn after_the_window_the_api_would_act_again_and_the_item_is_parked_instead() {
    for (preset, _) in keyed() {
        let api = KeyedApi::start(preset.name).unwrap();
        let stand = Stand::new(preset, &api.endpoint());
        let policy = stand.destination.policy();
        let retention = policy.key_retention.unwrap();
        assert_eq!(stand.attempt(&stand.item, true).await.1, Settlement::Done);
        let late = now() + retention;
        let admitted = admit(&stand.again(), &policy, false, late);
        let parked = matches!(&admitted, Admission::Settle(settled) if matches!(settled.settlement, Settlement::Parked(_)));
        assert!(parked, "{}: {admitted:?}", preset.name);
        api.advance(api.contract().kept);
        stand.attempt(&stand.again(), false).await;
        assert_eq!(api.acts().len(), 2, "{}: the fake forgets", preset.name);
    }
}

#[tokio::test]
async fn a_stored_server_error_parks_at_once_and_an_unprotected_one_is_not_repeated() {
    let api = KeyedApi::start("stripe").unwrap();
    let stand = Stand::new(Preset::find("stripe").unwrap(), &api.endpoint());
    api.next(Behaviour::AcceptAndAnswer(500));
    let (_, settlement) = stand.attempt(&stand.item, true).await;
    assert!(
        matches!(settlement, Settlement::RetryAt(_)),
        "it could be a first answer"
    );
    let (attempt, settlement) = stand.attempt(&stand.again(), false).await;
    assert!(
        matches!(
            attempt,
            Attempt::Stuck {
                why: Stuck::StoredError,
                status: 500,
                ..
            }
        ),
        "{attempt:?}"
    );
    assert!(matches!(settlement, Settlement::Parked(_)));
    assert_eq!(api.acts().len(), 1);

    let api = KeyedApi::start("checkout").unwrap();
    let stand = Stand::new(Preset::find("checkout").unwrap(), &api.endpoint());
    api.next(Behaviour::AcceptAndAnswer(502));
    let (attempt, settlement) = stand.attempt(&stand.item, true).await;
    assert!(
        matches!(
            attempt,
            Attempt::Stuck {
                why: Stuck::Unprotected,
                ..
            }
        ),
        "{attempt:?}"
    );
    assert!(matches!(settlement, Settlement::Parked(_)));
    stand.attempt(&stand.again(), false).await;
    assert_eq!(
        api.acts().len(),
        2,
        "the fake charges again, as its document says"
    );
}

#[tokio::test]
async fn without_keys_a_lost_answer_parks() {
    for preset in Preset::all().filter(|preset| preset.keys.is_none() && preset.barred.is_none()) {
        let api = KeyedApi::start(preset.name).unwrap();
        let stand = Stand::new(preset, &api.endpoint());
        api.next(Behaviour::AcceptAndDrop);
        let (_, settlement) = stand.attempt(&stand.item, true).await;
        assert!(
            matches!(settlement, Settlement::Parked(_)),
            "{}: {settlement:?}",
            preset.name
        );
        assert_eq!(api.acts().len(), 1);
        assert_eq!(
            stand.attempt(&stand.item, true).await.1,
            Settlement::Done,
            "{}",
            preset.name
        );
    }
}

async fn answered(preset: &str, head: &str, body: &str) -> Attempt {
    let answer = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let server = Server::start(Script::Answer(answer)).await;
    let stand = Stand::new(
        Preset::find(preset).unwrap(),
        server.url.trim_end_matches("/hook"),
    );
    stand.attempt(&stand.item, true).await.0
}

#[tokio::test]
async fn answers_mean_what_each_document_says() {
    let wait = |attempt: &Attempt| match attempt {
        Attempt::Throttled { retry_after } => retry_after.map(|wait| wait.as_secs()),
        other => panic!("{other:?}"),
    };
    let reset = now().as_second() + 40;
    let throttled = |body: &'static str| async move { answered("shopify", "200 OK", body).await };
    let found = throttled(r#"{"errors":[{"extensions":{"code":"THROTTLED"}}]}"#).await;
    assert_eq!(wait(&found), None);
    let head = format!("429 Slow\r\nx-ratelimit-reset: {reset}");
    assert_eq!(wait(&answered("sendgrid", &head, "").await), Some(40));
    let head = format!("403 No\r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: {reset}");
    assert_eq!(wait(&answered("github", &head, "").await), Some(40));
    assert_eq!(
        wait(&answered("github", "403 No\r\nretry-after: 9", "").await),
        Some(9)
    );
    assert_eq!(
        wait(&answered("telnyx", "429 No\r\nx-ratelimit-reset: 3", "").await),
        Some(3)
    );
    assert_eq!(wait(&answered("sparkpost", "420 Limit", "").await), None);
    assert!(matches!(
        answered("github", "403 No", "").await,
        Attempt::Unauthorized { status: 403 }
    ));

    let refused = [
        ("slack", "200 OK", r#"{"ok":false,"error":"channel_not_found"}"#),
        (
            "shopify",
            "200 OK",
            r#"{"data":{"x":{"userErrors":[{"code":"INVALID"}]}}}"#,
        ),
        ("resend", "422 No", r#"{"name":"validation_error"}"#),
        ("stripe", "402 Declined", r#"{"error":{"type":"card_error"}}"#),
    ];
    for (preset, head, body) in refused {
        let found = answered(preset, head, body).await;
        assert!(matches!(found, Attempt::Refused { .. }), "{preset}: {found:?}");
    }
    let uncertain = [
        ("slack", "200 OK", r#"{"ok":false,"error":"internal_error"}"#),
        ("slack", "200 OK", "<html>"),
        (
            "shopify",
            "200 OK",
            r#"{"errors":[{"message":"Internal error"}]}"#,
        ),
        ("shopify", "200 OK", ""),
        ("mailgun", "500 Oh", ""),
    ];
    for (preset, head, body) in uncertain {
        let found = answered(preset, head, body).await;
        assert!(
            matches!(found, Attempt::Ambiguous { status: Some(_), .. }),
            "{preset}: {found:?}"
        );
    }
    let found = answered(
        "shopify",
        "200 OK",
        r#"{"data":{"x":{"userErrors":[{"code":"IDEMPOTENCY_PREVIOUS_ATTEMPT_FAILED"}]}}}"#,
    )
    .await;
    assert!(
        matches!(
            found,
            Attempt::Stuck {
                why: Stuck::Unprotected,
                ..
            }
        ),
        "{found:?}"
    );
}

#[tokio::test]
async fn keys_in_bodies_are_the_same_bytes_each_time_and_form_values_cannot_add_fields() {
    let api = KeyedApi::start("square").unwrap();
    let stand = Stand::new(Preset::find("square").unwrap(), &api.endpoint());
    stand.attempt(&stand.item, true).await;
    let key = &stand.item.idempotency_key;
    assert_eq!(
        std::str::from_utf8(&api.acts()[0]).unwrap(),
        format!(r#"{{"amount":1.10,"idempotency_key":"{key}","to":"evt_1"}}"#)
    );
    assert!(
        key.len() == 32 && !format!("{:?}", stand.item.request).contains(key.as_str()),
        "it is not stored in the body"
    );

    let config = Config::parse(
        &text(Preset::find("stripe").unwrap(), "https://api.stripe.com"),
        "f",
    )
    .unwrap();
    let plan = Rules::new(&config)
        .unwrap()
        .plan(&sample::event("a&amount=9 9%"))
        .unwrap();
    let oncehook_core::plan::EffectBody::Text(body) = &plan.rules[0].effects[0].request.body else {
        panic!()
    };
    assert_eq!(body, "amount=1&to=a%26amount%3D9%209%25");
}

#[tokio::test]
async fn basic_authentication_is_sent_and_an_answer_that_repeats_it_is_cleaned() {
    // base64 of `user:password`, and of `api:user:password`.
    for (preset, sent) in [
        ("twilio", "dXNlcjpwYXNzd29yZA=="),
        ("mailgun", "YXBpOnVzZXI6cGFzc3dvcmQ="),
    ] {
        let body = format!("no: {sent}, user:password");
        let answer = format!("HTTP/1.1 400 No\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let server = Server::start(Script::Answer(answer)).await;
        let stand = Stand::new(
            Preset::find(preset).unwrap(),
            server.url.trim_end_matches("/hook"),
        );
        let (attempt, _) = stand.attempt(&stand.item, true).await;
        let Attempt::Refused { detail, .. } = attempt else {
            panic!("{attempt:?}")
        };
        assert_eq!(detail, "no: [secret], [secret]", "{preset}");
        let request = &server.requests()[0];
        assert!(
            request.contains(&format!("authorization: Basic {sent}")),
            "{request}"
        );
        assert!(!format!("{:?}{:?}", stand.item, stand.destination).contains("password"));
    }
}
