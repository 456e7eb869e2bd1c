//! Every way a call can end, against real sockets.

use std::time::Duration;

use bytes::Bytes;
use jiff::SignedDuration;
use oncehook_core::{config::Auth, plan::EffectBody, settle::Attempt};
use oncehook_drain::EventBody;

use crate::{
    server::{Script, Server, status},
    world::{config, destination, item, now},
};

const DEADLINE: Duration = Duration::from_millis(400);

async fn attempt(script: Script) -> (Attempt, Vec<String>) {
    let server = Server::start(script).await;
    let destination = destination(config(&server.url, Auth::Bearer));
    let attempt = destination
        .deliver(&item(&server.url), None, DEADLINE, now())
        .await
        .unwrap();
    (attempt, server.requests())
}

#[tokio::test]
async fn a_2xx_status_line_is_delivered_even_if_the_body_breaks() {
    assert_eq!(
        attempt(status("204 No Content")).await.0,
        Attempt::Delivered { status: 204 }
    );
    let broken = Script::Answer("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\nhalf".into());
    assert_eq!(attempt(broken).await.0, Attempt::Delivered { status: 200 });
}

#[tokio::test]
async fn whatever_breaks_after_the_connection_stood_may_have_acted() {
    for script in [Script::Drop, Script::Hang, Script::Answer("HTTP/1.1 2".into())] {
        let (attempt, requests) = attempt(script).await;
        assert!(
            matches!(attempt, Attempt::Ambiguous { status: None, .. }),
            "{attempt:?}"
        );
        assert_eq!(requests.len(), 1, "a call is never repeated by itself");
    }
}

#[tokio::test]
async fn a_refused_connection_and_an_unknown_host_are_unreached() {
    for url in ["http://127.0.0.1:1/hook", "http://nowhere.invalid/hook"] {
        let destination = destination(config(url, Auth::Bearer));
        let attempt = destination
            .deliver(&item(url), None, Duration::from_secs(4), now())
            .await
            .unwrap();
        assert!(matches!(attempt, Attempt::Unreached { .. }), "{url}: {attempt:?}");
    }
}

#[tokio::test]
async fn statuses_mean_what_the_design_says() {
    let seven = Some(SignedDuration::from_secs(7));
    let throttled = Script::Answer("HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n".into());
    assert_eq!(
        attempt(throttled).await.0,
        Attempt::Throttled { retry_after: seven }
    );
    assert_eq!(
        attempt(status("401 No")).await.0,
        Attempt::Unauthorized { status: 401 }
    );
    assert_eq!(
        attempt(status("403 No")).await.0,
        Attempt::Unauthorized { status: 403 }
    );
    for code in [408, 409, 423, 425] {
        let later = Attempt::Later {
            status: code,
            retry_after: None,
        };
        assert_eq!(attempt(status(&format!("{code} Later"))).await.0, later);
    }
    assert!(matches!(
        attempt(status("422 No")).await.0,
        Attempt::Refused { status: 422, .. }
    ));
    assert!(matches!(
        attempt(status("500 Oh")).await.0,
        Attempt::Ambiguous {
            status: Some(500),
            ..
        }
    ));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let there = "HTTP/1.1 307 There\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n";
    let (attempt, requests) = attempt(Script::Answer(there.into())).await;
    assert!(matches!(
        attempt,
        Attempt::Ambiguous {
            status: Some(307),
            ..
        }
    ));
    assert_eq!(requests.len(), 1);
}

#[tokio::test]
async fn the_answer_is_kept_short_and_without_the_secret() {
    let body = format!(
        "bad token whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0 {}",
        "x".repeat(9000)
    );
    let answer = format!("HTTP/1.1 400 No\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let Attempt::Refused { detail, .. } = attempt(Script::Answer(answer)).await.0 else {
        panic!()
    };
    assert!(
        detail.starts_with("bad token [secret] x") && detail.len() <= 300,
        "{detail}"
    );
}

#[tokio::test]
async fn the_request_carries_key_credentials_and_the_rendered_headers() {
    let (_, requests) = attempt(status("200 OK")).await;
    let request = &requests[0];
    for part in [
        "POST /hook HTTP/1.1",
        "idempotency-key: key-1",
        "authorization: Bearer whsec_",
        "x-fixed: 1",
    ] {
        assert!(request.contains(part), "{part} in {request}");
    }
    assert!(request.ends_with("{\"to\":\"ada\"}"));
}

#[tokio::test]
async fn a_forwarded_event_is_the_exact_bytes_signed_with_the_key_as_id() {
    let server = Server::start(status("200 OK")).await;
    let mut config = config(&server.url, Auth::StandardWebhooks);
    config.idempotency.as_mut().unwrap().quoted = true;
    let mut item = item(&server.url);
    item.request.body = EffectBody::Event;
    item.request.content_type = None;
    let destination = destination(config);
    let event = EventBody {
        bytes: Bytes::from_static(b"{ \"a\":1 }"),
        content_type: Some("text/x".into()),
    };
    assert!(
        destination.deliver(&item, None, DEADLINE, now()).await.is_err(),
        "nothing is sent without the body"
    );
    destination
        .deliver(&item, Some(event), DEADLINE, now())
        .await
        .unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    for part in [
        "webhook-id: key-1",
        "webhook-signature: v1,",
        "idempotency-key: \"key-1\"",
        "content-type: text/x",
    ] {
        assert!(requests[0].contains(part), "{part} in {}", requests[0]);
    }
    assert!(requests[0].ends_with("{ \"a\":1 }"));
}
