use std::time::{Duration, Instant};

use oncehook_local::{
    behaviour::Behaviour,
    mail::{KEY_RETENTION, MailServer, Outcome},
    recorder::Recorder,
};

use crate::wire::{self, Reply};

async fn post(mail: &MailServer, key: &str, body: &str) -> Option<Reply> {
    let head = format!(
        "POST /emails HTTP/1.1\nidempotency-key: {key}\nauthorization: Bearer re_test\ncontent-type: application/json"
    );
    wire::send(&mail.endpoint(), &head, body.as_bytes()).await
}

#[tokio::test]
async fn a_known_key_gets_the_first_answer_or_409_and_is_forgotten_after_a_day() {
    let mail = MailServer::start(None).unwrap();
    let first = post(&mail, "k", r#"{"to": "a@example.com"}"#).await.unwrap();
    let again = post(&mail, "k", r#"{"to":"a@example.com"}"#).await.unwrap();
    let changed = post(&mail, "k", r#"{"to": "b@example.com"}"#).await.unwrap();
    let other = post(&mail, "l", r#"{"to": "a@example.com"}"#).await.unwrap();

    assert_eq!(
        (first.status, again.status, changed.status, other.status),
        (200, 200, 409, 200)
    );
    assert_eq!(first.json(), again.json());
    assert_ne!(first.json(), other.json());
    assert_eq!(changed.json()["name"], "invalid_idempotent_request");
    assert_eq!(
        mail.mails().iter().map(|mail| mail.at).collect::<Vec<_>>(),
        [1, 4]
    );
    let outcomes = mail.calls().iter().map(|call| call.outcome).collect::<Vec<_>>();
    assert_eq!(
        outcomes,
        [Outcome::Sent, Outcome::Replayed, Outcome::Changed, Outcome::Sent]
    );
    assert_eq!(mail.calls()[0].authorization.as_deref(), Some("Bearer re_test"));

    mail.advance(KEY_RETENTION - Duration::from_secs(60));
    post(&mail, "k", r#"{"to": "a@example.com"}"#).await.unwrap();
    assert_eq!(mail.mails().len(), 2);
    mail.advance(Duration::from_secs(60));
    post(&mail, "k", r#"{"to": "a@example.com"}"#).await.unwrap();
    assert_eq!(
        mail.mails().len(),
        3,
        "the key is forgotten, so the mail goes out again"
    );
}

#[tokio::test]
async fn a_dropped_answer_leaves_a_mail_that_the_key_protects() {
    let mail = MailServer::start(None).unwrap();
    mail.next(Behaviour::AcceptAndDrop);
    assert!(post(&mail, "k", "{}").await.is_none());
    assert_eq!(mail.mails().len(), 1);
    assert_eq!(post(&mail, "k", "{}").await.unwrap().status, 200);
    assert_eq!((mail.mails().len(), mail.calls().len()), (1, 2));
}

#[tokio::test]
async fn statuses_can_come_with_and_without_the_mail() {
    let mail = MailServer::start(None).unwrap();
    mail.next(Behaviour::Status(429, Some(7)));
    mail.next(Behaviour::AcceptAndAnswer(500));
    let throttled = post(&mail, "k", "{}").await.unwrap();
    assert_eq!(throttled.status, 429);
    assert!(throttled.head.contains("retry-after: 7"), "{}", throttled.head);
    assert_eq!(mail.mails().len(), 0);
    assert_eq!(post(&mail, "k", "{}").await.unwrap().status, 500);
    assert_eq!(mail.mails().len(), 1);
    assert_eq!(mail.mails()[0].at, 2);
}

#[tokio::test]
async fn a_hanging_call_has_acted_already() {
    let mail = MailServer::start(None).unwrap();
    mail.next(Behaviour::Hang(Duration::from_millis(80)));
    let began = Instant::now();
    assert_eq!(post(&mail, "k", "{}").await.unwrap().status, 200);
    assert!(began.elapsed() >= Duration::from_millis(80));
    assert_eq!(mail.mails().len(), 1);
}

#[tokio::test]
async fn another_process_can_script_and_look() {
    let mail = MailServer::start(None).unwrap();
    let order = br#"{"behaviour": "status", "status": 503, "retry_after": 2, "times": 2}"#;
    assert_eq!(
        wire::send(&mail.endpoint(), "POST /next HTTP/1.1", order)
            .await
            .unwrap()
            .status,
        200
    );
    for expected in [503, 503, 200] {
        assert_eq!(
            post(&mail, "k", r#"{"n": 9007199254740993}"#)
                .await
                .unwrap()
                .status,
            expected
        );
    }
    let wrong = wire::send(
        &mail.endpoint(),
        "POST /next HTTP/1.1",
        br#"{"behaviour": "sulk"}"#,
    )
    .await
    .unwrap();
    assert_eq!(wrong.status, 400);
    assert!(
        wrong.json()["message"]
            .as_str()
            .unwrap()
            .contains("accept-and-drop")
    );

    let mails = wire::send(&mail.endpoint(), "GET /emails HTTP/1.1", b"")
        .await
        .unwrap()
        .json();
    assert_eq!(
        mails.to_string(),
        r#"[{"at":3,"body":{"n":9007199254740993},"key":"k"}]"#
    );
    let calls = wire::send(&mail.endpoint(), "GET /calls HTTP/1.1", b"")
        .await
        .unwrap()
        .json();
    assert_eq!(calls[0]["outcome"], "untouched");
}

#[tokio::test]
async fn the_recorder_keeps_requests_as_they_came() {
    let recorder = Recorder::start(None).unwrap();
    recorder.next(Behaviour::AcceptAndDrop);
    assert!(
        wire::send(
            &recorder.endpoint(),
            "PUT /a/b?c=d HTTP/1.1\nx-one: 1",
            b"\xff\x00"
        )
        .await
        .is_none()
    );
    let reply = wire::send(&recorder.endpoint(), "POST / HTTP/1.1", b"")
        .await
        .unwrap();
    assert_eq!(reply.status, 200);
    let received = recorder.received();
    assert_eq!(
        (received[0].method.as_str(), received[0].path.as_str()),
        ("PUT", "/a/b?c=d")
    );
    assert_eq!(received[0].header("x-one"), Some("1"));
    assert_eq!(&received[0].body[..], b"\xff\x00");
    assert_eq!(received.len(), 2);
}
