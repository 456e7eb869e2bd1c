//! The one conditional write of an act, and how it is sent. Knows nothing of what acts there are.

use aws_sdk_dynamodb::{
    operation::update_item::UpdateItemError,
    types::{AttributeValue, Update},
};
use jiff::Timestamp;

use super::{Acting, StoredItem};
use crate::{
    actions::build,
    acts::{self, Act},
    attr::{self, Item},
    error::StoreError,
    keys::VERSION,
    ledger::Ledger,
};

/// How often a busy database is asked.
const TRIES: u32 = 4;

/// An update under the condition that the item is still as it was read.
pub(super) struct Writing {
    set: Vec<String>,
    pub(super) remove: Vec<&'static str>,
    values: Item,
}

impl Writing {
    pub(super) fn new(item: &StoredItem, act: &Act) -> Self {
        let mut writing = Self {
            set: Vec::new(),
            remove: vec!["lease_id", "lease_until"],
            values: Item::new(),
        };
        writing.set("acts", acts::with(&acts::load(&item.raw), act));
        let acted: u64 = attr::number(&item.raw, "acted").unwrap_or_default();
        writing.set("acted", attr::n(acted + 1));
        writing
    }

    pub(super) fn set(&mut self, name: &str, value: AttributeValue) {
        self.set.push(format!("#{name} = :{name}"));
        self.values.insert(format!(":{name}"), value);
    }

    pub(super) fn build(mut self, table: &str, item: &StoredItem, now: Timestamp) -> Update {
        let mut conditions = vec![
            "#v <= :known".to_owned(),
            "(attribute_not_exists(#lease_until) OR #lease_until <= :now)".to_owned(),
        ];
        self.values.insert(":known".to_owned(), attr::n(VERSION));
        self.values.insert(":now".to_owned(), attr::millis(now));
        // Whatever happens to an item changes one of these.
        let seen = [
            "state",
            "generation",
            "attempts",
            "work_at",
            "acted",
            "maybe_sent_at",
        ];
        for name in seen {
            match item.raw.get(name) {
                Some(value) => {
                    conditions.push(format!("#{name} = :was_{name}"));
                    self.values.insert(format!(":was_{name}"), value.clone());
                }
                None => conditions.push(format!("attribute_not_exists(#{name})")),
            }
        }
        let removed: Vec<String> = self.remove.iter().map(|name| format!("#{name}")).collect();
        let set_names = self.set.iter().filter_map(|clause| clause.split(' ').next());
        let mut names: Vec<String> = set_names
            .map(|name| name.trim_start_matches('#').to_owned())
            .collect();
        names.extend(self.remove.iter().chain(&seen).map(|name| (*name).to_owned()));
        names.push("v".to_owned());
        let update = Update::builder()
            .table_name(table)
            .key("pk", attr::s(&item.key.pk))
            .key("sk", attr::s(&item.key.sk))
            .update_expression(format!(
                "SET {} REMOVE {}",
                self.set.join(", "),
                removed.join(", ")
            ))
            .condition_expression(conditions.join(" AND "))
            .set_expression_attribute_names(Some(
                names.into_iter().map(|name| (format!("#{name}"), name)).collect(),
            ))
            .set_expression_attribute_values(Some(self.values));
        build(update.build())
    }
}

impl Ledger {
    /// Writes until the database answers; knows its own act after a lost answer.
    pub(super) async fn act<F: Future<Output = Result<bool, StoreError>>>(
        &self,
        item: &StoredItem,
        act: &Act,
        write: impl Fn() -> F,
    ) -> Result<Acting, StoreError> {
        let mut tries = 1;
        loop {
            match write().await {
                Ok(true) => return Ok(Acting::Written),
                Ok(false) => break,
                Err(StoreError::Busy { .. }) if tries < TRIES => {
                    tokio::time::sleep(std::time::Duration::from_millis(
                        fastrand::u64(20..150) * u64::from(tries),
                    ))
                    .await;
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
        let now = self
            .get(&item.key.pk, &item.key.sk, "act")
            .await?
            .unwrap_or_default();
        let own = acts::load(&now).iter().any(|stored| stored.id == act.id);
        Ok(if own { Acting::Written } else { Acting::Changed })
    }

    /// One conditional update; false if the condition does not hold.
    pub(crate) async fn update_alone(
        &self,
        update: Update,
        action: &'static str,
    ) -> Result<bool, StoreError> {
        let sent = self
            .client
            .update_item()
            .table_name(update.table_name)
            .set_key(Some(update.key))
            .update_expression(update.update_expression)
            .set_condition_expression(update.condition_expression)
            .set_expression_attribute_names(update.expression_attribute_names)
            .set_expression_attribute_values(update.expression_attribute_values)
            .send()
            .await;
        match sent {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
                _ => Err(StoreError::from_sdk(action, &error)),
            },
        }
    }

    pub(crate) async fn get(
        &self,
        pk: &str,
        sk: &str,
        action: &'static str,
    ) -> Result<Option<Item>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("pk", attr::s(pk))
            .key("sk", attr::s(sk))
            .consistent_read(true)
            .send()
            .await;
        answer
            .map(|answer| answer.item)
            .map_err(|error| StoreError::from_sdk(action, &error))
    }
}
