use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use lambda_http::{Body, RequestExt};
use oncehook_local::gateway::{Gateway, MAX_BODY, event_json};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::wire;

const NOW: Timestamp = Timestamp::constant(1_796_083_200, 0);

struct Running {
    endpoint: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

/// A gateway whose handler echoes the body and says in headers what else it saw.
async fn start() -> Running {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel();
    let served = Gateway::new(|| NOW).serve(listener, echo, async move { drop(stopped.await) });
    Running {
        endpoint,
        stop,
        served: tokio::spawn(served),
    }
}

async fn echo(request: lambda_http::Request) -> Response<Body> {
    assert!(!request.headers().contains_key("x-panic"), "told to panic");
    if request.headers().contains_key("x-slow") {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
            .to_owned()
    };
    let kind = match request.body() {
        Body::Text(_) => "text",
        Body::Binary(_) => "binary",
        _ => "empty",
    };
    Response::builder()
        .status(202)
        .header("x-source", request.path_parameters().first("source").unwrap())
        .header("x-kind", kind)
        .header("x-seen", header("x-twice"))
        .header("x-cookie", header("cookie"))
        .header("x-method", request.method().as_str())
        .body(Body::Binary(request.body().to_vec()))
        .unwrap()
}

#[tokio::test]
async fn bytes_that_are_not_text_come_through_unchanged() {
    let gateway = start().await;
    let body = b"{\"a\": \"\xff\xfe\x00\"}";
    let head = "POST /webhooks/stripe?x=1 HTTP/1.1\ncontent-type: application/json\nX-Twice: a\nX-Twice: b\ncookie: c=1; d=2";
    let reply = wire::send(&gateway.endpoint, head, body).await.unwrap();
    assert_eq!(reply.status, 202);
    assert_eq!(reply.body, body);
    for seen in [
        "x-source: stripe",
        "x-kind: binary",
        "x-seen: a,b",
        "x-cookie: c=1; d=2",
        "x-method: post",
    ] {
        assert!(reply.head.contains(seen), "{seen} in {}", reply.head);
    }
    let text = "{\"a\": \"h\u{e9}\"}".as_bytes();
    let head = "POST /webhooks/stripe HTTP/1.1\ncontent-type: application/json; charset=utf-8";
    let reply = wire::send(&gateway.endpoint, head, text).await.unwrap();
    assert_eq!(reply.body, text);
    assert!(reply.head.contains("x-kind: text"));
}

#[tokio::test]
async fn what_is_no_webhook_is_answered_by_the_gateway() {
    let gateway = start().await;
    for path in ["/", "/webhooks", "/webhooks/", "/webhooks/a/b", "/other/a"] {
        let reply = wire::send(&gateway.endpoint, &format!("GET {path} HTTP/1.1"), b"")
            .await
            .unwrap();
        assert_eq!(
            (reply.status, reply.json()),
            (404, json!({ "message": "Not Found" })),
            "{path}"
        );
    }
    let head = format!("POST /webhooks/a HTTP/1.1\ncontent-length: {}", MAX_BODY + 1);
    assert_eq!(
        wire::raw(&gateway.endpoint, &head, b"").await.unwrap().status,
        413
    );
    let largest = vec![b'x'; MAX_BODY];
    let reply = wire::send(&gateway.endpoint, "POST /webhooks/a HTTP/1.1", &largest)
        .await
        .unwrap();
    assert_eq!((reply.status, reply.body.len()), (202, MAX_BODY));
    let reply = wire::send(&gateway.endpoint, "POST /webhooks/a HTTP/1.1\nx-panic: 1", b"")
        .await
        .unwrap();
    assert_eq!(
        (reply.status, reply.json()),
        (500, json!({ "message": "Internal Server Error" }))
    );
}

#[tokio::test]
async fn a_request_under_way_is_answered_before_the_gateway_stops() {
    let gateway = start().await;
    let endpoint = gateway.endpoint.clone();
    let slow =
        tokio::spawn(
            async move { wire::send(&endpoint, "POST /webhooks/a HTTP/1.1\nx-slow: 1", b"x").await },
        );
    tokio::time::sleep(Duration::from_millis(40)).await;
    gateway.stop.send(()).unwrap();
    gateway.served.await.unwrap();
    assert_eq!(slow.await.unwrap().unwrap().status, 202);
}

fn event(kind: &str, body: &'static [u8]) -> Value {
    let request = Request::post("/webhooks/github?a=1&a=2&b=%20x")
        .header("Host", "hooks.example.com")
        .header("User-Agent", "GitHub-Hookshot/1")
        .header("Content-Type", kind)
        .header("Cookie", "c=1; d=2")
        .body(Bytes::from_static(body))
        .unwrap();
    event_json(&request, "github", IpAddr::from([203, 0, 113, 7]), NOW, "id-1")
}

#[test]
fn the_event_has_the_shape_of_payload_format_2() {
    let expected = json!({
        "version": "2.0",
        "routeKey": "ANY /webhooks/{source}",
        "rawPath": "/webhooks/github",
        "rawQueryString": "a=1&a=2&b=%20x",
        "queryStringParameters": { "a": "1,2", "b": " x" },
        "cookies": ["c=1", "d=2"],
        "headers": {
            "host": "hooks.example.com",
            "user-agent": "GitHub-Hookshot/1",
            "content-type": "application/json",
        },
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "local",
            "domainName": "hooks.example.com",
            "domainPrefix": "local",
            "http": {
                "method": "POST",
                "path": "/webhooks/github",
                "protocol": "HTTP/1.1",
                "sourceIp": "203.0.113.7",
                "userAgent": "GitHub-Hookshot/1",
            },
            "requestId": "id-1",
            "routeKey": "ANY /webhooks/{source}",
            "stage": "$default",
            "time": "01/Dec/2026:00:00:00 +0000",
            "timeEpoch": 1_796_083_200_000_i64,
        },
        "pathParameters": { "source": "github" },
        "body": "{}",
        "isBase64Encoded": false,
    });
    assert_eq!(event("application/json", b"{}"), expected);
}

#[test]
fn only_text_types_stay_text() {
    for kind in [
        "text/plain",
        "application/json;charset=utf-8",
        "application/xml",
        "application/javascript",
    ] {
        assert_eq!(event(kind, b"abc")["body"], "abc", "{kind}");
    }
    for kind in [
        "application/x-www-form-urlencoded",
        "application/cloudevents+json",
        "",
    ] {
        assert_eq!(
            (
                &event(kind, b"abc")["body"],
                &event(kind, b"abc")["isBase64Encoded"]
            ),
            (&json!("YWJj"), &json!(true))
        );
    }
    assert_eq!(event("text/plain", b"\xff")["body"], "/w==");
    assert_eq!(event("text/plain", b"").get("body"), None);
}
