//! The functions' own binaries under the runtime interface emulator, fed with the fixtures, against the embedded
//! database, an SQS and a mail API.
//!
//! Needs `ONCEHOOK_TEST_RIE` and `ONCEHOOK_TEST_MINISTACK`, which `make test` sets; without them these tests say that
//! they did nothing.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod stand;

use oncehook_tests::{
    fixtures::{as_documented, documented},
    say,
};
use serde_json::{Value, json};

use stand::{Stand, TABLE, printed};

#[tokio::test]
async fn every_fixture_gives_its_documented_reply() {
    let Some(stand) = Stand::start().await else { return };
    let fixtures = documented();
    for fixture in &fixtures {
        // The file first: where its signature is too old, it must have changed nothing.
        if fixture.reply_to_file != fixture.reply {
            let answer = as_documented(&stand.invoke(&fixture.function, fixture.file()).await);
            assert_eq!(
                answer, fixture.reply_to_file,
                "events/{}.json as it is",
                fixture.name
            );
        }
        let event = printed(&[&fixture.name]);
        let answer = as_documented(&stand.invoke(&fixture.function, event).await);
        assert_eq!(answer, fixture.reply, "oncehook event {}", fixture.name);
        say(&format!(
            "ok  {:14}  {:6}  {answer}",
            fixture.name, fixture.function
        ));
    }
    // Those that need no fresh signature give the same again, and so do those that are done.
    for fixture in fixtures
        .iter()
        .filter(|fixture| fixture.reply_to_file == fixture.reply)
    {
        let answer = as_documented(&stand.invoke(&fixture.function, fixture.file()).await);
        assert_eq!(answer, fixture.reply, "events/{}.json as it is", fixture.name);
    }

    // What the replies do not show: the payment's wake-up is the one in events/batch.json, and one mail went out.
    let batch: Value = serde_json::from_slice(&printed(&["batch"])).unwrap();
    assert_eq!(
        stand.messages().await,
        [batch["Records"][0]["body"].as_str().unwrap()]
    );
    let mails = stand.mail.mails();
    assert_eq!((mails.len(), stand.mail.calls().len()), (1, 1));
    assert_eq!(mails[0].body["to"], json!(["ada@example.com"]));
}

#[tokio::test]
async fn sweep_wakes_a_forgotten_item_and_drain_delivers_it() {
    let Some(stand) = Stand::start().await else { return };
    stand.forget_an_item().await;
    let report = stand.invoke("Sweep", printed(&["sweep"])).await;
    assert_eq!(report["woken"], json!({ "mail": 1 }), "{report}");
    let messages = stand.messages().await;
    assert_eq!(messages.len(), 1);
    assert!(messages[0].contains("evt_forgotten"), "{}", messages[0]);

    let batch = printed(&[
        "batch",
        "--from-outbox",
        "--endpoint",
        &stand.database.endpoint(),
        "--table",
        TABLE,
    ]);
    let event: Value = serde_json::from_slice(&batch).unwrap();
    assert_eq!(event["Records"].as_array().map(Vec::len), Some(1));
    let none_failed = json!({ "batchItemFailures": [] });
    assert_eq!(stand.invoke("Drain", batch).await, none_failed);
    assert_eq!(stand.mail.mails().len(), 1);

    // The message that sweep sent comes late and finds nothing left to do.
    let mut late = event;
    late["Records"][0]["body"] = json!(messages[0]);
    assert_eq!(stand.invoke("Drain", late.to_string()).await, none_failed);
    assert_eq!(stand.mail.calls().len(), 1);
}

/// An event of the API with one thing changed.
fn changed(pointer: &str, value: Value) -> Vec<u8> {
    let mut event: Value = serde_json::from_slice(&printed(&["applied"])).unwrap();
    *event.pointer_mut(pointer).expect("a place in the event") = value;
    event.to_string().into_bytes()
}

#[tokio::test]
async fn odd_events_are_refused_and_the_process_lives_on() {
    let Some(stand) = Stand::start().await else { return };
    let requests = [
        ("no JSON", b"not JSON".to_vec()),
        ("nothing", Vec::new()),
        ("an empty object", b"{}".to_vec()),
        ("a list", b"[1]".to_vec()),
        ("no context", changed("/requestContext", json!({}))),
        (
            "a method that is none",
            changed("/requestContext/http/method", json!("A B")),
        ),
        (
            "a query that is no URI",
            changed("/rawQueryString", json!("a=\"b|<> \u{e9}\u{0}")),
        ),
        ("a host that is none", changed("/headers/host", json!("a host"))),
        (
            "a protocol that is none",
            changed("/headers/x-forwarded-proto", json!("ht tp")),
        ),
        (
            "a header with a line break",
            changed("/headers/stripe-signature", json!("t=1\nv1=2")),
        ),
        ("base64 that is none", changed("/isBase64Encoded", json!(true))),
        ("no body", changed("/body", Value::Null)),
        (
            "no source",
            changed("/pathParameters", json!({ "other": "stripe" })),
        ),
        (
            "a source that is a path",
            changed("/pathParameters", json!({ "source": "../stripe\u{0}" })),
        ),
        ("a path that is none", changed("/rawPath", json!("\u{0}?#%zz"))),
    ];
    for (name, event) in requests {
        let answer = stand.invoke("Ingest", event).await;
        assert_lives("Ingest", name, &answer);
    }
    assert_eq!(stand.invoke("Ingest", printed(&["get"])).await["statusCode"], 405);

    let no_records = json!({ "Records": [{}] }).to_string().into_bytes();
    for (name, event) in [("no JSON", b"not JSON".to_vec()), ("an empty record", no_records)] {
        assert_lives("Drain", name, &stand.invoke("Drain", event).await);
    }
    let answer = stand.invoke("Drain", printed(&["poison"])).await;
    assert_eq!(answer, json!({ "batchItemFailures": [] }));
    // Whatever the schedule sends is only a clock.
    assert_eq!(stand.invoke("Sweep", "\"tick\"").await["woken"], json!({}));
}

/// An error of the function's own or a status; not that its process is gone.
fn assert_lives(function: &str, event: &str, answer: &Value) {
    let error = answer["errorType"].as_str().unwrap_or_default();
    let gone = error.starts_with("Runtime.") || error.starts_with("Sandbox.");
    let told =
        !error.is_empty() || answer.get("statusCode").is_some() || answer.get("batchItemFailures").is_some();
    assert!(told && !gone, "{function} on {event}: {answer}");
    let shown = if error.is_empty() {
        answer
    } else {
        &answer["errorMessage"]
    };
    say(&format!("ok  {function} on {event}: {shown}"));
}
