//! The actions of one commit, as DynamoDB takes them, each with the place it came from.
//!
//! Pure: builds, sends nothing.

use aws_sdk_dynamodb::types::{AttributeValue, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem};
use jiff::Timestamp;
use oncehook_core::{
    event::Event,
    outbox::EffectId,
    plan::{Effect, Guard, OnCondition, RulePlan},
};

use crate::{
    attr::{self, Item},
    commit::Keep,
    keys::{self, OutboxKey, VERSION},
    large,
    ledger::Ledger,
    queue::Wakeup,
    record::{Outcome, RuleResult},
    replay::Again,
    row,
};

/// Where an action came from: what its failure means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    Event,
    Body,
    BodyGuard,
    TokenGuard,
    Once {
        rule: usize,
        key: String,
    },
    Newer {
        rule: usize,
        of: String,
    },
    Update {
        rule: usize,
        on_condition: OnCondition,
        what: String,
    },
    Outbox,
}

pub(crate) struct Action {
    pub(crate) place: Place,
    pub(crate) write: TransactWriteItem,
}

/// What is written about the event itself.
pub(crate) struct Stored<'a> {
    pub(crate) event: &'a Event,
    pub(crate) keep: Keep,
    pub(crate) commit_id: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<&'a str>,
    pub(crate) rules: &'a [RuleResult],
    pub(crate) response: Option<&'a str>,
    /// The attributes that hold the body, or say where it is.
    pub(crate) body: &'a Item,
    /// The event is stored already: this replaces it.
    pub(crate) again: Option<&'a Again<'a>>,
}

impl Ledger {
    /// The guards, updates and effects of one rule, and the wake-ups of the effects.
    pub(crate) fn rule_actions(
        &self,
        stored: &Stored<'_>,
        index: usize,
        rule: &RulePlan,
    ) -> (Vec<Action>, Vec<Wakeup>) {
        let guards = rule
            .guards
            .iter()
            .map(|guard| self.guard_action(stored, index, rule, guard));
        let updates = rule.updates.iter().map(|update| Action {
            place: Place::Update {
                rule: index,
                on_condition: update.on_condition,
                what: row::name(update),
            },
            write: self.row_update(update),
        });
        let mut actions: Vec<Action> = guards.chain(updates).collect();
        let mut wakeups = Vec::new();
        for effect in &rule.effects {
            let key = OutboxKey::new(stored.event, &rule.rule, &effect.name);
            let item = self.outbox_item(stored, rule, effect, &key);
            let write = self.put(item).condition_expression("attribute_not_exists(pk)");
            actions.push(Action {
                place: Place::Outbox,
                write: put(write),
            });
            wakeups.push(Wakeup {
                key,
                destination: effect.destination.clone(),
                tenant: stored.event.tenant.clone(),
                probe: false,
            });
        }
        (actions, wakeups)
    }

    fn guard_action(&self, stored: &Stored<'_>, index: usize, rule: &RulePlan, guard: &Guard) -> Action {
        let event = ("event", attr::s(keys::event_pk(stored.event)));
        let version = ("v", attr::n(VERSION));
        match guard {
            Guard::Once { key, lasts } => {
                let mut item = attr::item([
                    ("pk", attr::s(keys::once_pk(key))),
                    ("sk", attr::s("once")),
                    event,
                    version,
                ]);
                if let Some(lasts) = lasts {
                    item.insert(
                        "expires_at".to_owned(),
                        attr::n((stored.now + *lasts).as_second()),
                    );
                }
                let write = self
                    .put(item)
                    .condition_expression("attribute_not_exists(pk) OR expires_at <= :now")
                    .expression_attribute_values(":now", attr::n(stored.now.as_second()));
                Action {
                    place: Place::Once {
                        rule: index,
                        key: key.clone(),
                    },
                    write: put(write),
                }
            }
            Guard::Newer { of, order } => {
                let order = attr::n(order.as_str());
                let item = attr::item([
                    ("pk", attr::s(keys::newer_pk(&rule.rule, of))),
                    ("sk", attr::s("newer")),
                    event,
                    version,
                    ("highest", order.clone()),
                ]);
                let write = self
                    .put(item)
                    .condition_expression("attribute_not_exists(pk) OR highest <= :order")
                    .expression_attribute_values(":order", order);
                Action {
                    place: Place::Newer {
                        rule: index,
                        of: of.clone(),
                    },
                    write: put(write),
                }
            }
        }
    }

    fn outbox_item(&self, stored: &Stored<'_>, rule: &RulePlan, effect: &Effect, key: &OutboxKey) -> Item {
        let Stored { event, keep, now, .. } = *stored;
        let id = EffectId {
            namespace: &event.namespace,
            scope: &event.scope,
            id: &event.id,
            rule: &rule.rule,
            effect: &effect.name,
            generation: 0,
        };
        attr::item([
            ("pk", attr::s(&key.pk)),
            ("sk", attr::s(&key.sk)),
            ("v", attr::n(VERSION)),
            ("source", attr::s(&event.source)),
            ("tenant", attr::s(&event.tenant)),
            ("event_id", attr::s(&event.id)),
            ("kind", attr::s(&event.kind)),
            ("rule", attr::s(&rule.rule)),
            ("effect", attr::s(&effect.name)),
            ("destination", attr::s(&effect.destination)),
            ("request", attr::s(serde_json::json!(effect.request).to_string())),
            ("idempotency_key", attr::s(id.key(effect.key))),
            ("generation", attr::n(0)),
            ("state", attr::s("open")),
            ("attempts", attr::n(0)),
            ("created_at", attr::millis(now)),
            ("give_up_at", attr::millis(now + effect.give_up_after)),
            ("event_expires_at", attr::n((now + keep.keys_for).as_second())),
            (
                "kept_until",
                attr::millis(now + keep.keys_for.min(keep.retention)),
            ),
            ("split_body", AttributeValue::Bool(keep.keys_for > keep.retention)),
            (
                large::FLAG,
                AttributeValue::Bool(stored.body.contains_key(large::PLACE)),
            ),
            (
                "work",
                attr::s(keys::open_work(
                    &effect.destination,
                    keys::shard(key, self.shards),
                )),
            ),
            ("work_at", attr::millis(now)),
        ])
    }

    pub(crate) fn put(&self, item: Item) -> aws_sdk_dynamodb::types::builders::PutBuilder {
        Put::builder()
            .table_name(&self.table)
            .set_item(Some(item))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }
}

pub(crate) fn put(builder: aws_sdk_dynamodb::types::builders::PutBuilder) -> TransactWriteItem {
    TransactWriteItem::builder().put(build(builder.build())).build()
}

/// Builders fail only on missing required fields, which are always set here.
pub(crate) fn build<T, E: std::fmt::Display>(built: Result<T, E>) -> T {
    built.unwrap_or_else(|error| unreachable!("a required field of a write is missing: {error}"))
}
