//! Reading for people: events and outbox items, one or many. Nothing on the way of an event uses this,
//! except the body of an effect that forwards it.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use oncehook_core::outbox::OutboxItem;
use serde_json::Value;

use crate::{
    acts::{self, Act},
    attr::{self, Item},
    claim,
    error::StoreError,
    keys::{BODY_SK, EVENT_SK, OutboxKey},
    large,
    ledger::Ledger,
    operate::StoredItem,
    record::Record,
};

/// An event as stored.
#[derive(Debug, Clone)]
pub struct EventView {
    /// Its partition key: `event#namespace#scope#id`.
    pub pk: String,
    /// Its source.
    pub source: String,
    /// The first part of its identity.
    pub namespace: String,
    /// The second part: what makes the provider's id unique.
    pub scope: String,
    /// Whose event it is.
    pub tenant: String,
    /// Whether the signature covers the id.
    pub id_signed: bool,
    /// The request's content type.
    pub content_type: Option<String>,
    /// The provider's id.
    pub id: String,
    /// The event type.
    pub kind: String,
    /// When it happened, RFC 3339, as the provider says.
    pub occurred_at: Option<String>,
    /// What became of it.
    pub record: Record,
    /// Its bytes, if still kept.
    pub body: Option<Vec<u8>>,
    /// When it goes; absent while a person must see it, or one of its effects is still open after long.
    pub expires_at: Option<Timestamp>,
    /// What people did to it, oldest first.
    pub acts: Vec<Act>,
    /// Whether it stands in the list of its outcome; false for a failed or held one that somebody discarded.
    pub listed: bool,
    pub(crate) commit_id: String,
    pub(crate) defect: bool,
    /// Where its body lies outside the table, if the record itself says so.
    pub(crate) body_at: Option<String>,
}

/// An outbox item as stored.
#[derive(Debug, Clone)]
pub struct OutboxView {
    /// Where it lies.
    pub key: OutboxKey,
    /// open, done, dead, parked or discarded.
    pub state: String,
    /// The event's id.
    pub event_id: String,
    /// The event's type.
    pub kind: String,
    /// When it is due, or since when it is on its list.
    pub at: Option<Timestamp>,
    /// Why it is parked or dead.
    pub reason: Option<String>,
    /// What the last attempt met.
    pub last_error: Option<String>,
    /// How long somebody holds it.
    pub lease_until: Option<Timestamp>,
    /// When it was delivered or discarded.
    pub done_at: Option<Timestamp>,
    /// What people did to it, oldest first.
    pub acts: Vec<Act>,
    /// The item.
    pub item: OutboxItem,
}

/// Which events to list.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Only this source.
    pub source: Option<String>,
    /// Only this provider's id.
    pub id: Option<String>,
}

impl Ledger {
    /// The bytes and content type of the event that an outbox item belongs to, if still kept.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn body(&self, key: &OutboxKey) -> Result<Option<(Vec<u8>, Option<String>)>, StoreError> {
        let items = self.partition(&key.pk).await?;
        let content_type = items
            .iter()
            .find(|item| is(item, EVENT_SK))
            .and_then(|event| attr::text(event, "content_type"));
        let body = self.body_in(&items).await?;
        Ok(body.map(|body| (body, content_type)))
    }

    /// One event with its outbox items, by its partition key.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn event(&self, pk: &str) -> Result<Option<(EventView, Vec<OutboxView>)>, StoreError> {
        let items = self.partition(pk).await?;
        let body = self.body_in(&items).await?;
        let event = items
            .iter()
            .find(|item| is(item, EVENT_SK))
            .and_then(|item| event_view(item, body));
        Ok(event.map(|event| (event, items.iter().filter_map(outbox_view).collect())))
    }

    /// Every event and outbox item, newest events first: reads the whole table, so for local databases and small
    /// ones. Pages through and filters as it goes.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn scan(&self, filter: &EventFilter) -> Result<(Vec<EventView>, Vec<OutboxView>), StoreError> {
        let items = self.all(&self.table, "scan").await?;
        let wanted = |item: &&Item| {
            let same = |name: &str, want: &Option<String>| want.is_none() || attr::text(item, name) == *want;
            same("source", &filter.source) && same("event_id", &filter.id)
        };
        let split: BTreeMap<String, &Item> = items
            .iter()
            .filter(|item| is(item, BODY_SK))
            .filter_map(|item| Some((attr::text(item, "pk")?, item)))
            .collect();
        let mut events: Vec<EventView> = Vec::new();
        for item in items.iter().filter(|item| is(item, EVENT_SK)).filter(wanted) {
            let mut body = self.body_of(item).await?;
            if let (None, Some(split)) = (&body, attr::text(item, "pk").and_then(|pk| split.get(&pk))) {
                body = self.body_of(split).await?;
            }
            events.extend(event_view(item, body));
        }
        events.sort_by_key(|event| std::cmp::Reverse(event.record.received_at));
        let mut outbox: Vec<OutboxView> = items.iter().filter(wanted).filter_map(outbox_view).collect();
        outbox.sort_by_key(|view| view.item.created_at);
        Ok((events, outbox))
    }

    /// Every outbox item: reads the whole table, as [`scan`](Self::scan) does.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn scan_items(&self) -> Result<Vec<StoredItem>, StoreError> {
        let items = self.all(&self.table, "scan").await?;
        let outbox = |item: &Item| attr::text(item, "sk").is_some_and(|sk| sk.starts_with("outbox#"));
        Ok(items
            .into_iter()
            .filter(outbox)
            .filter_map(StoredItem::load)
            .collect())
    }

    /// The rows of one of the user's own tables, numbers exact: for local inspection and tests.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn rows(&self, logical: &str) -> Result<Vec<Value>, StoreError> {
        let rows = self.all(&self.physical(logical), "rows").await?;
        Ok(rows
            .into_iter()
            .map(|row| json(&AttributeValue::M(row)))
            .collect())
    }

    /// The body that one of the items of an event holds or names.
    async fn body_in(&self, items: &[Item]) -> Result<Option<Vec<u8>>, StoreError> {
        for item in items {
            if let Some(body) = self.body_of(item).await? {
                return Ok(Some(body));
            }
        }
        Ok(None)
    }

    pub(crate) async fn partition(&self, pk: &str) -> Result<Vec<Item>, StoreError> {
        let pages = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", attr::s(pk))
            .consistent_read(true)
            .into_paginator()
            .items()
            .send();
        let items = pages.try_collect().await;
        items.map_err(|error| StoreError::from_sdk("event", &error))
    }

    async fn all(&self, table: &str, action: &'static str) -> Result<Vec<Item>, StoreError> {
        let pages = self
            .client
            .scan()
            .table_name(table)
            .into_paginator()
            .items()
            .send();
        let items = pages.try_collect().await;
        items.map_err(|error| StoreError::from_sdk(action, &error))
    }
}

fn is(item: &Item, sk: &str) -> bool {
    attr::text(item, "sk").as_deref() == Some(sk)
        && attr::text(item, "pk").is_some_and(|pk| pk.starts_with("event#"))
}

pub(crate) fn event_view(item: &Item, body: Option<Vec<u8>>) -> Option<EventView> {
    Some(EventView {
        pk: attr::text(item, "pk")?,
        source: attr::text(item, "source")?,
        namespace: attr::text(item, "namespace").unwrap_or_default(),
        scope: attr::text(item, "scope").unwrap_or_default(),
        tenant: attr::text(item, "tenant").unwrap_or_default(),
        id_signed: attr::flag(item, "id_signed"),
        content_type: attr::text(item, "content_type"),
        id: attr::text(item, "event_id")?,
        kind: attr::text(item, "kind")?,
        occurred_at: attr::text(item, "occurred_at"),
        record: Record::load(item),
        body,
        expires_at: attr::number(item, "expires_at").and_then(|at| Timestamp::from_second(at).ok()),
        acts: acts::load(item),
        listed: item.contains_key("work"),
        commit_id: attr::text(item, "commit_id").unwrap_or_default(),
        defect: attr::flag(item, "defect"),
        body_at: attr::text(item, large::PLACE),
    })
}

pub(crate) fn outbox_view(item: &Item) -> Option<OutboxView> {
    Some(OutboxView {
        key: OutboxKey {
            pk: attr::text(item, "pk")?,
            sk: attr::text(item, "sk")?,
        },
        state: attr::text(item, "state")?,
        event_id: attr::text(item, "event_id")?,
        kind: attr::text(item, "kind").unwrap_or_default(),
        at: attr::time(item, "work_at"),
        reason: attr::text(item, "reason"),
        last_error: attr::text(item, "last_error"),
        lease_until: attr::time(item, "lease_until"),
        done_at: attr::time(item, "done_at"),
        acts: acts::load(item),
        item: claim::load(item)?,
    })
}

fn json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => Value::String(text.clone()),
        AttributeValue::N(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        AttributeValue::Bool(flag) => Value::Bool(*flag),
        AttributeValue::L(list) => list.iter().map(json).collect(),
        AttributeValue::M(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), json(value)))
            .collect(),
        _ => Value::Null,
    }
}
