//! What the functions under the emulator work with, and how they are invoked.
//!
//! Decides nothing about what must come of it.

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
    fixtures::oncehook_event,
    rie::{Function, emulator},
    say,
};
use serde_json::Value;

/// Oncehook's table.
pub(super) const TABLE: &str = "oncehook";
const SECRET: &str = "whsec_for_the_emulator";

/// The three functions, each under an emulator of its own, and what they work with.
pub(super) struct Stand {
    functions: BTreeMap<&'static str, Function>,
    pub(super) mail: MailServer,
    ministack: Ministack,
    queue: String,
    ledger: Ledger,
    pub(super) database: Database,
    _logs: tempfile::TempDir,
}

impl Stand {
    pub(super) async fn start() -> Option<Self> {
        let emulator = emulator();
        let ministack = match &emulator {
            Some(_) => Ministack::start().await,
            None => None,
        };
        let (Some(emulator), Some(ministack)) = (emulator, ministack) else {
            say(
                "not run: set ONCEHOOK_TEST_RIE to AWS's runtime interface emulator and ONCEHOOK_TEST_MINISTACK to the \
                 ministack program, as `make test` does",
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

    pub(super) async fn invoke(&self, function: &str, event: impl Into<Vec<u8>>) -> Value {
        self.functions[function].invoke(event.into()).await
    }

    /// The bodies of the messages that wait.
    pub(super) async fn messages(&self) -> Vec<String> {
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
    pub(super) async fn forget_an_item(&self) {
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
pub(super) fn printed(arguments: &[&str]) -> Vec<u8> {
    let output = oncehook_event(arguments, Some(SECRET));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "oncehook event {arguments:?}: {complaint}"
    );
    output.stdout
}
