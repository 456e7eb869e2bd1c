//! The actions of one commit, as DynamoDB takes them, each with the place it came from.
//!
//! Pure: builds, sends nothing.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::{
    AttributeValue, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
    Update as UpdateAction,
};
use jiff::Timestamp;
use oncehook_core::{
    event::Event,
    outbox::EffectId,
    plan::{Effect, Guard, OnCondition, RulePlan, Update},
};
use sha2::{Digest, Sha256};

use crate::{
    attr::{self, Item},
    body,
    commit::Keep,
    error::CommitError,
    keys::{self, BODY_SK, EVENT_SK, OutboxKey, VERSION},
    ledger::Ledger,
    queue::Wakeup,
    record::{Outcome, RuleResult, store_rules},
};

/// Where an action came from: what its failure means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    Event,
    Body,
    BodyGuard,
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
}

impl Ledger {
    /// The event's record, and its body where that is kept for a shorter time.
    pub(crate) fn event_actions(&self, stored: &Stored<'_>) -> Result<Vec<Action>, CommitError> {
        let Stored {
            event,
            keep,
            now,
            outcome,
            ..
        } = *stored;
        let pk = keys::event_pk(event);
        let resolved = !matches!(outcome, Outcome::Failed | Outcome::Held);
        let split = resolved && keep.keys_for > keep.retention;
        let mut record = record_item(stored, &pk);
        let mut body = body::store(&event.body)?;
        let mut actions = Vec::new();
        if resolved {
            record.insert(
                "expires_at".to_owned(),
                attr::n((now + keep.keys_for).as_second()),
            );
        } else {
            record.insert(
                "work".to_owned(),
                attr::s(keys::list_work(outcome.as_str(), &event.source)),
            );
            record.insert("work_at".to_owned(), attr::millis(now));
        }
        if split {
            record.insert("split_body".to_owned(), AttributeValue::Bool(true));
            body.extend(attr::item([
                ("pk", attr::s(&pk)),
                ("sk", attr::s(BODY_SK)),
                ("v", attr::n(VERSION)),
                ("expires_at", attr::n((now + keep.retention).as_second())),
            ]));
            actions.push(Action {
                place: Place::Body,
                write: put(self.put(body)),
            });
        } else {
            record.extend(body);
        }
        // A failed event is healed by a plan that works; one that fails again changes nothing.
        let mut record = self
            .put(record)
            .condition_expression(if outcome == Outcome::Failed {
                "attribute_not_exists(pk)"
            } else {
                "attribute_not_exists(pk) OR (outcome = :failed AND v <= :v)"
            });
        if outcome != Outcome::Failed {
            record = record
                .expression_attribute_values(":failed", attr::s(Outcome::Failed.as_str()))
                .expression_attribute_values(":v", attr::n(VERSION));
        }
        actions.insert(
            0,
            Action {
                place: Place::Event,
                write: put(record),
            },
        );
        Ok(actions)
    }

    /// The guard of the body, for schemes whose signature does not cover the id.
    pub(crate) fn body_guard(&self, stored: &Stored<'_>) -> Action {
        let pk = keys::body_guard_pk(stored.event, &sha256(&stored.event.body));
        let own = attr::s(keys::event_pk(stored.event));
        let guard = self
            .put(attr::item([
                ("pk", attr::s(pk)),
                ("sk", attr::s("body")),
                ("v", attr::n(VERSION)),
                ("event", own.clone()),
                (
                    "expires_at",
                    attr::n((stored.now + stored.keep.keys_for).as_second()),
                ),
            ]))
            .condition_expression("attribute_not_exists(pk) OR #event = :event")
            .expression_attribute_names("#event", "event")
            .expression_attribute_values(":event", own);
        Action {
            place: Place::BodyGuard,
            write: put(guard),
        }
    }

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
                what: format!(
                    "the row {} of table `{}`",
                    readable(&update.key),
                    update.table
                ),
            },
            write: TransactWriteItem::builder()
                .update(build(self.update(update).build()))
                .build(),
        });
        let mut actions: Vec<Action> = guards.chain(updates).collect();
        let mut wakeups = Vec::new();
        for effect in &rule.effects {
            let key = OutboxKey::new(stored.event, &rule.rule, &effect.name);
            let item = self.outbox_item(stored, rule, effect, &key);
            let write = self
                .put(item)
                .condition_expression("attribute_not_exists(pk)");
            actions.push(Action {
                place: Place::Outbox,
                write: put(write),
            });
            wakeups.push(Wakeup {
                key,
                destination: effect.destination.clone(),
                tenant: stored.event.tenant.clone(),
            });
        }
        (actions, wakeups)
    }

    fn guard_action(
        &self,
        stored: &Stored<'_>,
        index: usize,
        rule: &RulePlan,
        guard: &Guard,
    ) -> Action {
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

    fn outbox_item(
        &self,
        stored: &Stored<'_>,
        rule: &RulePlan,
        effect: &Effect,
        key: &OutboxKey,
    ) -> Item {
        let Stored {
            event, keep, now, ..
        } = *stored;
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
            (
                "request",
                attr::s(serde_json::json!(effect.request).to_string()),
            ),
            ("idempotency_key", attr::s(id.key(effect.key))),
            ("generation", attr::n(0)),
            ("state", attr::s("open")),
            ("attempts", attr::n(0)),
            ("created_at", attr::millis(now)),
            ("give_up_at", attr::millis(now + effect.give_up_after)),
            (
                "event_expires_at",
                attr::n((now + keep.keys_for).as_second()),
            ),
            (
                "split_body",
                AttributeValue::Bool(keep.keys_for > keep.retention),
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

    fn put(&self, item: Item) -> aws_sdk_dynamodb::types::builders::PutBuilder {
        Put::builder()
            .table_name(&self.table)
            .set_item(Some(item))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    /// One change to a row of the user's. Our placeholders begin with `#oh` and `:oh`, which rules may not use.
    fn update(&self, update: &Update) -> aws_sdk_dynamodb::types::builders::UpdateBuilder {
        let mut names = HashMap::new();
        let mut values = HashMap::new();
        let mut clauses: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut name = |attribute: &str| {
            let placeholder = format!("#oh{}", names.len());
            names.insert(placeholder.clone(), attribute.to_owned());
            placeholder
        };
        for (attribute, attr) in &update.set {
            let value = format!(":oh{}", values.len());
            values.insert(value.clone(), attr::value(attr));
            clauses
                .entry("SET")
                .or_default()
                .push(format!("{} = {value}", name(attribute)));
        }
        for (attribute, number) in &update.add {
            let value = format!(":oh{}", values.len());
            values.insert(value.clone(), attr::n(number.as_str()));
            clauses
                .entry("ADD")
                .or_default()
                .push(format!("{} {value}", name(attribute)));
        }
        for attribute in &update.remove {
            clauses.entry("REMOVE").or_default().push(name(attribute));
        }
        let mut conditions = Vec::new();
        if update.must_exist
            && let Some(attribute) = update.key.keys().next()
        {
            conditions.push(format!("attribute_exists({})", name(attribute)));
        }
        if let Some(condition) = &update.condition {
            conditions.push(format!("({})", condition.expression));
            values.extend(
                condition
                    .values
                    .iter()
                    .map(|(name, attr)| (format!(":{name}"), attr::value(attr))),
            );
            names.extend(placeholders(&condition.expression));
        }
        let expression: Vec<String> = clauses
            .iter()
            .map(|(verb, parts)| format!("{verb} {}", parts.join(", ")))
            .collect();
        UpdateAction::builder()
            .table_name(self.physical(&update.table))
            .set_key(Some(
                update
                    .key
                    .iter()
                    .map(|(name, attr)| (name.clone(), attr::value(attr)))
                    .collect(),
            ))
            .update_expression(expression.join(" "))
            .set_condition_expression((!conditions.is_empty()).then(|| conditions.join(" AND ")))
            .set_expression_attribute_names((!names.is_empty()).then_some(names))
            .set_expression_attribute_values((!values.is_empty()).then_some(values))
    }
}

/// The `#name` placeholders of a condition, each standing for the attribute of its name.
fn placeholders(expression: &str) -> impl Iterator<Item = (String, String)> {
    expression.split('#').skip(1).filter_map(|rest| {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            .unwrap_or(rest.len());
        (end > 0).then(|| (format!("#{}", &rest[..end]), rest[..end].to_owned()))
    })
}

fn record_item(stored: &Stored<'_>, pk: &str) -> Item {
    let Stored {
        event,
        commit_id,
        now,
        outcome,
        ..
    } = *stored;
    let mut item = attr::item([
        ("pk", attr::s(pk)),
        ("sk", attr::s(EVENT_SK)),
        ("v", attr::n(VERSION)),
        ("source", attr::s(&event.source)),
        ("namespace", attr::s(&event.namespace)),
        ("scope", attr::s(&event.scope)),
        ("event_id", attr::s(&event.id)),
        ("kind", attr::s(&event.kind)),
        ("tenant", attr::s(&event.tenant)),
        ("received_at", attr::millis(now)),
        ("outcome", attr::s(outcome.as_str())),
        ("commit_id", attr::s(commit_id)),
        ("body_sha256", attr::s(sha256(&event.body))),
        ("id_signed", AttributeValue::Bool(event.id_signed)),
        ("rules", store_rules(stored.rules)),
    ]);
    let optional = [
        ("reason", stored.reason.map(str::to_owned)),
        ("response", stored.response.map(str::to_owned)),
        ("content_type", event.content_type.clone()),
        ("occurred_at", event.occurred_at.map(|at| at.to_string())),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            item.insert(name.to_owned(), attr::s(value));
        }
    }
    item
}

fn sha256(body: &[u8]) -> String {
    hex::encode(Sha256::digest(body))
}

fn readable(key: &BTreeMap<String, oncehook_core::plan::Attr>) -> String {
    use oncehook_core::plan::Attr;
    let parts: Vec<String> = key
        .iter()
        .map(|(name, attr)| match attr {
            Attr::S(text) => format!("{name}={text}"),
            Attr::N(number) => format!("{name}={}", number.as_str()),
            other => format!("{name}={other:?}"),
        })
        .collect();
    parts.join(",")
}

fn put(builder: aws_sdk_dynamodb::types::builders::PutBuilder) -> TransactWriteItem {
    TransactWriteItem::builder()
        .put(build(builder.build()))
        .build()
}

/// Builders fail only on missing required fields, which are always set here.
fn build<T, E: std::fmt::Display>(built: Result<T, E>) -> T {
    built.unwrap_or_else(|error| unreachable!("a required field of a write is missing: {error}"))
}
