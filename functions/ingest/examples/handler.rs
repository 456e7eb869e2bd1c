//! A handler in Rust beside the rules of oncehook.toml: for logic that rules cannot express.
//!
//! The trait has one method, and it is pure: it says what must happen, the ledger makes it happen once. To run it on
//! Lambda, hand it to `Ingest::new` in place of `Rules` (see `src/main.rs`). Here it plans one event and prints what
//! would be committed:
//!
//! ```text
//! cargo run -p oncehook-ingest --example handler
//! ```

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use oncehook_core::{
    config::Config,
    decide::{Mode, decide},
    decimal::Decimal,
    event::Event,
    plan::{Attr, Guard, Handler, OnCondition, Plan, PlanError, RulePlan, Update},
    rules::Rules,
};
use serde_json::{Value, json};

/// Splits a payment among the sellers of an order: as many updates as the event has lines, which no rule can write.
struct Marketplace {
    /// What oncehook.toml says, for everything else.
    rules: Rules,
}

impl Handler for Marketplace {
    fn plan(&self, event: &Event) -> Result<Plan, PlanError> {
        let mut plan = self.rules.plan(event)?;
        if event.kind == "order.paid" {
            plan.rules.push(split(&event.data)?);
        }
        Ok(plan)
    }
}

fn split(order: &Value) -> Result<RulePlan, PlanError> {
    let lines = order["lines"]
        .as_array()
        .ok_or_else(|| PlanError::Handler("the order has no lines".to_owned()))?;
    Ok(RulePlan {
        rule: "split".to_owned(),
        guards: vec![Guard::Once {
            key: format!("order:{}", order["order"]),
            lasts: None,
        }],
        updates: lines.iter().map(credit).collect::<Result<_, _>>()?,
        effects: Vec::new(),
    })
}

fn credit(line: &Value) -> Result<Update, PlanError> {
    let wrong = |what: &str| PlanError::Handler(format!("a line of the order has no usable {what}: {line}"));
    let seller = line["seller"].as_str().ok_or_else(|| wrong("seller"))?;
    let cents = Decimal::parse(&line["cents"].to_string()).map_err(|_| wrong("cents"))?;
    Ok(Update {
        table: "sellers".to_owned(),
        key: BTreeMap::from([("seller".to_owned(), Attr::S(seller.to_owned()))]),
        set: BTreeMap::new(),
        add: BTreeMap::from([("balance".to_owned(), cents)]),
        remove: Vec::new(),
        condition: None,
        on_condition: OnCondition::Fail,
        must_exist: false,
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::parse(
        "[source.shop]\nscheme = \"standard-webhooks\"\nsecret = \"shop\"",
        "oncehook.toml",
    )?;
    let handler = Marketplace {
        rules: Rules::new(&config)?,
    };
    let data = json!({
        "id": "evt_1", "type": "order.paid", "order": 17,
        "lines": [{"seller": "ada", "cents": 1250}, {"seller": "grace", "cents": 9007199254740993_i64}]
    });
    let event = Event {
        source: "shop".to_owned(),
        namespace: "shop".to_owned(),
        scope: String::new(),
        id: "evt_1".to_owned(),
        kind: "order.paid".to_owned(),
        occurred_at: None,
        tenant: String::new(),
        id_signed: true,
        guard_body: false,
        token: None,
        content_type: Some("application/json".to_owned()),
        body: Bytes::from(data.to_string()),
        data: Arc::new(data),
        defect: None,
    };
    #[expect(clippy::print_stdout, reason = "an example shows its result")]
    {
        println!("{:#?}", decide(Mode::Apply, None, &handler, &event));
    }
    Ok(())
}
