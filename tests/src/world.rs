//! A world: one table, one queue, one mail API, one clock.

use std::{
    cell::RefCell,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use http::Method;
use jiff::{SignedDuration, Timestamp};
use lambda_http::Body;
use oncehook_core::{clock::Clock, config::Config, rules::Rules, verify::Source};
use oncehook_drain::Drain;
use oncehook_edge::{Environment, SecretStore, Secrets, Signer};
use oncehook_ingest::Ingest;
use oncehook_local::{clock::ManualClock, database::Database, faults::Proxy, gateway, mail::MailServer};
use oncehook_store::{EventFilter, EventView, Ledger, OutboxView, Queue, Wakeup};
use oncehook_sweep::Sweep;
use serde_json::Value;
use tokio::{sync::mpsc, time::Instant};
use uuid::Uuid;

use crate::request::RequestParts;

/// The configuration that tests start from.
pub const CONFIG: &str = include_str!("oncehook.toml");

/// An answer to a webhook request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Whether it repeats an earlier answer.
    pub replayed: bool,
    /// What became of the event.
    pub outcome: String,
    /// The body.
    pub body: String,
}

/// Everything, wired as in production but for time, queue and destinations.
pub struct World {
    /// The embedded database, unless another endpoint is given.
    _database: Option<Database>,
    /// What stands between the functions and the database.
    pub proxy: Proxy,
    /// The destination.
    pub mail: MailServer,
    /// The time.
    pub clock: Arc<ManualClock>,
    /// The ingest function.
    pub ingest: Arc<Ingest>,
    /// The drain function.
    pub drain: Arc<Drain>,
    /// The sweep function.
    pub sweep: Sweep,
    /// The table, past the proxy.
    pub ledger: Ledger,
    /// A source that signs with the right secret.
    pub source: Source,
    client: aws_sdk_dynamodb::Client,
    table: String,
    wakeups: RefCell<mpsc::UnboundedReceiver<(Wakeup, Duration)>>,
    waiting: RefCell<Vec<(Timestamp, Wakeup)>>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("World")
    }
}

impl World {
    /// A new world with the configuration of the tests.
    pub async fn new() -> Self {
        Self::with(CONFIG).await
    }

    /// A new world with this configuration; every HTTP destination leads to the mail API.
    pub async fn with(text: &str) -> Self {
        Self::with_services(text, Signer::local("http://127.0.0.1:1")).await
    }

    /// The same, where this signs the calls to queues, functions and buses.
    pub async fn with_services(text: &str, signer: Signer) -> Self {
        let given = Environment::process().get("ONCEHOOK_TEST_DYNAMODB");
        let database = given.is_none().then(|| Database::start(None).unwrap());
        let endpoint = given.unwrap_or_else(|| database.as_ref().unwrap().endpoint());
        let suffix = Uuid::new_v4().simple().to_string();
        let mail = MailServer::start(None).unwrap();
        let mail_url = format!("{}/emails", mail.endpoint());
        let accounts = format!("accounts-{suffix}");
        let physical = accounts.clone();
        let environment = Environment::new(move |name| match name {
            "ONCEHOOK_SECRET_STRIPE" => Some("whsec_for_tests".to_owned()),
            "ONCEHOOK_SECRET_MAIL" => Some("re_for_tests".to_owned()),
            "ONCEHOOK_SECRET_OTHER" => Some("whsec_dGhlIHNlY3JldCBvZiBhIHRlc3Q=".to_owned()),
            "ONCEHOOK_TABLE_ACCOUNTS" => Some(physical.clone()),
            // A destination named `other` keeps its own address.
            name if name.starts_with("ONCEHOOK_URL_") && name != "ONCEHOOK_URL_OTHER" => {
                Some(mail_url.clone())
            }
            _ => None,
        });
        let mut config = Config::parse(text, "oncehook.toml").unwrap();
        environment.override_targets(&mut config).unwrap();

        let table = format!("oncehook-{suffix}");
        let direct = oncehook_edge::local_dynamodb(&endpoint);
        oncehook_store::create_table(&direct, &table).await.unwrap();
        create_hash_table(&direct, &accounts, "customer_id").await;
        let proxy = Proxy::start(&endpoint).unwrap();
        let proxied = oncehook_edge::local_dynamodb(&proxy.endpoint());
        let tables = environment.tables(&config);
        let ledger = Ledger::new(direct.clone(), table.clone(), tables.clone(), config.shards);
        let behind = Ledger::new(proxied, table.clone(), tables, config.shards);

        let clock = Arc::new(ManualClock::at("2026-12-01T12:00:00Z".parse().unwrap()));
        let (sender, receiver) = mpsc::unbounded_channel();
        let queue = Queue::Local(sender);
        let secrets = Secrets::read(&config, &environment);
        let rules = Arc::new(Rules::new(&config).unwrap());
        let source = Source::new(&config.sources["stripe"], secrets.all("stripe")).unwrap();
        let secrets = Arc::new(SecretStore::fixed(secrets));
        let time: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        let ingest = Ingest::new(
            &config,
            Arc::clone(&secrets),
            rules,
            behind.clone(),
            queue.clone(),
            Arc::clone(&time),
        );
        let drain = Drain::new(&config, secrets, behind.clone(), queue.clone(), time).unwrap();
        let drain = drain.signed_by(&Arc::new(signer));
        let sweep = Sweep::new(&config, behind, queue);
        Self {
            _database: database,
            proxy,
            mail,
            clock,
            ingest: Arc::new(ingest),
            drain: Arc::new(drain),
            sweep,
            ledger,
            source,
            client: direct,
            table,
            wakeups: RefCell::new(receiver),
            waiting: RefCell::default(),
        }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// This payload, signed now.
    #[must_use]
    pub fn signed(&self, payload: &Value) -> RequestParts {
        RequestParts::signed(&self.source, payload, self.now())
    }

    /// Posts a request to `/webhooks/stripe`.
    pub async fn post(&self, request: &RequestParts) -> Answer {
        self.send(Method::POST, "stripe", request).await
    }

    /// Sends a request to a source.
    pub async fn send(&self, method: Method, source: &str, request: &RequestParts) -> Answer {
        let mut incoming = http::Request::builder()
            .method(method)
            .uri(format!("/webhooks/{source}"));
        *incoming.headers_mut().unwrap() = request.headers.clone();
        let incoming = incoming.body(request.body.clone()).unwrap();
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let event = gateway::event_json(&incoming, source, ip, self.now(), "request").to_string();
        let response =
            oncehook_ingest::handle(&self.ingest, lambda_http::request::from_str(&event).unwrap()).await;
        let header = |name: &str| {
            response
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned()
        };
        Answer {
            status: response.status().as_u16(),
            replayed: header(oncehook_ingest::REPLAYED) == "true",
            outcome: header(oncehook_ingest::OUTCOME),
            body: match response.body() {
                Body::Text(text) => text.clone(),
                _ => String::new(),
            },
        }
    }

    /// Takes the wake-ups that were sent, and returns those that are due.
    #[must_use]
    pub fn due_wakeups(&self) -> Vec<Wakeup> {
        let now = self.now();
        let mut waiting = self.waiting.borrow_mut();
        while let Ok((wakeup, delay)) = self.wakeups.borrow_mut().try_recv() {
            waiting.push((now + SignedDuration::try_from(delay).unwrap(), wakeup));
        }
        let (due, later): (Vec<_>, Vec<_>) = waiting.drain(..).partition(|(at, _)| *at <= now);
        *waiting = later;
        due.into_iter().map(|(_, wakeup)| wakeup).collect()
    }

    /// Loses every wake-up sent so far.
    pub fn lose_wakeups(&self) {
        let _lost = self.due_wakeups();
        self.waiting.borrow_mut().clear();
    }

    /// Hands these wake-ups to drain as one batch; returns how many messages it wants again.
    pub async fn drain(&self, wakeups: &[Wakeup]) -> usize {
        let bodies: Vec<String> = wakeups.iter().map(Wakeup::to_json).collect();
        let answer = oncehook_drain::handle(
            &self.drain,
            oncehook_local::queue::event(&bodies),
            Instant::now() + Duration::from_secs(60),
        )
        .await;
        answer.batch_item_failures.len()
    }

    /// Drains what is due until nothing more is.
    pub async fn drain_due(&self) {
        loop {
            let due = self.due_wakeups();
            if due.is_empty() {
                return;
            }
            self.drain(&due).await;
        }
    }

    /// Lets time pass in steps, sweeping and draining at each, as a day in production would.
    pub async fn pass(&self, time: SignedDuration, step: SignedDuration) {
        let end = self.now() + time;
        while self.now() < end {
            self.clock.advance(step);
            self.sweep().await;
            self.drain_due().await;
        }
    }

    /// Sweeps once.
    pub async fn sweep(&self) {
        oncehook_sweep::handle(&self.sweep, self.now()).await.unwrap();
    }

    /// All events and outbox items.
    pub async fn stored(&self) -> (Vec<EventView>, Vec<OutboxView>) {
        self.ledger.scan(&EventFilter::default()).await.unwrap()
    }

    /// When each event and outbox item expires, in epoch seconds; `None` for what never does.
    pub async fn expiries(&self) -> Vec<Option<i64>> {
        let answer = self.client.scan().table_name(&self.table).send().await.unwrap();
        let is_ours = |sk: &str| sk == "event" || sk.starts_with("outbox#");
        answer
            .items()
            .iter()
            .filter(|item| item["sk"].as_s().is_ok_and(|sk| is_ours(sk)))
            .map(|item| item.get("expires_at")?.as_n().ok()?.parse().ok())
            .collect()
    }

    /// A customer's balance, as text; `null` if there is no such row.
    pub async fn balance(&self, customer: &str) -> String {
        let rows = self.ledger.rows("accounts").await.unwrap();
        rows.iter()
            .find(|row| row["customer_id"] == customer)
            .map_or("null".to_owned(), |row| row["balance"].to_string())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let left = self.due_wakeups();
        if !std::thread::panicking() {
            assert!(left.is_empty(), "wake-ups left lying: {left:?}");
        }
    }
}

/// Makes a table of the user's with one key, a string.
///
/// # Panics
/// When it cannot.
pub async fn create_hash_table(client: &aws_sdk_dynamodb::Client, table: &str, key: &str) {
    use aws_sdk_dynamodb::types::{
        AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    };
    let kind = ScalarAttributeType::S;
    client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(
            AttributeDefinition::builder()
                .attribute_name(key)
                .attribute_type(kind)
                .build()
                .unwrap(),
        )
        .key_schema(
            KeySchemaElement::builder()
                .attribute_name(key)
                .key_type(KeyType::Hash)
                .build()
                .unwrap(),
        )
        .send()
        .await
        .unwrap();
}
