//! An event never goes before its outbox: what keeps it beyond its expiry, and what lets it go again.
//!
//! An event is given its expiry at commit. An item that may still be there by then takes the expiry away, in the write
//! that shows it: a settlement, or the sweep's for an item that nobody has claimed for long. The last item done gives
//! it back. A crash between the two keeps an event too long, never too short.

use aws_sdk_dynamodb::{
    operation::transact_write_items::TransactWriteItemsError,
    types::{AttributeValue, TransactWriteItem, Update},
};
use jiff::{SignedDuration, Timestamp};

use crate::{
    actions::build,
    attr::{self, Item},
    error::{self, StoreError},
    keys::{BODY_SK, EVENT_SK, OutboxKey, VERSION},
    large::{self, Holds, PLACE},
    ledger::Ledger,
    settle::Settling,
    work::Due,
};

/// A kept event that is let go after its expiry is still there for so long, for people who look.
pub(crate) const LEFT: SignedDuration = SignedDuration::from_hours(24);
/// How often a body is copied again that others move at the same time.
const MOVES: usize = 5;

/// A body's name, and the one that it is to have.
pub(crate) struct Moved {
    pub(crate) from: String,
    pub(crate) to: String,
}

impl Moved {
    fn is_new(&self) -> bool {
        self.from != self.to
    }
}

impl Ledger {
    /// Keeps the event of an open item that has been due for long, whatever holds the item up: a pause without end, a
    /// drain that is switched off. The item counts as due from `now` on; its time to give up moves along. Returns
    /// whether there was such an item.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn keep(&self, due: &Due, now: Timestamp) -> Result<bool, StoreError> {
        let key = &due.wakeup.key;
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("pk", attr::s(&key.pk))
            .key("sk", attr::s(&key.sk))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| StoreError::from_sdk("keep", &error))?;
        let Some(item) = answer.item.filter(|item| still_due(item, due)) else {
            return Ok(false);
        };
        let waited = now.duration_since(due.since).as_millis();
        let touch = Update::builder()
            .table_name(&self.table)
            .key("pk", attr::s(&key.pk))
            .key("sk", attr::s(&key.sk))
            .update_expression("SET kept = :yes, work_at = :now, give_up_at = give_up_at + :waited")
            .condition_expression(
                "#state = :open AND work_at = :since \
                 AND (attribute_not_exists(lease_until) OR lease_until <= :now)",
            )
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":yes", AttributeValue::Bool(true))
            .expression_attribute_values(":open", attr::s("open"))
            .expression_attribute_values(":now", attr::millis(now))
            .expression_attribute_values(":since", attr::millis(due.since))
            .expression_attribute_values(":waited", attr::n(waited));
        let kept = self
            .write_and_keep(key, Holds::of(&item), build(touch.build()))
            .await?;
        Ok(kept == Settling::Written)
    }

    /// Writes an item and takes the expiry off its event and body, in one transaction. A body outside the table is copied
    /// first to where it does not expire, and the copy named in the same transaction.
    pub(crate) async fn write_and_keep(
        &self,
        key: &OutboxKey,
        holds: Holds,
        update: Update,
    ) -> Result<Settling, StoreError> {
        for _ in 0..MOVES {
            let moved = if holds.large_body {
                self.kept_copy(key, holds).await?
            } else {
                None
            };
            let written = self
                .try_write_and_keep(key, holds, update.clone(), moved.as_ref())
                .await?;
            if let Some(moved) = moved.filter(|moved| moved.is_new() && written != Some(Settling::Written)) {
                self.release(&moved.to).await;
            }
            if let Some(settling) = written {
                return Ok(settling);
            }
        }
        Err(StoreError::Busy {
            action: "settle",
            detail: "the body of the event is being moved by others".to_owned(),
        })
    }

    /// A copy of the event's body that does not expire, not yet named; what is named already if it does not.
    async fn kept_copy(&self, key: &OutboxKey, holds: Holds) -> Result<Option<Moved>, StoreError> {
        let sk = if holds.split_body { BODY_SK } else { EVENT_SK };
        let holder = self.get(&key.pk, sk, "settle").await?;
        let Some(from) = holder.as_ref().and_then(|holder| attr::text(holder, PLACE)) else {
            return Ok(None);
        };
        if large::is_kept(&from) {
            return Ok(Some(Moved {
                to: from.clone(),
                from,
            }));
        }
        self.moved(from, true).await
    }

    /// A copy under another name; none if there is nothing to copy.
    pub(crate) async fn moved(&self, from: String, kept: bool) -> Result<Option<Moved>, StoreError> {
        let to = large::name(kept, large::digest_of(&from));
        let copied = self.bodies("settle")?.copy(&from, &to).await;
        if copied.map_err(|error| large::of_store("settle", &error))? {
            return Ok(Some(Moved { from, to }));
        }
        tracing::error!(name = from, "the body of an event is gone before the event");
        Ok(None)
    }

    /// None if the body has another name by now.
    async fn try_write_and_keep(
        &self,
        key: &OutboxKey,
        holds: Holds,
        update: Update,
        moved: Option<&Moved>,
    ) -> Result<Option<Settling>, StoreError> {
        let holder = if holds.split_body { BODY_SK } else { EVENT_SK };
        let keep = |sk: &str| {
            let update = Update::builder()
                .table_name(&self.table)
                .key("pk", attr::s(&key.pk))
                .key("sk", attr::s(sk))
                .expression_attribute_values(":one", attr::n(1));
            let update = match moved.filter(|_| sk == holder) {
                Some(moved) => update
                    .update_expression("SET body_at = :to REMOVE expires_at ADD keeps :one")
                    .condition_expression("attribute_exists(pk) AND body_at = :from")
                    .expression_attribute_values(":from", attr::s(&moved.from))
                    .expression_attribute_values(":to", attr::s(&moved.to)),
                None => update
                    .update_expression("REMOVE expires_at ADD keeps :one")
                    .condition_expression("attribute_exists(pk)"),
            };
            TransactWriteItem::builder().update(build(update.build())).build()
        };
        let mut writes = vec![
            TransactWriteItem::builder().update(update).build(),
            keep(EVENT_SK),
        ];
        if holds.split_body {
            writes.push(keep(BODY_SK));
        }
        loop {
            let sent = self
                .client
                .transact_write_items()
                .set_transact_items(Some(writes.clone()))
                .send()
                .await;
            let Err(error) = sent else {
                return Ok(Some(Settling::Written));
            };
            let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
                error.as_service_error()
            else {
                return Err(StoreError::from_sdk("settle", &error));
            };
            let failed: Vec<bool> = cancelled
                .cancellation_reasons()
                .iter()
                .map(|reason| reason.code() == Some("ConditionalCheckFailed"))
                .collect();
            match failed.first() {
                Some(true) => return Ok(Some(Settling::LeaseLost)),
                // Moved, or gone: look again.
                Some(false) if failed.contains(&true) && moved.is_some() => return Ok(None),
                // The event or its body is gone already: the item alone is written.
                Some(false) if failed.contains(&true) => {
                    let mut position = 0;
                    writes.retain(|_| {
                        position += 1;
                        !failed.get(position - 1).copied().unwrap_or_default()
                    });
                }
                _ => {
                    return Err(StoreError::Busy {
                        action: "settle",
                        detail: error::describe_cancelled(cancelled),
                    });
                }
            }
        }
    }

    /// A kept item is done. If it was the last one, the event expires again; otherwise the others are told to see to
    /// that. A failure is only logged: the event then stays.
    pub(crate) async fn let_go(&self, pk: &str, now: Timestamp) {
        if let Err(error) = self.try_let_go(pk, now).await {
            tracing::warn!(event = pk, %error, "the event is kept for ever: its expiry could not be written");
        }
    }

    async fn try_let_go(&self, pk: &str, now: Timestamp) -> Result<(), StoreError> {
        let items = self.partition(pk).await?;
        let outbox = || items.iter().filter(|item| sk(item).starts_with("outbox#"));
        let state = |item: &Item| attr::text(item, "state").unwrap_or_default();
        let left: Vec<&Item> = outbox()
            .filter(|item| !matches!(state(item).as_str(), "done" | "discarded"))
            .collect();
        for item in &left {
            if !attr::flag(item, "kept") {
                let set = attr::item([(":yes", AttributeValue::Bool(true))]);
                self.touch(item, "SET kept = :yes", set).await?;
            }
        }
        if !left.is_empty() {
            return Ok(());
        }
        let first = |name: &str| outbox().filter_map(|item| attr::number::<i64>(item, name)).max();
        let record_expiry = first("event_expires_at").unwrap_or_default();
        let body_expiry = first("kept_until").map_or(record_expiry, |millis| millis / 1000);
        for item in &items {
            let expiry = match sk(item).as_str() {
                EVENT_SK => record_expiry,
                BODY_SK => body_expiry,
                _ => continue,
            };
            let at = expiry.max((now + LEFT).as_second());
            // Where it expires again, counted from now.
            let moved = match attr::text(item, PLACE).filter(|name| large::is_kept(name)) {
                Some(from) => self.moved(from, false).await?,
                None => None,
            };
            if self.expire(item, at, moved.as_ref()).await?
                && let Some(moved) = moved
            {
                self.release(&moved.from).await;
            }
        }
        Ok(())
    }

    /// Gives an event or body its expiry back, unless somebody has taken it off since it was read: then an item is open
    /// once more, and its settlement will see to it. Whether it was done.
    async fn expire(&self, item: &Item, at: i64, moved: Option<&Moved>) -> Result<bool, StoreError> {
        let mut values = attr::item([(":at", attr::n(at))]);
        let unchanged = match item.get("keeps") {
            Some(keeps) => {
                values.insert(":keeps".to_owned(), keeps.clone());
                "attribute_exists(pk) AND keeps = :keeps"
            }
            None => "attribute_exists(pk) AND attribute_not_exists(keeps)",
        };
        let (set, condition) = match moved {
            Some(Moved { from, to }) => {
                values.insert(":from".to_owned(), attr::s(from));
                values.insert(":to".to_owned(), attr::s(to));
                (
                    "SET expires_at = :at, body_at = :to",
                    format!("{unchanged} AND body_at = :from"),
                )
            }
            None => ("SET expires_at = :at", unchanged.to_owned()),
        };
        let update = Update::builder()
            .table_name(&self.table)
            .set_key(Some(key_of(item)))
            .update_expression(set)
            .condition_expression(condition)
            .set_expression_attribute_values(Some(values));
        self.update_alone(build(update.build()), "let go").await
    }

    /// Changes an item that must still be there.
    async fn touch(&self, item: &Item, update: &str, values: Item) -> Result<(), StoreError> {
        self.client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key_of(item)))
            .update_expression(update)
            .condition_expression("attribute_exists(pk)")
            .set_expression_attribute_values(Some(values))
            .send()
            .await
            .map(|_| ())
            .map_err(|error| StoreError::from_sdk("let go", &error))
    }
}

fn key_of(item: &Item) -> Item {
    let names = ["pk", "sk"].into_iter();
    names
        .filter_map(|name| Some((name.to_owned(), item.get(name)?.clone())))
        .collect()
}

fn sk(item: &Item) -> String {
    attr::text(item, "sk").unwrap_or_default()
}

fn still_due(item: &Item, due: &Due) -> bool {
    attr::number::<u32>(item, "v").is_some_and(|v| v <= VERSION)
        && attr::text(item, "state").as_deref() == Some("open")
        && attr::time(item, "work_at") == Some(due.since)
}
