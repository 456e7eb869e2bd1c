//! Recording what an attempt means: one conditional update under the lease.

use aws_sdk_dynamodb::types::{AttributeValue, Update};
use jiff::Timestamp;
use oncehook_core::{
    outbox::OutboxItem,
    settle::{Settled, Settlement, outlives},
};

use crate::{
    attr::{self, Item},
    claim::Lease,
    error::StoreError,
    keys,
    ledger::Ledger,
};

/// Whether a settlement was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settling {
    /// It was.
    Written,
    /// The lease was lost: another claim decides. (A delivery is recorded all the same.)
    LeaseLost,
}

/// An update being put together.
#[derive(Default)]
struct Expression {
    set: Vec<String>,
    remove: Vec<&'static str>,
    values: Item,
}

impl Expression {
    fn set(&mut self, name: &str, value: AttributeValue) {
        self.set.push(format!("#{name} = :{name}"));
        self.values.insert(format!(":{name}"), value);
    }
}

impl Ledger {
    /// Settles an attempt. An item that may outlive its event keeps it, in the same write; the last one done lets it go.
    ///
    /// # Errors
    /// When the database is busy or refuses; the item's lease then runs out and the item is claimed again.
    pub async fn settle(
        &self,
        lease: &Lease,
        item: &OutboxItem,
        settled: &Settled,
        now: Timestamp,
    ) -> Result<Settling, StoreError> {
        let update = self.settlement(lease, item, settled, now);
        if outlives(item, &settled.settlement) {
            return self.write_and_keep(&lease.key, lease.holds, update).await;
        }
        if !self.update_alone(update, "settle").await? {
            return Ok(Settling::LeaseLost);
        }
        if item.kept && settled.settlement == Settlement::Done {
            self.let_go(&lease.key.pk, now).await;
        }
        Ok(Settling::Written)
    }

    fn settlement(&self, lease: &Lease, item: &OutboxItem, settled: &Settled, now: Timestamp) -> Update {
        let mut write = Expression {
            remove: vec!["lease_id", "lease_until"],
            ..Expression::default()
        };
        write.set("server_errors", attr::n(settled.server_errors));
        match settled.last_status {
            Some(status) => write.set("last_status", attr::n(status)),
            None => write.remove.push("last_status"),
        }
        if let Some(error) = &settled.error {
            write.set("last_error", attr::s(error));
        }
        if settled.unsent && lease.first_send {
            write.remove.extend(["maybe_sent_at", "maybe_sent_by"]);
        }
        if !settled.counted {
            write.set("attempts", attr::n(item.attempts.saturating_sub(1)));
        }
        if !settled.extend.is_zero() {
            write.set("give_up_at", attr::millis(item.give_up_at + settled.extend));
        }
        if outlives(item, &settled.settlement) {
            write.set("kept", AttributeValue::Bool(true));
        }
        let list = |list: &str| attr::s(keys::list_work(list, &item.destination));
        match &settled.settlement {
            Settlement::Done => {
                write.set("state", attr::s("done"));
                write.set("done_at", attr::millis(now));
                write.set.push("expires_at = event_expires_at".to_owned());
                write.remove.extend(["work", "work_at", "reason"]);
            }
            Settlement::RetryAt(at) => write.set("work_at", attr::millis(*at)),
            Settlement::Dead(why) => {
                write.set("state", attr::s("dead"));
                write.set("reason", attr::s(why));
                write.set("work", list("dead"));
                write.set("work_at", attr::millis(now));
            }
            Settlement::Parked(why) => {
                write.set("state", attr::s("parked"));
                write.set("reason", attr::s(why));
                write.set("work", list("parked"));
                write.set("work_at", attr::millis(now));
            }
        }
        self.finish(lease, write, settled.settlement == Settlement::Done)
    }

    /// A delivery is recorded under its generation, whoever holds the lease; anything else only under the lease.
    fn finish(&self, lease: &Lease, mut write: Expression, delivered: bool) -> Update {
        let condition = if delivered {
            write
                .values
                .insert(":generation".to_owned(), attr::n(lease.generation));
            "generation = :generation AND #state <> :state"
        } else {
            write.values.insert(":lease".to_owned(), attr::s(&lease.id));
            write.values.insert(":open".to_owned(), attr::s("open"));
            "lease_id = :lease AND #state = :open"
        };
        let mut names: Vec<String> = write.values.keys().map(|name| name[1..].to_owned()).collect();
        names.extend(write.remove.iter().map(|name| (*name).to_owned()));
        names.retain(|name| !matches!(name.as_str(), "generation" | "lease" | "open"));
        names.push("state".to_owned());
        names.sort();
        names.dedup();
        let removed: Vec<String> = write.remove.iter().map(|name| format!("#{name}")).collect();
        Update::builder()
            .table_name(&self.table)
            .key("pk", attr::s(&lease.key.pk))
            .key("sk", attr::s(&lease.key.sk))
            .update_expression(format!(
                "SET {} REMOVE {}",
                write.set.join(", "),
                removed.join(", ")
            ))
            .condition_expression(condition)
            .set_expression_attribute_names(Some(
                names
                    .iter()
                    .map(|name| (format!("#{name}"), name.clone()))
                    .collect(),
            ))
            .set_expression_attribute_values(Some(write.values))
            .build()
            .unwrap_or_else(|error| unreachable!("a required field of a write is missing: {error}"))
    }
}
