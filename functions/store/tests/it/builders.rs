//! Events and plans, built by hand, and a look into items.

use std::sync::Arc;

use jiff::Timestamp;
use oncehook_core::{
    decide::Decision,
    decimal::Decimal,
    event::Event,
    outbox::{GIVE_UP_AFTER, KeyShape},
    plan::{
        Attr, Condition, Effect, EffectBody, Guard, OnCondition, Plan, RenderedRequest, RulePlan, Update,
    },
};
use oncehook_store::OutboxKey;

use crate::support::Item;

pub(crate) fn event(id: &str) -> Event {
    with_body(id, format!(r#"{{"id":"{id}"}}"#).into_bytes())
}

pub(crate) fn with_body(id: &str, body: Vec<u8>) -> Event {
    Event {
        source: "shop".to_owned(),
        namespace: "stripe".to_owned(),
        scope: "acct_1".to_owned(),
        id: id.to_owned(),
        kind: "invoice.paid".to_owned(),
        occurred_at: Timestamp::from_second(1_796_083_000).ok(),
        tenant: "acct_1".to_owned(),
        id_signed: true,
        guard_body: false,
        token: None,
        content_type: Some("application/json".to_owned()),
        body: body.into(),
        data: Arc::new(serde_json::Value::Null),
        defect: None,
    }
}

/// An event of a scheme whose signature covers the body only.
pub(crate) fn unsigned(id: &str, body: &str) -> Event {
    Event {
        id_signed: false,
        guard_body: true,
        ..with_body(id, body.as_bytes().to_vec())
    }
}

/// The partition key of an event made by [`event`].
pub(crate) fn pk(id: &str) -> String {
    format!("event#stripe#acct_1#{id}")
}

/// The two parts of a key, as it shows itself.
pub(crate) fn parts(key: &OutboxKey) -> (String, String) {
    let text = key.to_string();
    let (pk, sk) = text.rsplit_once("/outbox#").unwrap();
    (pk.to_owned(), format!("outbox#{sk}"))
}

pub(crate) fn plan(rules: impl IntoIterator<Item = RulePlan>) -> Plan {
    Plan {
        rules: rules.into_iter().collect(),
        response: None,
    }
}

pub(crate) fn apply(rules: impl IntoIterator<Item = RulePlan>) -> Decision {
    Decision::Apply(plan(rules))
}

pub(crate) fn nothing() -> Decision {
    apply([])
}

/// One rule that adds 5 to the balance of `cus_1`.
pub(crate) fn credit() -> Decision {
    apply([rule("credit").update(add("cus_1", 5))])
}

pub(crate) fn rule(name: &str) -> RulePlan {
    RulePlan {
        rule: name.to_owned(),
        guards: Vec::new(),
        updates: Vec::new(),
        effects: Vec::new(),
    }
}

/// What a rule is made of, one after the other.
pub(crate) trait Build {
    fn update(self, update: Update) -> Self;
    fn effect(self, destination: &str) -> Self;
    fn once(self, key: &str) -> Self;
    fn newer(self, of: &str, order: i64) -> Self;
}

impl Build for RulePlan {
    fn update(mut self, update: Update) -> Self {
        self.updates.push(update);
        self
    }

    fn effect(mut self, destination: &str) -> Self {
        self.effects.push(Effect {
            name: format!("to-{destination}"),
            destination: destination.to_owned(),
            request: RenderedRequest {
                method: "POST".to_owned(),
                url: "https://example.com/".to_owned(),
                headers: Vec::new(),
                content_type: Some("application/json".to_owned()),
                body: EffectBody::Text("{}".to_owned()),
            },
            key: KeyShape::DEFAULT,
            give_up_after: GIVE_UP_AFTER,
        });
        self
    }

    fn once(mut self, key: &str) -> Self {
        self.guards.push(Guard::Once {
            key: key.to_owned(),
            lasts: None,
        });
        self
    }

    fn newer(mut self, of: &str, order: i64) -> Self {
        self.guards.push(Guard::Newer {
            of: of.to_owned(),
            order: order.into(),
        });
        self
    }
}

/// An update of an account's row that must exist.
pub(crate) fn row(customer: &str) -> Update {
    Update {
        table: "accounts".to_owned(),
        key: [("customer_id".to_owned(), Attr::S(customer.to_owned()))].into(),
        set: [].into(),
        add: [].into(),
        remove: Vec::new(),
        condition: None,
        on_condition: OnCondition::Fail,
        must_exist: true,
    }
}

pub(crate) fn add(customer: &str, amount: i64) -> Update {
    Update {
        add: [("balance".to_owned(), Decimal::from(amount))].into(),
        ..row(customer)
    }
}

pub(crate) fn set(customer: &str, name: &str, value: Attr) -> Update {
    Update {
        set: [(name.to_owned(), value)].into(),
        ..row(customer)
    }
}

/// An addition under the condition that the balance is at least `least`.
pub(crate) fn add_if(least: i64, on_condition: OnCondition) -> Update {
    Update {
        condition: Some(Condition {
            expression: "#balance >= :least".to_owned(),
            values: [("least".to_owned(), Attr::N(least.into()))].into(),
        }),
        on_condition,
        ..add("cus_1", 5)
    }
}

pub(crate) fn s(item: &Item, name: &str) -> String {
    item[name].as_s().unwrap().clone()
}

pub(crate) fn n(item: &Item, name: &str) -> i64 {
    item[name].as_n().unwrap().parse().unwrap()
}
