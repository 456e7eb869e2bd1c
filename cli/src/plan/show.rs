//! A plan for people. Shows what `json` has as lines.

use oncehook_core::{
    decide::Decision,
    event::Event,
    outbox::EffectId,
    plan::{Guard, Plan, RulePlan, Update},
};

use super::{Planned, json};
use crate::{outbox, output};

pub(super) fn planned(planned: &Planned) {
    let Planned {
        event,
        explained,
        decision,
    } = planned;
    output::line(format!("{} {} of {}", event.kind, event.id, event.source));
    output::fields(&[
        ("occurred", event.occurred_at.map(output::time)),
        (
            "scope",
            Some(event.scope.clone()).filter(|scope| !scope.is_empty()),
        ),
    ]);
    output::line("\nrules");
    let width = explained
        .iter()
        .map(|one| one.rule.len())
        .max()
        .unwrap_or_default();
    if explained.is_empty() {
        output::line("  none looked at it");
    }
    for one in explained {
        output::line(format!("  {:width$}  {}", one.rule, one.why));
    }
    match decision {
        Decision::Apply(plan) => show(event, plan),
        Decision::Observe(rules) => output::line(format!(
            "\nrecorded only: the source observes; would apply {}",
            output::or_dash(Some(&rules.join(", ")))
        )),
        Decision::Hold(why) => output::line(format!("\nheld: {why}")),
        Decision::Fail(why) => output::line(format!("\nkept as failed: {why}")),
    }
}

fn show(event: &Event, plan: &Plan) {
    if plan.rules.is_empty() {
        output::line("\nno rule applies: recorded as ignored");
    }
    for rule in &plan.rules {
        output::line(format!("\n{}", rule.rule));
        for guard in &rule.guards {
            output::line(format!("  {}", guard_text(guard)));
        }
        for update in &rule.updates {
            show_update(update);
        }
        show_effects(event, rule);
    }
    if let Some(response) = &plan.response {
        output::line(format!("\nanswer  {response}"));
    }
}

fn guard_text(guard: &Guard) -> String {
    match guard {
        Guard::Once { key, lasts: None } => format!("once    {key}"),
        Guard::Once {
            key,
            lasts: Some(lasts),
        } => format!("once    {key}, remembered for {lasts:#}"),
        Guard::Newer { of, order } => format!("newer   {of}, skipped if something after {order} was applied"),
    }
}

fn show_update(update: &Update) {
    let key: Vec<String> = update
        .key
        .iter()
        .map(|(name, value)| format!("{name} = {}", json::attr(value)))
        .collect();
    let exist = if update.must_exist {
        ", which must exist"
    } else {
        ""
    };
    output::line(format!(
        "  update  {} where {}{exist}",
        update.table,
        key.join(", ")
    ));
    for (name, value) in &update.set {
        output::line(format!("            set {name} = {}", json::attr(value)));
    }
    for (name, value) in &update.add {
        output::line(format!("            add {name} {value}"));
    }
    for name in &update.remove {
        output::line(format!("            remove {name}"));
    }
    if let Some(condition) = &update.condition {
        let values: Vec<String> = condition
            .values
            .iter()
            .map(|(name, value)| format!(":{name} = {}", json::attr(value)))
            .collect();
        output::line(format!("            if {} {}", condition.expression, values.join(", ")).trim_end());
    }
}

fn show_effects(event: &Event, rule: &RulePlan) {
    for effect in &rule.effects {
        let request = &effect.request;
        output::line(format!(
            "  effect  {} -> {}: {} {}",
            effect.name, effect.destination, request.method, request.url
        ));
        output::line(format!("            body {}", outbox::body_text(&request.body)));
        output::line(format!(
            "            idempotency key {}",
            key(event, rule, effect)
        ));
    }
}

/// The key that this effect of a real event would have.
pub(super) fn key(event: &Event, rule: &RulePlan, effect: &oncehook_core::plan::Effect) -> String {
    let (namespace, scope, id) = (&event.namespace, &event.scope, &event.id);
    EffectId {
        namespace,
        scope,
        id,
        rule: &rule.rule,
        effect: &effect.name,
        generation: 0,
    }
    .key(effect.key)
}
