//! What is due, of which destinations: for the sweep.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::{operation::put_item::PutItemError, types::AttributeValue};
use jiff::Timestamp;

use crate::{
    attr::{self, Item},
    error::StoreError,
    keys::{self, OutboxKey, WORK_INDEX},
    ledger::Ledger,
    queue::Wakeup,
};

/// An open item whose time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// What wakes it.
    pub wakeup: Wakeup,
    /// Since when it is due.
    pub since: Timestamp,
}

/// How many items one query asks for: a small answer within its second, whatever the limit.
const PAGE: i32 = 100;

/// Where the destinations are noted.
const REGISTRY: (&str, &str) = ("registry", "destinations");

impl Ledger {
    /// Open items of one destination and shard that were due before then, oldest first, at most `limit`, read in pages.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn due(
        &self,
        destination: &str,
        shard: u32,
        before: Timestamp,
        limit: i32,
    ) -> Result<Vec<Due>, StoreError> {
        let mut found: Vec<Due> = Vec::new();
        let mut from: Option<Item> = None;
        loop {
            let left = limit.saturating_sub(i32::try_from(found.len()).unwrap_or(i32::MAX));
            if left <= 0 {
                return Ok(found);
            }
            let page = self
                .client
                .query()
                .table_name(&self.table)
                .index_name(WORK_INDEX)
                .key_condition_expression("#work = :work AND work_at <= :before")
                .expression_attribute_names("#work", "work")
                .expression_attribute_values(":work", attr::s(keys::open_work(destination, shard)))
                .expression_attribute_values(":before", attr::millis(before))
                .limit(left.min(PAGE))
                .set_exclusive_start_key(from)
                .send()
                .await
                .map_err(|error| StoreError::from_sdk("due", &error))?;
            found.extend(page.items().iter().filter_map(|item| due(item, destination)));
            from = page.last_evaluated_key;
            if from.is_none() {
                return Ok(found);
            }
        }
    }

    /// Notes which destinations and how many shards there are, and returns all that ever were: an item of a
    /// destination that is no longer configured must still be found. Shards only grow.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn register(
        &self,
        destinations: &[String],
        shards: u32,
    ) -> Result<BTreeMap<String, u32>, StoreError> {
        let key = [("pk", attr::s(REGISTRY.0)), ("sk", attr::s(REGISTRY.1))];
        let stored = self
            .get(REGISTRY.0, REGISTRY.1, "register")
            .await?
            .unwrap_or_default();
        let mut known = registered(&stored);
        let before = known.clone();
        for name in destinations {
            let entry = known.entry(name.clone()).or_default();
            *entry = (*entry).max(shards);
        }
        if known != before {
            self.write_registry(attr::item(key), &stored, &known).await?;
        }
        Ok(known)
    }

    /// All destinations that a sweep ever noted, with their shards. Writes nothing.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn destinations(&self) -> Result<BTreeMap<String, u32>, StoreError> {
        let stored = self.get(REGISTRY.0, REGISTRY.1, "destinations").await?;
        Ok(registered(&stored.unwrap_or_default()))
    }

    async fn write_registry(
        &self,
        mut item: Item,
        stored: &Item,
        known: &BTreeMap<String, u32>,
    ) -> Result<(), StoreError> {
        let map = known
            .iter()
            .map(|(name, shards)| (name.clone(), attr::n(shards)))
            .collect();
        let revision: u64 = attr::number(stored, "revision").unwrap_or_default();
        item.insert("v".to_owned(), attr::n(keys::VERSION));
        item.insert("shards".to_owned(), AttributeValue::M(map));
        item.insert("revision".to_owned(), attr::n(revision + 1));
        // A concurrent change wins; the next sweep adds what is missing.
        let sent = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(pk) OR revision = :revision")
            .expression_attribute_values(":revision", attr::n(revision))
            .send()
            .await;
        match sent {
            Ok(_) => Ok(()),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(PutItemError::is_conditional_check_failed_exception) =>
            {
                Ok(())
            }
            Err(error) => Err(StoreError::from_sdk("register", &error)),
        }
    }
}

fn registered(stored: &Item) -> BTreeMap<String, u32> {
    let map = stored.get("shards").and_then(|shards| shards.as_m().ok());
    let shards = |map: &Item| {
        map.keys()
            .filter_map(|name| Some((name.clone(), attr::number(map, name)?)))
            .collect()
    };
    map.map(shards).unwrap_or_default()
}

fn due(item: &Item, destination: &str) -> Option<Due> {
    let wakeup = Wakeup {
        key: OutboxKey {
            pk: attr::text(item, "pk")?,
            sk: attr::text(item, "sk")?,
        },
        destination: destination.to_owned(),
        tenant: String::new(),
        probe: false,
    };
    Some(Due {
        wakeup,
        since: attr::time(item, "work_at")?,
    })
}
