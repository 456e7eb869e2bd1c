//! What an event says can fill a path segment, a body and a message. It is never a header, a host or a scheme: looked at
//! where it counts, in the bytes on the wire.

use oncehook_edge::{Secrets, Signer};
use oncehook_local::services::Services;
use serde_json::{Value, json};

use crate::{
    planned::{Planned, config},
    server::{Server, status},
};

fn hostile() -> Vec<String> {
    let long = "x".repeat(3000);
    [
        "a\r\nX-Evil: 1",
        "a\nHost: evil.example",
        "\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "@evil.example",
        "user:password@evil.example/",
        "//evil.example/x",
        "\\\\evil.example\\x",
        "https://evil.example/",
        "?admin=1#x",
        "%0d%0aX-Evil: 1",
        "..%2f..%2fadmin",
        "\u{560a}\u{560d}X-Evil: 1",
        "\u{2028}\u{ff0f}\u{ff0f}evil.example",
        "\u{0}\u{7f}\u{85}",
        "ü\u{1f600}",
        long.as_str(),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn secrets() -> Secrets {
    Secrets::parse(r#"{"key": "sk_test"}"#).unwrap()
}

#[tokio::test]
async fn a_request_of_an_http_api_has_the_configured_head_whatever_the_event_says() {
    for value in hostile() {
        let server = Server::start(status("200 OK")).await;
        let host = server
            .url
            .trim_start_matches("http://")
            .trim_end_matches("/hook")
            .to_owned();
        let config = config(
            &format!(
                "url = \"http://{host}/base?v=1\"\nsecret = \"key\"\nheaders = {{ X-Fixed = \"1\" }}\nidempotency = {{ retention = \"24h\" }}"
            ),
            "path = \"users/{{ event.v }}\"\nbody = '{\"v\": {{ event.v | tojson }}}'",
        );
        let body = json!({ "v": value }).to_string();
        let signer = Signer::local("http://127.0.0.1:1");
        let planned = Planned::commit(&config, body.as_bytes(), None, secrets(), signer)
            .await
            .unwrap();
        planned.wake().await;
        assert_eq!(planned.item().await.state, "done", "{value:?}");
        let requests = server.requests();
        assert_eq!(requests.len(), 1, "{value:?}");
        let (head, sent) = requests[0].split_once("\r\n\r\n").unwrap();
        let mut lines = head.split("\r\n");
        let first: Vec<&str> = lines.next().unwrap().split(' ').collect();
        let [method, target, version] = first[..] else {
            panic!("{first:?}")
        };
        assert_eq!((method, version), ("POST", "HTTP/1.1"));
        let segment = target
            .strip_prefix("/base/users/")
            .unwrap()
            .strip_suffix("?v=1")
            .unwrap();
        assert!(!segment.contains(['/', '?', '#', '@', '\\']), "{segment}");
        let mut headers: Vec<(String, &str)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_lowercase(), value))
            .collect();
        headers.sort();
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "authorization",
            "content-length",
            "content-type",
            "host",
            "idempotency-key",
            "user-agent",
            "x-fixed",
        ];
        assert_eq!(names, expected, "{value:?}");
        assert_eq!(headers[3].1, host);
        let sent: Value = serde_json::from_str(sent).unwrap();
        assert_eq!(sent, json!({ "v": value }));
    }
}

#[tokio::test]
async fn a_form_has_the_configured_fields_only() {
    for value in hostile() {
        let server = Server::start(status("200 OK")).await;
        let config = config(
            &format!(
                "url = \"{}\"\ncontent_type = \"application/x-www-form-urlencoded\"",
                server.url
            ),
            "body = 'to=ada&v={{ event.v }}'",
        );
        let body = json!({ "v": format!("{value}&to=eve") }).to_string();
        let signer = Signer::local("http://127.0.0.1:1");
        let planned = Planned::commit(&config, body.as_bytes(), None, secrets(), signer)
            .await
            .unwrap();
        planned.wake().await;
        let requests = server.requests();
        let sent = requests[0].split_once("\r\n\r\n").unwrap().1;
        assert_eq!(
            (sent.matches('&').count(), sent.matches('=').count()),
            (1, 2),
            "{value:?}: {sent}"
        );
    }
}

/// The content type is the provider's word: it is passed on, or nothing is sent.
#[tokio::test]
async fn a_content_type_of_an_event_cannot_add_a_header() {
    for odd in ["text/plain\r\nX-Evil: 1", "text/plain\nX-Evil: 1", "text\0plain"] {
        let server = Server::start(status("200 OK")).await;
        let config = config(&format!("url = \"{}\"", server.url), "body = { event = true }");
        let signer = Signer::local("http://127.0.0.1:1");
        let planned = Planned::commit(&config, b"{}", Some(odd), secrets(), signer)
            .await
            .unwrap();
        planned.wake().await;
        assert!(server.requests().is_empty(), "{odd:?}");
        let item = planned.item().await;
        assert_eq!(item.state, "dead");
        assert!(item.reason.unwrap().contains("`content-type`"));
    }
}

#[tokio::test]
async fn a_message_goes_to_the_configured_target_whatever_the_event_says() {
    let queue = "kind = \"sqs\"\nqueue = \"https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo\"";
    for value in hostile() {
        for (destination, effect) in [
            (queue, "group = \"{{ event.v }}\"\nbody = { event = true }"),
            (
                "kind = \"lambda\"\nfunction = \"orders\"",
                "body = '{\"v\": {{ event.v | tojson }}}'",
            ),
            (
                "kind = \"eventbridge\"\nbus = \"orders\"",
                "body = { event = true }",
            ),
        ] {
            let services = Services::start(None).unwrap();
            let body =
                json!({ "v": value, "idempotency_key": "mine", "QueueUrl": "https://evil.example/1/x" })
                    .to_string();
            let signer = Signer::local(&services.endpoint());
            let config = config(destination, effect);
            let planned = Planned::commit(&config, body.as_bytes(), Some(&value), secrets(), signer)
                .await
                .unwrap();
            planned.wake().await;
            let item = planned.item().await;
            assert_eq!(item.state, "done", "{value:?}: {item:?}");
            let taken = services.taken();
            assert!(
                [
                    "https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo",
                    "orders"
                ]
                .contains(&taken[0].target.as_str())
            );
            assert_eq!(taken[0].key, Some(item.item.idempotency_key));
            let headers = &services.received()[0].headers;
            assert!(
                headers.get("x-evil").is_none() && headers.len() <= 8,
                "{headers:?}"
            );
        }
    }
}
