//! Genuine requests as events: identity, kind, scope and time of every scheme, forms, and bodies that cannot be read.

use http::{HeaderMap, HeaderValue};
use oncehook_core::verify::Received;

use crate::{
    vectors::{only_event, request},
    verify_laws::{NOW, at, named, schemes, signed, source},
};

#[test]
fn the_events_of_every_scheme_have_their_identity() {
    let body =
        br#"{"id":"evt_1","event_id":"evt_1","type":"invoice.paid","kind":"invoice.paid","action":"opened",
        "account":"acct_1","livemode":true,"created":1700000000,"event_time":1700000000,"team_id":"T1",
        "timestamp":"2023-11-14T22:13:20Z","event":{"type":"inner"},"amount":9007199254740993.10}"#;
    let mut extra = HeaderMap::new();
    extra.insert(
        "x-shopify-shop-domain",
        HeaderValue::from_static("a.myshopify.com"),
    );
    extra.insert(
        "x-shopify-triggered-at",
        HeaderValue::from_static("2023-11-14T22:13:20Z"),
    );
    let expected = [
        ("stripe", "invoice.paid", "acct_1:live", true, true),
        ("standard-webhooks", "invoice.paid", "", true, true),
        ("svix", "invoice.paid", "", true, true),
        ("github", "invoice.opened", "", false, false),
        ("shopify", "invoice.paid", "a.myshopify.com", false, true),
        ("slack", "invoice.paid/inner", "T1", true, true),
        ("hmac", "invoice.paid", "acct_1", true, false),
    ];
    for (name, kind, scope, id_signed, dated) in expected {
        let schemes = schemes();
        let scheme = schemes.iter().find(|scheme| scheme.name() == name).unwrap();
        let source = source(scheme, &[b"0123456789abcdef01234567"]);
        let headers = source
            .sign("evt_1", "invoice.paid", body, at(NOW), &extra)
            .unwrap();
        let verified = source.verify(request(headers, body.to_vec()), at(NOW)).unwrap();
        let event = only_event(&source, verified);
        assert_eq!(
            (name, "evt_1", kind, scope),
            (scheme.name(), &*event.id, &*event.kind, &*event.scope)
        );
        assert_eq!((event.id_signed, event.defect), (id_signed, None), "{name}");
        assert_eq!(event.occurred_at, dated.then(|| at(NOW)), "{name}");
        assert_eq!(event.data["amount"].to_string(), "9007199254740993.10");
    }
}

#[test]
fn genuine_bodies_that_cannot_be_read_are_events_with_a_defect() {
    let source = source(&named("stripe"), &[b"key"]);
    for body in [&b"not json"[..], b"{\"type\":\"x\"}", b"\xff", b"", b"[]"] {
        let verified = source
            .verify(request(signed(&source, body, at(NOW)), body.to_vec()), at(NOW))
            .unwrap();
        let event = only_event(&source, verified);
        assert!(event.id.starts_with("sha256:") && event.id.len() == 71 && event.id_signed);
        assert!(event.defect.is_some() && event.data.is_null());
    }
}

#[test]
fn slack_is_answered_and_its_forms_are_read() {
    let source = source(&named("slack"), &[b"key"]);
    let receive = |body: &[u8], content_type: &'static str| {
        let mut headers = signed(&source, body, at(NOW));
        headers.insert("content-type", HeaderValue::from_static(content_type));
        source.events(source.verify(request(headers, body.to_vec()), at(NOW)).unwrap())
    };
    let Received::Handshake(reply) = receive(
        br#"{"type":"url_verification","challenge":"abc"}"#,
        "application/json",
    ) else {
        panic!("no handshake")
    };
    assert_eq!(
        (reply.status, reply.content_type, &*reply.body),
        (200, "text/plain", "abc")
    );

    let form = "application/x-www-form-urlencoded";
    let Received::Events(events) = receive(b"command=%2Fdeploy&text=a+b&trigger_id=1.2&team_id=T1", form)
    else {
        panic!("no event")
    };
    assert_eq!(
        (&*events[0].id, &*events[0].kind, &*events[0].scope),
        ("1.2", "/deploy", "T1")
    );
    assert_eq!(events[0].data["text"], "a b");
    let payload = b"payload=%7B%22type%22%3A%22block_actions%22%2C%22trigger_id%22%3A%229%22%2C%22team%22%3A%7B%22id%22%3A%22T2%22%7D%7D";
    let Received::Events(events) = receive(payload, form) else {
        panic!("no event")
    };
    assert_eq!(
        (&*events[0].id, &*events[0].kind, &*events[0].scope),
        ("9", "block_actions", "T2")
    );
}

#[test]
fn github_sends_forms_too() {
    let source = source(&named("github"), &[b"key"]);
    let body = b"payload=%7B%22action%22%3A%22opened%22%2C%22number%22%3A1%7D";
    let mut headers = source
        .sign("d-1", "issues.opened", body, at(NOW), &HeaderMap::new())
        .unwrap();
    assert_eq!(headers["x-github-event"], "issues");
    headers.insert(
        "content-type",
        HeaderValue::from_static("application/x-www-form-urlencoded"),
    );
    let event = only_event(
        &source,
        source.verify(request(headers, body.to_vec()), at(NOW)).unwrap(),
    );
    assert_eq!(
        (&*event.id, &*event.kind, &event.data["number"]),
        ("d-1", "issues.opened", &1.into())
    );
    assert_eq!(&*event.body, body);
}

#[test]
fn an_id_that_is_not_there_makes_a_defect_that_names_its_place() {
    let source = source(&named("github"), &[b"key"]);
    let mut headers = signed(&source, b"{}", at(NOW));
    headers.remove("x-github-delivery");
    let event = only_event(
        &source,
        source.verify(request(headers, b"{}".to_vec()), at(NOW)).unwrap(),
    );
    assert_eq!(event.defect.as_deref(), Some("no id at header X-GitHub-Delivery"));
    assert_eq!(event.kind, "invoice");
}

#[test]
fn a_body_that_is_not_json_is_known_by_its_hash_even_if_a_header_has_an_id() {
    let source = source(&named("github"), &[b"key"]);
    let headers = signed(&source, b"Hello, World!", at(NOW));
    let event = only_event(
        &source,
        source
            .verify(request(headers, b"Hello, World!".to_vec()), at(NOW))
            .unwrap(),
    );
    assert_eq!(
        event.id,
        "sha256:dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f"
    );
    assert!(event.defect.unwrap().starts_with("the body is not JSON"));
}

#[test]
fn parts_too_long_for_a_key_are_not_used_as_they_are() {
    let source = source(&named("slack"), &[b"key"]);
    let receive = |id: usize, team: usize| {
        let body = format!(
            r#"{{"event_id":"{}","team_id":"{}"}}"#,
            "i".repeat(id),
            "t".repeat(team)
        )
        .into_bytes();
        let headers = signed(&source, &body, at(NOW));
        only_event(&source, source.verify(request(headers, body), at(NOW)).unwrap())
    };
    let event = receive(256, 256);
    assert_eq!(
        (event.id.len(), event.scope.len(), event.defect),
        (256, 256, None)
    );
    let event = receive(257, 257);
    assert!(event.id.starts_with("sha256:") && event.scope.starts_with("sha256:"));
    assert_eq!(event.defect.as_deref(), Some("the id has more than 256 bytes"));
}
