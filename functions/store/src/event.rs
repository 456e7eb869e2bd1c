//! The actions about the event itself: its record, its body, the guards of its body and its token.
//!
//! Pure: builds, sends nothing.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::{
    actions::{Action, Place, Stored, put},
    acts,
    attr::{self, Item},
    keys::{self, BODY_SK, EVENT_SK, VERSION},
    large::digest,
    ledger::Ledger,
    record::{Outcome, store_rules},
    replay::Again,
};

impl Ledger {
    /// The event's record, and its body where that is kept for a shorter time.
    pub(crate) fn event_actions(&self, stored: &Stored<'_>) -> Vec<Action> {
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
        let mut body = stored.body.clone();
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
        // A failed event is healed by a plan that works; one that fails again, or is held, changes nothing.
        // A person's replay replaces exactly the record that the person saw.
        let record = self.put(record);
        let record = match (stored.again, outcome) {
            (Some(again), _) => record
                .condition_expression("commit_id = :seen AND v <= :v")
                .expression_attribute_values(":seen", attr::s(&again.stored.commit_id))
                .expression_attribute_values(":v", attr::n(VERSION)),
            (None, Outcome::Failed | Outcome::Held) => {
                record.condition_expression("attribute_not_exists(pk)")
            }
            (None, _) => record
                .condition_expression("attribute_not_exists(pk) OR (outcome = :failed AND v <= :v)")
                .expression_attribute_values(":failed", attr::s(Outcome::Failed.as_str()))
                .expression_attribute_values(":v", attr::n(VERSION)),
        };
        actions.insert(
            0,
            Action {
                place: Place::Event,
                write: put(record),
            },
        );
        actions
    }

    /// The guard of the body, for schemes whose signature does not cover the id.
    pub(crate) fn body_guard(&self, stored: &Stored<'_>) -> Action {
        let pk = keys::body_guard_pk(stored.event, &digest(&stored.event.body));
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

    /// The guard of a token that serves for one event with one body.
    pub(crate) fn token_guard(&self, stored: &Stored<'_>, token: &str) -> Action {
        let own = attr::s(keys::event_pk(stored.event));
        let body = attr::s(digest(&stored.event.body));
        let guard = self
            .put(attr::item([
                ("pk", attr::s(keys::token_guard_pk(stored.event, token))),
                ("sk", attr::s("token")),
                ("v", attr::n(VERSION)),
                ("event", own.clone()),
                ("body_sha256", body.clone()),
                (
                    "expires_at",
                    attr::n((stored.now + stored.keep.keys_for).as_second()),
                ),
            ]))
            .condition_expression("attribute_not_exists(pk) OR (#event = :event AND body_sha256 = :body)")
            .expression_attribute_names("#event", "event")
            .expression_attribute_values(":event", own)
            .expression_attribute_values(":body", body);
        Action {
            place: Place::TokenGuard,
            write: put(guard),
        }
    }
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
        ("body_sha256", attr::s(digest(&event.body))),
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
    if event.defect.is_some() {
        item.insert("defect".to_owned(), AttributeValue::Bool(true));
    }
    if let Some(Again { stored, act, .. }) = stored.again {
        item.insert("acts".to_owned(), acts::with(&stored.acts, act));
        if let Some(at) = stored.record.received_at {
            item.insert("received_at".to_owned(), attr::millis(at));
        }
    }
    item
}
