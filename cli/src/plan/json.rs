//! A plan for scripts.

use oncehook_core::{
    decide::Decision,
    plan::{Attr, Guard, OnCondition, Plan, RulePlan, Update},
    rules::Why,
};
use serde_json::{Map, Value, json};

use super::{Planned, show};
use crate::outbox;

pub(super) fn planned(planned: &Planned) -> Value {
    let Planned {
        event,
        explained,
        decision,
    } = planned;
    let explained = explained.iter().map(
        |one| json!({ "rule": one.rule, "matches": one.why == Why::Matches, "why": one.why.to_string() }),
    );
    let mut value = json!({
        "event": {
            "source": event.source, "namespace": event.namespace, "scope": event.scope, "id": event.id,
            "type": event.kind, "occurred_at": event.occurred_at.map(|at| at.to_string()),
        },
        "rules": explained.collect::<Vec<_>>(),
    });
    match decision {
        Decision::Apply(plan) => {
            value["decision"] = "apply".into();
            value["plan"] = plan_json(planned, plan);
        }
        Decision::Observe(rules) => {
            value["decision"] = "observe".into();
            value["would_apply"] = json!(rules);
        }
        Decision::Hold(why) => {
            value["decision"] = "hold".into();
            value["reason"] = json!(why);
        }
        Decision::Fail(why) => {
            value["decision"] = "fail".into();
            value["reason"] = json!(why);
        }
    }
    value
}

fn plan_json(planned: &Planned, plan: &Plan) -> Value {
    let rule = |rule: &RulePlan| {
        let effect = |effect: &oncehook_core::plan::Effect| {
            json!({
                "name": effect.name,
                "destination": effect.destination,
                "method": effect.request.method,
                "url": effect.request.url,
                "content_type": effect.request.content_type,
                "body": outbox::body_json(&effect.request.body),
                "idempotency_key": show::key(&planned.event, rule, effect),
            })
        };
        json!({
            "rule": rule.rule,
            "guards": rule.guards.iter().map(guard).collect::<Vec<_>>(),
            "updates": rule.updates.iter().map(update).collect::<Vec<_>>(),
            "effects": rule.effects.iter().map(effect).collect::<Vec<_>>(),
        })
    };
    json!({ "rules": plan.rules.iter().map(rule).collect::<Vec<_>>(), "response": plan.response })
}

fn guard(guard: &Guard) -> Value {
    match guard {
        Guard::Once { key, lasts } => json!({ "once": key, "lasts": lasts.map(|lasts| lasts.to_string()) }),
        Guard::Newer { of, order } => json!({ "newer": of, "order": number(order.as_str()) }),
    }
}

fn update(update: &Update) -> Value {
    let attrs = |attrs: &std::collections::BTreeMap<String, Attr>| -> Map<String, Value> {
        attrs
            .iter()
            .map(|(name, value)| (name.clone(), attr(value)))
            .collect()
    };
    let add: Map<String, Value> = update
        .add
        .iter()
        .map(|(name, value)| (name.clone(), number(value.as_str())))
        .collect();
    json!({
        "table": update.table,
        "key": attrs(&update.key),
        "set": attrs(&update.set),
        "add": add,
        "remove": update.remove,
        "must_exist": update.must_exist,
        "condition": update.condition.as_ref().map(|condition| {
            json!({ "expression": condition.expression, "values": attrs(&condition.values) })
        }),
        "on_condition": match update.on_condition {
            OnCondition::Fail => "fail",
            OnCondition::Skip => "skip",
            OnCondition::Retry => "retry",
        },
    })
}

/// An attribute as JSON, numbers exact.
pub(super) fn attr(value: &Attr) -> Value {
    match value {
        Attr::S(text) => json!(text),
        Attr::N(decimal) => number(decimal.as_str()),
        Attr::Bool(flag) => json!(flag),
        Attr::Null => Value::Null,
        Attr::L(list) => list.iter().map(attr).collect(),
        Attr::M(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), attr(value)))
            .collect(),
    }
}

/// The text of a decimal is that of a JSON number.
fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}
