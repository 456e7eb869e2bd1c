//! What really arrives besides events: handshakes, challenges, batches, compressed bodies, fetched keys, limits.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use std::io::Write as _;

use http::{HeaderMap, HeaderValue, Method};
use oncehook_core::{
    request::SignedRequest,
    secret::Secret,
    verify::{PublicKey, Received, Reply, Scheme, Source, VerifyError, Wanted},
};
use serde_json::{Value, json};

use crate::{
    vectors::{config, request},
    verify_laws::{NOW, at, named, source},
};

const KEY: &[u8] = b"0123456789abcdef01234567";

/// What comes of a body that the provider signs.
fn receive(scheme: &Scheme, headers: &[(&'static str, &str)], body: &str) -> Received {
    let source = source(scheme, &[KEY]);
    let mut draft = request(HeaderMap::new(), body.into());
    let sent = {
        for (name, value) in headers {
            draft.headers.insert(*name, value.parse().unwrap());
        }
        source.make(draft, "id-1", "kind", at(NOW)).unwrap()
    };
    source.events(source.verify(sent, at(NOW)).unwrap())
}

fn reply(received: Received) -> Reply {
    match received {
        Received::Handshake(reply) => reply,
        other => panic!("no handshake: {other:?}"),
    }
}

fn ids(received: Received) -> Vec<String> {
    match received {
        Received::Events(events) => events.into_iter().map(|event| event.id).collect(),
        other => panic!("no events: {other:?}"),
    }
}

#[test]
fn handshakes_are_answered_as_documented_and_are_no_events() {
    let discord = named("discord");
    let pong = reply(receive(&discord, &[], r#"{"type":1}"#));
    assert_eq!((pong.status, &*pong.body), (200, r#"{"type":1}"#));
    assert_eq!(reply(receive(&discord, &[], r#"{"type":0}"#)).status, 204);
    let event = r#"{"type":1,"event":{"type":"A","timestamp":"2024-10-18T14:42:53.064834"}}"#;
    assert_eq!(
        ids(receive(&discord, &[], event)),
        ["A:2024-10-18T14%3A42%3A53.064834"]
    );

    let zoom = receive(
        &named("zoom"),
        &[],
        r#"{"event":"endpoint.url_validation","payload":{"plainToken":"abc"}}"#,
    );
    let answer: Value = serde_json::from_str(&reply(zoom).body).unwrap();
    assert_eq!(answer["plainToken"], "abc");
    assert_eq!(answer["encryptedToken"].as_str().unwrap().len(), 64);

    let headers = [("twitch-eventsub-message-type", "webhook_callback_verification")];
    let echo = reply(receive(&named("twitch"), &headers, r#"{"challenge":"pogchamp"}"#));
    assert_eq!((echo.content_type, &*echo.body), ("text/plain", "pogchamp"));

    let source = source(&named("github"), &[KEY]);
    let sent = source
        .sign("d", "ping", b"{}", at(NOW), &HeaderMap::new())
        .unwrap();
    let verified = source.verify(request(sent, b"{}".to_vec()), at(NOW)).unwrap();
    assert_eq!(reply(source.events(verified)).status, 200);
}

#[test]
fn zooms_answer_is_the_hmac_of_its_token() {
    // Computed with another library, as developers.zoom.us says under "Validate your webhook endpoint".
    let (secret, _) = Secret::new("zoom", "4fv1RkqGQUq5sWbEz6hA5A").unwrap();
    let source = Source::new(&config(named("zoom"), None), vec![secret]).unwrap();
    let body = br#"{"event":"endpoint.url_validation","payload":{"plainToken":"xys8n8PGS7mAU0m5-YJjRA"}}"#;
    let sent = source.sign("", "", body, at(NOW), &HeaderMap::new()).unwrap();
    let verified = source.verify(request(sent, body.to_vec()), at(NOW)).unwrap();
    let answer: Value = serde_json::from_str(&reply(source.events(verified)).body).unwrap();
    assert_eq!(
        answer["encryptedToken"],
        "2fffc6a967dde4f68024025a5bd991c5ae1e5313b4e6365be4883e3e81d479b3"
    );
}

fn asked(source: &Source, method: Method, query: &str) -> Option<String> {
    let asked = SignedRequest {
        method,
        path_and_query: format!("/webhooks/source?{query}"),
        ..request(HeaderMap::new(), vec![])
    };
    source.challenge(&asked).map(|reply| reply.body)
}

#[test]
fn metas_challenge_is_echoed_to_those_who_know_the_token() {
    let good = "hub.mode=subscribe&hub.verify_token=to%20ken&hub.challenge=1158201444";
    let without = source(&named("meta"), &[KEY]);
    assert_eq!(asked(&without, Method::GET, good), None);
    let (token, _) = Secret::new("token", "to ken").unwrap();
    let source = source(&named("meta"), &[KEY]).with_verify_token(token);
    assert_eq!(asked(&source, Method::GET, good).as_deref(), Some("1158201444"));
    assert_eq!(asked(&source, Method::POST, good), None);
    for bad in [
        "hub.mode=subscribe&hub.verify_token=token&hub.challenge=1",
        "hub.mode=subscribe&hub.challenge=1",
        "hub.mode=unsubscribe&hub.verify_token=to%20ken&hub.challenge=1",
        "hub.mode=subscribe&hub.verify_token=to%20ken",
        "",
    ] {
        assert_eq!(asked(&source, Method::GET, bad), None, "{bad}");
    }
    let long = format!(
        "hub.mode=subscribe&hub.verify_token=to+ken&hub.challenge={}",
        "1".repeat(600)
    );
    assert_eq!(asked(&source, Method::GET, &long), None);
}

#[test]
fn braintrees_challenge_signs_nothing_that_could_be_a_notification() {
    let source = source(&named("braintree"), &[KEY]);
    let challenge = "20f9f8ed05f77439fe955c977e4c8a53";
    let answer = asked(&source, Method::GET, &format!("bt_challenge={challenge}")).unwrap();
    let (public, signature) = answer.split_once('|').unwrap();
    assert_eq!(signature.len(), 40);
    for bad in [
        "",
        "20f9",
        "20F9F8ED05F77439FE955C977E4C8A53",
        "PG5vdGlmaWNhdGlvbj4=",
        &"a".repeat(33),
    ] {
        assert_eq!(
            asked(&source, Method::GET, &format!("bt_challenge={bad}")),
            None,
            "{bad}"
        );
    }
    // The signature that anybody can get does not pass for that of a notification.
    let body = format!("bt_signature={public}%7C{signature}&bt_payload={challenge}");
    let error = source
        .verify(request(HeaderMap::new(), body.into()), at(NOW))
        .unwrap_err();
    assert_eq!((error, error.status()), (VerifyError::MalformedPayload, 400));
}

#[test]
fn every_element_of_a_batch_is_an_event_of_its_own() {
    let body =
        "[{\"sg_event_id\":\"a\",\"event\":\"open\" },\r\n{\"sg_event_id\":\"b\",\"event\":\"click\"}]\r\n";
    let Received::Events(events) = receive(&named("sendgrid"), &[], body) else {
        panic!("a handshake")
    };
    assert_eq!(&*events[0].body, b"{\"sg_event_id\":\"a\",\"event\":\"open\" }");
    assert_eq!((&*events[1].id, &*events[1].kind), ("b", "click"));
    assert!(
        events
            .iter()
            .all(|event| event.id_signed && event.defect.is_none())
    );

    let one = json!({"eventId": 1, "subscriptionId": 2, "portalId": 3, "objectId": 4, "occurredAt": 1_564_113_600_000_i64});
    let other = json!({"eventId": 1, "subscriptionId": 9, "portalId": 3, "objectId": 4, "occurredAt": 1_564_113_600_000_i64});
    let both = ids(receive(&named("hubspot"), &[], &json!([one, other]).to_string()));
    assert_eq!(both, ["1:2:3:4:1564113600000", "1:9:3:4:1564113600000"]);

    let item = |reference: &str| json!({"NotificationRequestItem": {"pspReference": reference, "eventCode": "REFUND", "success": "true"}});
    let body = json!({"notificationItems": [item("p1"), item("p:2")]}).to_string();
    assert_eq!(
        ids(receive(&named("adyen"), &[], &body)),
        ["p1:REFUND:true", "p%3A2:REFUND:true"]
    );
    assert_eq!(
        ids(receive(&named("gocardless"), &[], r#"{"events":[]}"#)),
        Vec::<String>::new()
    );
}

#[test]
fn a_redelivered_batch_gives_its_events_the_same_ids() {
    let message = |id: &str| json!({"id": id, "type": "text"});
    let delivery = |messages: Vec<Value>| {
        json!({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [{"field": "messages",
            "value": {"messages": messages, "statuses": [{"id": "wamid.0", "status": "read"}, {"id": "wamid.0", "status": "sent"}]}},
            {"field": "feed", "value": {"verb": "add"}}]}]})
        .to_string()
    };
    let first = ids(receive(&named("meta"), &[], &delivery(vec![message("wamid.1")])));
    let again = ids(receive(
        &named("meta"),
        &[],
        &delivery(vec![message("wamid.1"), message("wamid.2")]),
    ));
    assert_eq!(first[..3], ["wamid.1", "wamid.0:read", "wamid.0:sent"]);
    assert_eq!((&again[0], &again[1]), (&first[0], &"wamid.2".to_owned()));
    // A change without an id is known by its content.
    assert_eq!((first[3].as_str(), &again[4]), (first[3].as_str(), &first[3]));
    assert!(first[3].starts_with("sha256"));
}

#[test]
fn notifications_in_xml_are_read_as_json() {
    let xml = "<notification><timestamp>2023-11-14T22:13:20Z</timestamp><kind>dispute_won</kind>\
               <subject><dispute><id>d1</id></dispute></subject></notification>";
    let Received::Events(events) = receive(&named("braintree"), &[], xml) else {
        panic!("a handshake")
    };
    assert_eq!(&*events[0].id, "dispute_won:2023-11-14T22%3A13%3A20Z:d1");
    assert_eq!(
        (&*events[0].kind, events[0].occurred_at),
        ("dispute_won", Some(at(NOW)))
    );
    assert_eq!(events[0].data["subject"]["dispute"]["id"], "d1");
}

#[test]
fn compressed_bodies_are_expanded_within_bounds() {
    let source = source(&named("github"), &[KEY]);
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let check = |signed: &[u8], sent: Vec<u8>| {
        let mut headers = source
            .sign("d", "push", signed, at(NOW), &HeaderMap::new())
            .unwrap();
        headers.insert("content-encoding", HeaderValue::from_static("gzip"));
        source
            .verify(request(headers, sent), at(NOW))
            .map(|verified| verified.request().body.to_vec())
    };
    let body = b"\xef\xbb\xbf{\"a\":1}";
    assert_eq!(check(body, gzip(body)), Ok(body.to_vec()));
    assert_eq!(check(&gzip(body), gzip(body)), Ok(body.to_vec()));
    assert_eq!(check(b"{}", gzip(body)), Err(VerifyError::Mismatch));
    assert_eq!(check(body, body.to_vec()), Err(VerifyError::TooLarge));
    let bomb = vec![b' '; 5_000_000];
    let error = check(&bomb, gzip(&bomb)).unwrap_err();
    assert_eq!((error, error.status()), (VerifyError::TooLarge, 413));
}

#[test]
fn more_than_any_provider_sends_is_not_looked_at() {
    let source = source(&named("stripe"), &[KEY]);
    let check = |headers: HeaderMap| source.verify(request(headers, b"{}".to_vec()), at(NOW)).err();
    let mut many = HeaderMap::new();
    for index in 0..101 {
        many.append("x-a", HeaderValue::from(index));
    }
    assert_eq!(check(many), Some(VerifyError::HeadersTooLarge));
    let mut long = HeaderMap::new();
    long.insert("x-a", "a".repeat(40_000).parse().unwrap());
    assert_eq!(check(long).map(|error| error.status()), Some(431));
    let mut signatures = HeaderMap::new();
    let value = format!("t={NOW}{}", ",v1=00".repeat(65));
    signatures.insert("stripe-signature", value.parse().unwrap());
    assert_eq!(check(signatures).map(|error| error.status()), Some(400));
}

#[test]
fn plaids_key_is_asked_for_and_without_it_nothing_is_believed() {
    let body = b"{\n  \"webhook_type\": \"ITEM\",\n  \"webhook_code\": \"ERROR\",\n  \"item_id\": \"i1\"\n}";
    let plaid = source(&named("plaid"), &[KEY]);
    let sent = request(
        plaid.sign("", "", body, at(NOW), &HeaderMap::new()).unwrap(),
        body.to_vec(),
    );
    assert_eq!(plaid.wanted(&sent), Ok(None));

    let (credentials, _) = Secret::new("plaid", "client:secret").unwrap();
    let fetching = Source::new(&config(named("plaid"), None), vec![credentials]).unwrap();
    assert_eq!(
        fetching.wanted(&sent),
        Ok(Some(Wanted::Key("oncehook-development".to_owned())))
    );
    let error = fetching.verify(sent.clone(), at(NOW)).unwrap_err();
    assert_eq!((error, error.status()), (VerifyError::NoKey, 503));

    // RFC 7515, appendix A.3: another key.
    let jwk = json!({"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"});
    let other = PublicKey::from_jwk(&jwk).unwrap();
    let error = fetching
        .verify_with(sent.clone(), at(NOW), Some(&other))
        .unwrap_err();
    assert_eq!(error, VerifyError::Mismatch);
    assert!(PublicKey::from_jwk(&json!({"kty": "oct", "k": "AAAA"})).is_none());

    let mut altered = sent;
    altered.body = b"{}".as_slice().into();
    assert_eq!(fetching.wanted(&altered), Err(VerifyError::BodyHashMismatch));
    // A token that claims to need no signature, or an HMAC, is no token.
    for algorithm in ["none", "HS256", "RS256"] {
        let header = json!({"alg": algorithm, "kid": "k"}).to_string();
        let part = |text: &str| base64::Engine::encode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, text);
        let token = format!("{}.{}.", part(&header), part("{}"));
        altered
            .headers
            .insert("plaid-verification", token.parse().unwrap());
        assert_eq!(
            fetching.verify(altered.clone(), at(NOW)).unwrap_err(),
            VerifyError::MalformedHeader
        );
    }
}

#[test]
fn graphs_token_is_echoed_unless_the_request_could_hold_events_or_the_token_a_page() {
    let scheme = named("microsoft-graph");
    let source = source(&scheme, &[KEY]);
    let query = "validationToken=Validation%3A+Testing%20client";
    let text = asked(&source, Method::POST, query);
    assert_eq!(text.as_deref(), Some("Validation: Testing client"));
    let long = format!("validationToken={}", "a".repeat(513));
    for bad in [
        "validationToken=%3Cb%3E",
        "validationToken=",
        "validationToken=a%0Ab",
        &long,
        "token=a",
    ] {
        assert_eq!(asked(&source, Method::POST, bad), None, "{bad}");
    }
    assert_eq!(asked(&source, Method::GET, query), None);
    let with_body = SignedRequest {
        path_and_query: format!("/webhooks/source?{query}"),
        ..request(HeaderMap::new(), b"{\"value\":[]}".to_vec())
    };
    assert!(!scheme.takes_challenge(&with_body));
    assert_eq!(source.challenge(&with_body), None);
}

#[test]
fn xeros_intent_to_receive_is_answered_without_a_body_and_is_no_event() {
    let received = receive(&named("xero"), &[], r#"{"events": [], "entropy": "S0m3"}"#);
    let reply = reply(received);
    assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    let event = r#"{"resourceId": "r", "eventCategory": "CONTACT", "eventType": "UPDATE"}"#;
    let received = receive(
        &named("xero"),
        &[],
        &format!(r#"{{"events": [{event}, {event}]}}"#),
    );
    assert!(
        matches!(received, Received::Events(events) if events.len() == 2 && events[0].id == events[1].id)
    );
}

#[test]
fn any_of_docusigns_headers_may_hold_the_signature() {
    let source = source(&named("docusign"), &[KEY]);
    let sent = source
        .make(request(HeaderMap::new(), b"{}".to_vec()), "id", "kind", at(NOW))
        .unwrap();
    let signature = sent.headers["x-docusign-signature-1"].clone();
    for (name, genuine) in [
        ("x-docusign-signature-10", true),
        ("x-docusign-signature-11", false),
    ] {
        let mut moved = sent.clone();
        moved
            .headers
            .insert("x-docusign-signature-1", HeaderValue::from_static("AAAA"));
        moved.headers.insert(name, signature.clone());
        assert_eq!(source.verify(moved, at(NOW)).is_ok(), genuine, "{name}");
    }
}
