//! The lists that a person sees, page by page: from the index, then the items themselves. Never reads what is not asked
//! for; what stands in no list (delivered items, applied events) is not found here.

use aws_sdk_dynamodb::types::KeysAndAttributes;
use jiff::Timestamp;

use crate::{
    attr::{self, Item},
    error::StoreError,
    keys::{self, BODY_SK, EVENT_SK, WORK_INDEX},
    ledger::Ledger,
    operate::StoredItem,
    read::{EventView, event_view},
};

/// One list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum List {
    /// Open items of a destination, in one of its shards.
    Open(String, u32),
    /// Parked items of a destination.
    Parked(String),
    /// Dead items of a destination.
    Dead(String),
    /// Failed events of a source.
    Failed(String),
    /// Held events of a source.
    Held(String),
}

/// Where a page ended.
#[derive(Debug, Clone)]
pub struct Mark(Item);

/// A part of a list, oldest first.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// What is in it.
    pub items: Vec<T>,
    /// Where the next page begins, if there is one.
    pub next: Option<Mark>,
}

/// As many items are read at once: with bodies they stay far below what one answer holds.
const AT_ONCE: usize = 50;

impl List {
    fn work(&self) -> String {
        match self {
            Self::Open(destination, shard) => keys::open_work(destination, *shard),
            Self::Parked(destination) => keys::list_work("parked", destination),
            Self::Dead(destination) => keys::list_work("dead", destination),
            Self::Failed(source) => keys::list_work("failed", source),
            Self::Held(source) => keys::list_work("held", source),
        }
    }
}

impl Ledger {
    /// A page of outbox items that came to their list, or are due, at `until` or before.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn listed_items(
        &self,
        list: &List,
        until: Timestamp,
        from: Option<Mark>,
    ) -> Result<Page<StoredItem>, StoreError> {
        let (keys, next) = self.listed(list, until, from).await?;
        let items = self.read_all(keys).await?;
        Ok(Page {
            items: items.into_iter().filter_map(StoredItem::load).collect(),
            next,
        })
    }

    /// A page of events that came to their list at `until` or before, with their bodies.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn listed_events(
        &self,
        list: &List,
        until: Timestamp,
        from: Option<Mark>,
    ) -> Result<Page<EventView>, StoreError> {
        let (keys, next) = self.listed(list, until, from).await?;
        let items = self.read_all(keys).await?;
        let mut events = Vec::with_capacity(items.len());
        for item in &items {
            events.extend(event_view(item, self.body_of(item).await?));
        }
        Ok(Page { items: events, next })
    }

    /// One event without its outbox.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn event_alone(&self, pk: &str) -> Result<Option<EventView>, StoreError> {
        let Some(event) = self.get(pk, EVENT_SK, "event").await? else {
            return Ok(None);
        };
        let mut body = self.body_of(&event).await?;
        if let (None, Some(split)) = (&body, self.get(pk, BODY_SK, "event").await?) {
            body = self.body_of(&split).await?;
        }
        Ok(event_view(&event, body))
    }

    async fn listed(
        &self,
        list: &List,
        until: Timestamp,
        from: Option<Mark>,
    ) -> Result<(Vec<Item>, Option<Mark>), StoreError> {
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(WORK_INDEX)
            .key_condition_expression("#work = :work AND work_at <= :until")
            .expression_attribute_names("#work", "work")
            .expression_attribute_values(":work", attr::s(list.work()))
            .expression_attribute_values(":until", attr::millis(until))
            .limit(i32::try_from(AT_ONCE).unwrap_or(i32::MAX))
            .set_exclusive_start_key(from.map(|mark| mark.0))
            .send()
            .await
            .map_err(|error| StoreError::from_sdk("list", &error))?;
        let keys = page.items.unwrap_or_default().into_iter();
        let keys = keys.map(|mut item| {
            item.retain(|name, _| matches!(name.as_str(), "pk" | "sk"));
            item
        });
        Ok((keys.collect(), page.last_evaluated_key.map(Mark)))
    }

    /// Items by their keys, in this order; those that are gone are left out.
    async fn read_all(&self, keys: Vec<Item>) -> Result<Vec<Item>, StoreError> {
        let mut found: Vec<Item> = Vec::with_capacity(keys.len());
        let mut left = keys.clone();
        while !left.is_empty() {
            let wanted = KeysAndAttributes::builder()
                .set_keys(Some(std::mem::take(&mut left)))
                .consistent_read(true)
                .build();
            let Ok(wanted) = wanted else { break };
            let answer = self
                .client
                .batch_get_item()
                .request_items(&self.table, wanted)
                .send()
                .await
                .map_err(|error| StoreError::from_sdk("list", &error))?;
            found.extend(
                answer
                    .responses
                    .unwrap_or_default()
                    .remove(&self.table)
                    .unwrap_or_default(),
            );
            let unread = answer.unprocessed_keys.unwrap_or_default().remove(&self.table);
            left = unread.map(|unread| unread.keys).unwrap_or_default();
        }
        let place = |item: &Item| {
            let same = |key: &Item| ["pk", "sk"].iter().all(|name| key.get(*name) == item.get(*name));
            keys.iter().position(same)
        };
        found.sort_by_key(place);
        Ok(found)
    }
}
