//! What a person does to an outbox item: each act one conditional write on the item as it was when it was decided, so
//! that of two people at once one acts. Whether an act is allowed is the core's to say; see `oncehook_core::operate`.

mod park;
mod write;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use oncehook_core::{
    outbox::{EffectId, KeyShape, OutboxItem, OutboxState},
    plan::RenderedRequest,
};

use crate::{
    acts::{Act, Actor},
    attr::{self, Item},
    claim,
    error::StoreError,
    keep::LEFT,
    keys::{self, OutboxKey},
    large::Holds,
    ledger::Ledger,
    queue::Wakeup,
    read::{OutboxView, outbox_view},
    settle::Settling,
};

use write::Writing;

/// An outbox item as read for an act: what the act's write is conditional on.
#[derive(Debug, Clone)]
pub struct StoredItem {
    /// Where it lies.
    pub key: OutboxKey,
    /// Its state; none that this release knows if absent.
    pub state: Option<OutboxState>,
    /// How long somebody holds it.
    pub lease_until: Option<Timestamp>,
    /// Why it is parked or dead.
    pub reason: Option<String>,
    /// Its destination.
    pub destination: String,
    /// The item in full; absent if it cannot be read. Such an item can only be parked or discarded.
    pub view: Option<OutboxView>,
    raw: Item,
}

/// Whether an act was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acting {
    /// It was.
    Written,
    /// Somebody or something else changed the item meanwhile: look again.
    Changed,
}

/// What a new generation is sent with.
#[derive(Debug, Clone)]
pub struct Fresh {
    /// How the destination wants its keys now.
    pub shape: KeyShape,
    /// Another request; the stored one if absent.
    pub request: Option<RenderedRequest>,
    /// When delivery is given up.
    pub give_up_at: Timestamp,
}

impl StoredItem {
    pub(crate) fn load(raw: Item) -> Option<Self> {
        Some(Self {
            key: OutboxKey {
                pk: attr::text(&raw, "pk")?,
                sk: attr::text(&raw, "sk")?,
            },
            state: attr::text(&raw, "state").and_then(|word| OutboxState::parse(&word)),
            lease_until: attr::time(&raw, "lease_until"),
            reason: attr::text(&raw, "reason"),
            destination: attr::text(&raw, "destination").unwrap_or_default(),
            view: outbox_view(&raw),
            raw,
        })
    }

    /// The item, if it can be read.
    #[must_use]
    pub fn item(&self) -> Option<&OutboxItem> {
        self.view.as_ref().map(|view| &view.item)
    }

    /// What wakes it.
    #[must_use]
    pub fn wakeup(&self) -> Wakeup {
        Wakeup {
            key: self.key.clone(),
            destination: self.destination.clone(),
            tenant: attr::text(&self.raw, "tenant").unwrap_or_default(),
            probe: false,
        }
    }

    /// The next generation's idempotency key; none if the item or its event's identity cannot be read.
    fn next_key(&self, shape: KeyShape) -> Option<String> {
        let (namespace, scope, id) = keys::event_parts(&self.key.pk)?;
        let item = self.item()?;
        let effect = EffectId {
            namespace: &namespace,
            scope: &scope,
            id: &id,
            rule: &item.rule,
            effect: &item.effect,
            generation: item.generation.checked_add(1)?,
        };
        Some(effect.key(shape))
    }
}

impl Ledger {
    /// An outbox item as it is now.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn item(&self, key: &OutboxKey) -> Result<Option<StoredItem>, StoreError> {
        let raw = self.get(&key.pk, &key.sk, "item").await?;
        Ok(raw.and_then(StoredItem::load))
    }

    /// Opens an item again under the key it has.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn retry(
        &self,
        item: &StoredItem,
        give_up_at: Timestamp,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<Acting, StoreError> {
        let act = Act::new("retry", actor, item.word(), item.story(), now);
        let writing = Writing::new(item, &act);
        self.reopen(item, writing, &act, give_up_at, now).await
    }

    /// Opens an item again under the key of the next generation. What was sent before can no longer settle it.
    ///
    /// # Errors
    /// When the database is busy or refuses, or the item cannot be read.
    pub async fn resend(
        &self,
        item: &StoredItem,
        fresh: &Fresh,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<Acting, StoreError> {
        let (Some(stored), Some(key)) = (item.item(), item.next_key(fresh.shape)) else {
            return Err(StoreError::Broken {
                action: "resend",
                detail: "the stored item cannot be read".to_owned(),
            });
        };
        let act = Act::new("resend", actor, item.word(), item.story(), now);
        let mut writing = Writing::new(item, &act);
        writing.set("generation", attr::n(stored.generation.saturating_add(1)));
        writing.set("idempotency_key", attr::s(key));
        if let Some(request) = &fresh.request {
            writing.set("request", attr::s(serde_json::json!(request).to_string()));
        }
        writing
            .remove
            .extend(["maybe_sent_at", "maybe_sent_by", "last_error"]);
        self.reopen(item, writing, &act, fresh.give_up_at, now).await
    }

    async fn reopen(
        &self,
        item: &StoredItem,
        mut writing: Writing,
        act: &Act,
        give_up_at: Timestamp,
        now: Timestamp,
    ) -> Result<Acting, StoreError> {
        let shard = keys::shard(&item.key, self.shards);
        writing.set("state", attr::s("open"));
        writing.set("work", attr::s(keys::open_work(&item.destination, shard)));
        writing.set("work_at", attr::millis(now));
        writing.set("attempts", attr::n(0));
        writing.set("give_up_at", attr::millis(give_up_at));
        writing.set("server_errors", attr::n(0));
        writing.set("kept", AttributeValue::Bool(true));
        writing
            .remove
            .extend(["reason", "last_status", "done_at", "expires_at"]);
        let update = writing.build(&self.table, item, now);
        // The event stays until the item is done once more.
        let holds = Holds::of(&item.raw);
        self.act(item, act, || {
            let writing = self.write_and_keep(&item.key, holds, update.clone());
            async { Ok(writing.await? == Settling::Written) }
        })
        .await
    }

    /// Drops an item. Its event expires as if the item were done.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn discard(
        &self,
        item: &StoredItem,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<Acting, StoreError> {
        let act = Act::new("discard", actor, item.word(), item.story(), now);
        let mut writing = Writing::new(item, &act);
        let last = (now + LEFT).as_second();
        let expiry = attr::number::<i64>(&item.raw, "event_expires_at").unwrap_or(last);
        writing.set("state", attr::s("discarded"));
        writing.set("done_at", attr::millis(now));
        writing.set("expires_at", attr::n(expiry.max(last)));
        writing.remove.extend(["work", "work_at"]);
        let update = writing.build(&self.table, item, now);
        let acting = self
            .act(item, &act, || self.update_alone(update.clone(), "act"))
            .await?;
        if acting == Acting::Written && attr::flag(&item.raw, "kept") {
            self.let_go(&item.key.pk, now).await;
        }
        Ok(acting)
    }
}

impl StoredItem {
    fn word(&self) -> &'static str {
        self.state.map_or("unknown", OutboxState::as_str)
    }

    /// What an act leaves behind: key, attempts, and why it stood where it stood.
    fn story(&self) -> Option<String> {
        let item = claim::load(&self.raw)?;
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}"));
        Some(format!(
            "generation {} under key {}, {} attempts{}",
            item.generation,
            item.idempotency_key,
            item.attempts,
            reason.unwrap_or_default()
        ))
    }
}
