//! The functions' own binaries under the runtime interface emulator, fed with the fixtures, against the embedded
//! database, an SQS and a mail API.
//!
//! Needs `ONCEHOOK_TEST_RIE` and `ONCEHOOK_TEST_MINISTACK`, which `make test` sets; without them these tests say that
//! they did nothing.

use std::{collections::BTreeMap, time::Duration};

use jiff::SignedDuration;
use oncehook_core::clock::Clock;
use oncehook_edge::{SystemClock, local_dynamodb};
use oncehook_local::{database::Database, mail::MailServer, sample};
use oncehook_store::{Commit, Keep, Ledger};
use oncehook_tests::{
    Ministack,
    binaries::program,
    create_hash_table,
    fixtures::{as_documented, documented, oncehook_event},
    rie::{Function, emulator},
    say,
};
use serde_json::{Value, json};

const TABLE: &str = "oncehook";
const SECRET: &str = "whsec_for_the_emulator";

/// The three functions, each under an emulator of its own, and what they work with.
struct Stand {
    functions: BTreeMap<&'static str, Function>,
    mail: MailServer,
    ministack: Ministack,
    queue: String,
    ledger: Ledger,
    database: Database,
    _logs: tempfile::TempDir,
}

impl Stand {
    async fn start() -> Option<Self> {
        let emulator = emulator();
        let ministack = Ministack::start().await;
        let (Some(emulator), Some(ministack)) = (emulator, ministack) else {
            say(
                "not run: set ONCEHOOK_TEST_RIE to AWS's runtime interface emulator and ONCEHOOK_TEST_MINISTACK to the ministack program, as `make test` does",
            );
            return None;
        };
        let database = Database::start(None).unwrap();
        let client = local_dynamodb(&database.endpoint());
        oncehook_store::create_table(&client, TABLE).await.unwrap();
        create_hash_table(&client, "accounts", "customer_id").await;
        create_hash_table(&client, "organizations", "organization_id").await;
        let mail = MailServer::start(None).unwrap();
        let queue = ministack.queue("wakeups").await;
        let variables = [
            ("AWS_ENDPOINT_URL_DYNAMODB", database.endpoint()),
            ("AWS_ENDPOINT_URL_SQS", ministack.endpoint.clone()),
            ("ONCEHOOK_TABLE", TABLE.to_owned()),
            ("ONCEHOOK_QUEUE_URL", queue.clone()),
            ("ONCEHOOK_SECRET_STRIPE", SECRET.to_owned()),
            ("ONCEHOOK_SECRET_MAIL", "re_for_the_emulator".to_owned()),
            ("ONCEHOOK_URL_MAIL", format!("{}/emails", mail.endpoint())),
        ];
        let logs = tempfile::tempdir().unwrap();
        let mut functions = BTreeMap::new();
        for (name, binary) in [
            ("Ingest", "oncehook-ingest"),
            ("Drain", "oncehook-drain"),
            ("Sweep", "oncehook-sweep"),
        ] {
            let function = Function::start(&emulator, &program(binary), &variables, logs.path()).await;
            functions.insert(name, function);
        }
        Some(Self {
            functions,
            mail,
            ministack,
            queue,
            ledger: Ledger::new(client, TABLE.to_owned(), BTreeMap::default(), 4),
            database,
            _logs: logs,
        })
    }

    async fn invoke(&self, function: &str, event: impl Into<Vec<u8>>) -> Value {
        self.functions[function].invoke(event.into()).await
    }

    /// The bodies of the messages that wait.
    async fn messages(&self) -> Vec<String> {
        let client = self.ministack.sqs();
        let receive = client
            .receive_message()
            .queue_url(&self.queue)
            .max_number_of_messages(10);
        let received = receive.wait_time_seconds(1).send().await.unwrap();
        let bodies = received.messages().iter().filter_map(|message| message.body());
        bodies.map(str::to_owned).collect()
    }

    /// An effect that was due ten minutes ago and whose wake-up was lost.
    async fn forget_an_item(&self) {
        let url = format!("{}/emails", self.mail.endpoint());
        let day = SignedDuration::from_hours(24);
        let commit = Commit {
            event: &sample::event("evt_forgotten"),
            decision: &sample::decision(&url, &["receipt"]),
            keep: Keep {
                retention: day * 30,
                keys_for: day * 30,
            },
            now: SystemClock.now() - SignedDuration::from_mins(10),
            deadline: tokio::time::Instant::now() + Duration::from_secs(10),
        };
        self.ledger.commit(commit).await.unwrap();
    }
}

/// What `oncehook event` prints.
fn printed(arguments: &[&str]) -> Vec<u8> {
    let output = oncehook_event(arguments, Some(SECRET));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "oncehook event {arguments:?}: {complaint}"
    );
    output.stdout
}

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
