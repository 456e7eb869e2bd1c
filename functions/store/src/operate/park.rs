//! Parking by a person: an item that nothing sends any more until somebody has looked at its destination. For what an
//! attempt may have done that this table does not know of, such as after a restore from a backup.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;

use super::{Acting, StoredItem, write::Writing};
use crate::{
    acts::{Act, Actor},
    attr,
    error::StoreError,
    keys,
    large::Holds,
    ledger::Ledger,
    settle::Settling,
};

impl Ledger {
    /// Puts an item on the list of what may have happened. It counts as possibly sent since it was made, unless it is
    /// known since when: so a later retry is bound by the time for which its destination remembers keys.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn park(&self, item: &StoredItem, actor: &Actor, now: Timestamp) -> Result<Acting, StoreError> {
        let act = Act::new("park", actor, item.word(), item.story(), now);
        let mut writing = Writing::new(item, &act);
        let why = actor.why.as_deref().unwrap_or("no reason given");
        writing.set("state", attr::s("parked"));
        writing.set("reason", attr::s(format!("parked by {}: {why}", actor.by)));
        writing.set("work", attr::s(keys::list_work("parked", &item.destination)));
        writing.set("work_at", attr::millis(now));
        writing.set("kept", AttributeValue::Bool(true));
        if !item.raw.contains_key("maybe_sent_at") {
            let made = attr::time(&item.raw, "created_at").unwrap_or(now);
            writing.set("maybe_sent_at", attr::millis(made));
            // By no claim: none of those to come is the first that may act.
            writing.set("maybe_sent_by", attr::s(&act.id));
        }
        writing.remove.push("expires_at");
        let update = writing.build(&self.table, item, now);
        let holds = Holds::of(&item.raw);
        self.act(item, &act, || {
            let writing = self.write_and_keep(&item.key, holds, update.clone());
            async move { Ok(writing.await? == Settling::Written) }
        })
        .await
    }
}
