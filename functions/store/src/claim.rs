//! Taking an outbox item for one attempt: one conditional update that counts it, leases it and returns it.

use aws_sdk_dynamodb::{
    operation::update_item::UpdateItemError,
    types::{ReturnValue, ReturnValuesOnConditionCheckFailure, Update},
};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::outbox::OutboxItem;
use uuid::Uuid;

use crate::{
    actions::build,
    attr::{self, Item},
    error::StoreError,
    keys::{self, OutboxKey, VERSION},
    large::Holds,
    ledger::Ledger,
};

/// What a claim found.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// The item is ours until the lease ends.
    Held(Lease, Box<OutboxItem>),
    /// It is no longer open.
    Settled,
    /// Another holds it, until then.
    HeldElsewhere(Timestamp),
    /// It is not due before then.
    NotYet(Timestamp),
    /// There is no such item.
    Gone,
}

/// The right to settle one attempt. Fenced: a later claim makes it void.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The item.
    pub key: OutboxKey,
    /// When the lease ends.
    pub until: Timestamp,
    /// Whether this claim is the first that may reach the destination under its key.
    pub first_send: bool,
    pub(crate) id: String,
    pub(crate) generation: u32,
    pub(crate) holds: Holds,
}

impl Ledger {
    /// Claims an item for one attempt. The index is not touched. A claim whose answer was lost is recognised as one's
    /// own, so that an attempt that never was is not taken for one that may have happened.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn claim(
        &self,
        key: &OutboxKey,
        lease: SignedDuration,
        now: Timestamp,
    ) -> Result<Claim, StoreError> {
        let id = Uuid::new_v4().to_string();
        let until = now + lease;
        match self.claim_as(key, &id, until, now).await {
            Err(StoreError::Busy { .. }) => self.claim_as(key, &id, until, now).await,
            claimed => claimed,
        }
    }

    async fn claim_as(
        &self,
        key: &OutboxKey,
        id: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Claim, StoreError> {
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", attr::s(&key.pk))
            .key("sk", attr::s(&key.sk))
            .update_expression(
                "SET lease_id = :lease, lease_until = :until, \
                 maybe_sent_at = if_not_exists(maybe_sent_at, :now), \
                 maybe_sent_by = if_not_exists(maybe_sent_by, :lease) ADD attempts :one",
            )
            .condition_expression(
                "#state = :open AND v <= :v AND work_at <= :now \
                 AND (attribute_not_exists(lease_until) OR lease_until <= :now)",
            )
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":open", attr::s("open"))
            .expression_attribute_values(":lease", attr::s(id))
            .expression_attribute_values(":until", attr::millis(until))
            .expression_attribute_values(":now", attr::millis(now))
            .expression_attribute_values(":one", attr::n(1))
            .expression_attribute_values(":v", attr::n(VERSION))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        match sent {
            Ok(answer) => {
                self.held(key, id, until, &answer.attributes.unwrap_or_default(), now)
                    .await
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => match failed.item() {
                    None => Ok(Claim::Gone),
                    Some(item) if attr::text(item, "lease_id").as_deref() == Some(id) => {
                        self.held(key, id, until, item, now).await
                    }
                    Some(item) => Ok(refused(item, now)),
                },
                _ => Err(StoreError::from_sdk("claim", &error)),
            },
        }
    }

    async fn held(
        &self,
        key: &OutboxKey,
        id: &str,
        until: Timestamp,
        item: &Item,
        now: Timestamp,
    ) -> Result<Claim, StoreError> {
        let outbox = load(item);
        let lease = Lease {
            key: key.clone(),
            until,
            first_send: attr::text(item, "maybe_sent_by").as_deref() == Some(id),
            generation: outbox.as_ref().map_or(0, |outbox| outbox.generation),
            holds: Holds::of(item),
            id: id.to_owned(),
        };
        match outbox {
            Some(outbox) => Ok(Claim::Held(lease, Box::new(outbox))),
            None => self.park_unreadable(&lease, item, now).await,
        }
    }

    /// An item without what an item must have is nobody's to deliver: a person sees it on the parked list.
    async fn park_unreadable(&self, lease: &Lease, item: &Item, now: Timestamp) -> Result<Claim, StoreError> {
        let destination = attr::text(item, "destination").unwrap_or_default();
        let park = Update::builder()
            .table_name(&self.table)
            .key("pk", attr::s(&lease.key.pk))
            .key("sk", attr::s(&lease.key.sk))
            .update_expression(
                "SET #state = :parked, reason = :why, #work = :work, work_at = :now REMOVE lease_id, lease_until",
            )
            .condition_expression("lease_id = :lease")
            .expression_attribute_names("#state", "state")
            .expression_attribute_names("#work", "work")
            .expression_attribute_values(":parked", attr::s("parked"))
            .expression_attribute_values(":why", attr::s("the stored item cannot be read"))
            .expression_attribute_values(":work", attr::s(keys::list_work("parked", &destination)))
            .expression_attribute_values(":now", attr::millis(now))
            .expression_attribute_values(":lease", attr::s(&lease.id));
        self.write_and_keep(&lease.key, lease.holds, build(park.build()))
            .await?;
        tracing::error!(item = %lease.key, "parked: the stored item cannot be read");
        Ok(Claim::Settled)
    }
}

fn refused(item: &Item, now: Timestamp) -> Claim {
    const LOOK_AGAIN: SignedDuration = SignedDuration::from_mins(15);
    if attr::number::<u32>(item, "v").is_none_or(|v| v > VERSION) {
        return Claim::NotYet(now + LOOK_AGAIN);
    }
    if attr::text(item, "state").as_deref() != Some("open") {
        return Claim::Settled;
    }
    match (attr::time(item, "lease_until"), attr::time(item, "work_at")) {
        (Some(until), _) if until > now => Claim::HeldElsewhere(until),
        (_, Some(due)) if due > now => Claim::NotYet(due),
        _ => Claim::NotYet(now + SignedDuration::from_secs(1)),
    }
}

pub(crate) fn load(item: &Item) -> Option<OutboxItem> {
    Some(OutboxItem {
        source: attr::text(item, "source")?,
        tenant: attr::text(item, "tenant").unwrap_or_default(),
        rule: attr::text(item, "rule")?,
        effect: attr::text(item, "effect")?,
        destination: attr::text(item, "destination")?,
        request: serde_json::from_str(&attr::text(item, "request")?).ok()?,
        idempotency_key: attr::text(item, "idempotency_key")?,
        generation: attr::number(item, "generation")?,
        attempts: attr::number(item, "attempts")?,
        created_at: attr::time(item, "created_at")?,
        due_at: attr::time(item, "work_at").or_else(|| attr::time(item, "created_at"))?,
        give_up_at: attr::time(item, "give_up_at")?,
        maybe_sent_at: attr::time(item, "maybe_sent_at"),
        server_errors: attr::number(item, "server_errors").unwrap_or_default(),
        last_status: attr::number(item, "last_status"),
        kept_until: attr::time(item, "kept_until"),
        kept: attr::flag(item, "kept"),
    })
}
