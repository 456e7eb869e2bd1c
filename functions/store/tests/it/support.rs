//! A ledger on a database of its own.

use std::{collections::HashMap, time::Duration};

use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Credentials, Region, retry::RetryConfig, timeout::TimeoutConfig},
    types::{
        AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    },
};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{decide::Decision, event::Event, outbox::OutboxItem, settle::Settled};
use oncehook_local::{database::Database, faults::Proxy};
use oncehook_store::{
    Claim, Commit, CommitError, Committed, Keep, Lease, Ledger, OutboxKey, Record, Settling, create_table,
};
use tokio::time::Instant;

use crate::builders::{Build, apply, event, n, parts, pk, rule, s};

pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The record and the body are kept equally long.
pub(crate) const KEEP: Keep = Keep {
    retention: SignedDuration::from_hours(30 * 24),
    keys_for: SignedDuration::from_hours(30 * 24),
};
/// The record is kept longer than the body.
pub(crate) const SPLIT: Keep = Keep {
    retention: SignedDuration::from_hours(30 * 24),
    keys_for: SignedDuration::from_hours(400 * 24),
};
pub(crate) const LEASE: SignedDuration = SignedDuration::from_secs(20);

/// 2026-12-01T00:00:00Z.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_796_083_200).unwrap()
}

pub(crate) fn later(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

/// A ledger with a table of its own, reached through a proxy; `client` goes past the proxy.
pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) proxy: Proxy,
    pub(crate) ledger: Ledger,
    pub(crate) table: String,
    pub(crate) accounts: String,
    pub(crate) keep: Keep,
    /// How long a commit is tried.
    pub(crate) budget: Duration,
    _database: Option<Database>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "names the database to test against; nothing else is read from the environment"
)]
fn other_database() -> Option<String> {
    std::env::var("ONCEHOOK_TEST_DYNAMODB").ok()
}

fn client(endpoint: &str) -> Client {
    let second = Duration::from_secs(5);
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(second).build();
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .build();
    Client::from_conf(config)
}

impl World {
    pub(crate) async fn new() -> Self {
        let (database, endpoint) = match other_database() {
            Some(endpoint) => (None, endpoint),
            None => {
                let database = Database::start(None).unwrap();
                let endpoint = database.endpoint();
                (Some(database), endpoint)
            }
        };
        let proxy = Proxy::start(&endpoint).unwrap();
        let client_past_proxy = client(&endpoint);
        let random = fastrand::u64(..);
        let (table, accounts) = (format!("oncehook-{random}"), format!("accounts-{random}"));
        create_table(&client_past_proxy, &table).await.unwrap();
        create_accounts(&client_past_proxy, &accounts).await;
        let tables = [("accounts".to_owned(), accounts.clone())].into();
        let ledger = Ledger::new(client(&proxy.endpoint()), table.clone(), tables, 4);
        Self {
            client: client_past_proxy,
            proxy,
            ledger,
            table,
            accounts,
            keep: KEEP,
            budget: Duration::from_secs(5),
            _database: database,
        }
    }

    /// The same, with the account `cus_1` at balance 0.
    pub(crate) async fn with_account() -> Self {
        let world = Self::new().await;
        world.open_account("cus_1").await;
        world
    }

    pub(crate) async fn open_account(&self, id: &str) {
        self.client
            .put_item()
            .table_name(&self.accounts)
            .item("customer_id", AttributeValue::S(id.to_owned()))
            .item("balance", AttributeValue::N("0".to_owned()))
            .send()
            .await
            .unwrap();
    }

    pub(crate) async fn commit(&self, event: &Event, decision: &Decision) -> Result<Committed, CommitError> {
        self.commit_at(event, decision, now()).await
    }

    pub(crate) async fn commit_at(
        &self,
        event: &Event,
        decision: &Decision,
        now: Timestamp,
    ) -> Result<Committed, CommitError> {
        let commit = Commit {
            event,
            decision,
            keep: self.keep,
            now,
            deadline: Instant::now() + self.budget,
        };
        self.ledger.commit(commit).await
    }

    /// Commits what must be new.
    pub(crate) async fn new_record(&self, event: &Event, decision: &Decision) -> Record {
        match self.commit(event, decision).await.unwrap() {
            Committed::New(record) => record,
            other => panic!("not new: {other:?}"),
        }
    }

    /// Commits what must be there already.
    pub(crate) async fn duplicate(&self, event: &Event, decision: &Decision) -> Record {
        match self.commit(event, decision).await.unwrap() {
            Committed::Duplicate(record) => record,
            other => panic!("not a duplicate: {other:?}"),
        }
    }

    /// Commits `id` with one effect and returns its key.
    pub(crate) async fn outbox(&self, id: &str) -> OutboxKey {
        let decision = apply([rule("r").effect("mail")]);
        let record = self.new_record(&event(id), &decision).await;
        record.wakeups[0].key.clone()
    }

    pub(crate) async fn claimed(&self, key: &OutboxKey, at: Timestamp) -> (Lease, Box<OutboxItem>) {
        match self.ledger.claim(key, LEASE, at).await.unwrap() {
            Claim::Held(lease, item) => (lease, item),
            other => panic!("not held: {other:?}"),
        }
    }

    pub(crate) async fn settle(
        &self,
        lease: &Lease,
        item: &OutboxItem,
        settled: &Settled,
        at: Timestamp,
    ) -> Settling {
        self.ledger.settle(lease, item, settled, at).await.unwrap()
    }

    pub(crate) async fn find(&self, pk: &str, sk: &str) -> Option<Item> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("pk", AttributeValue::S(pk.to_owned()))
            .key("sk", AttributeValue::S(sk.to_owned()))
            .consistent_read(true)
            .send()
            .await
            .unwrap();
        answer.item
    }

    /// The stored record of an event made by [`event`].
    pub(crate) async fn record(&self, id: &str) -> Item {
        self.find(&pk(id), "event").await.unwrap()
    }

    pub(crate) async fn stored(&self, key: &OutboxKey) -> Item {
        let (pk, sk) = parts(key);
        self.find(&pk, &sk).await.unwrap()
    }

    /// Changes one attribute behind the ledger's back.
    pub(crate) async fn alter(&self, pk: &str, sk: &str, name: &str, value: AttributeValue) {
        self.client
            .update_item()
            .table_name(&self.table)
            .key("pk", AttributeValue::S(pk.to_owned()))
            .key("sk", AttributeValue::S(sk.to_owned()))
            .update_expression("SET #name = :value")
            .expression_attribute_names("#name", name)
            .expression_attribute_values(":value", value)
            .send()
            .await
            .unwrap();
    }

    pub(crate) async fn delete(&self, pk: &str, sk: &str) {
        self.client
            .delete_item()
            .table_name(&self.table)
            .key("pk", AttributeValue::S(pk.to_owned()))
            .key("sk", AttributeValue::S(sk.to_owned()))
            .send()
            .await
            .unwrap();
    }

    /// The sort keys in one partition of the work index, oldest first.
    pub(crate) async fn listed(&self, work: &str) -> Vec<String> {
        let answer = self
            .client
            .query()
            .table_name(&self.table)
            .index_name("work")
            .key_condition_expression("#work = :work")
            .expression_attribute_names("#work", "work")
            .expression_attribute_values(":work", AttributeValue::S(work.to_owned()))
            .send()
            .await
            .unwrap();
        answer.items().iter().map(|item| s(item, "sk")).collect()
    }

    /// Every item of the table.
    pub(crate) async fn everything(&self) -> Vec<Item> {
        let answer = self.client.scan().table_name(&self.table).send().await;
        answer.unwrap().items.unwrap_or_default()
    }

    pub(crate) async fn account(&self, id: &str) -> Option<Item> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.accounts)
            .key("customer_id", AttributeValue::S(id.to_owned()))
            .consistent_read(true)
            .send()
            .await
            .unwrap();
        answer.item
    }

    pub(crate) async fn balance(&self) -> i64 {
        n(&self.account("cus_1").await.unwrap(), "balance")
    }

    /// How many writes came through the proxy: lone ones and transactions.
    pub(crate) fn writes(&self) -> (usize, usize) {
        (
            self.proxy.count("PutItem"),
            self.proxy.count("TransactWriteItems"),
        )
    }
}

async fn create_accounts(client: &Client, table: &str) {
    client
        .create_table()
        .table_name(table)
        .attribute_definitions(
            AttributeDefinition::builder()
                .attribute_name("customer_id")
                .attribute_type(ScalarAttributeType::S)
                .build()
                .unwrap(),
        )
        .key_schema(
            KeySchemaElement::builder()
                .attribute_name("customer_id")
                .key_type(KeyType::Hash)
                .build()
                .unwrap(),
        )
        .billing_mode(BillingMode::PayPerRequest)
        .send()
        .await
        .unwrap();
}
