//! After the dust has settled: what the tables say against what was sent and what happened.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    bucket,
    database::{ACCOUNTS, TABLE, number, text},
    provider::{About, Sent},
    world::{Kind, World},
};

fn of(item: &Value, name: &str) -> String {
    text(item, name).unwrap_or_default()
}

/// Every guarantee that the end of a history can show.
pub(crate) fn all(world: &World, events: &[Sent]) {
    let items = world.database.all(TABLE);
    let records: BTreeMap<String, &Value> = items
        .iter()
        .filter(|item| of(item, "sk") == "event")
        .map(|item| (of(item, "event_id"), item))
        .collect();
    for event in events {
        recorded(world, event, &records);
    }
    applied(world, events, &records);
    for item in items.iter().filter(|item| of(item, "sk").starts_with("outbox#")) {
        outbox(world, item);
    }
    bucket::check(world);
}

/// 1, 2, 4: acknowledged is stored, with the outcome that it must have.
fn recorded(world: &World, event: &Sent, records: &BTreeMap<String, &Value>) {
    let id = &event.id;
    let (acknowledged, news) = {
        let book = world.book();
        (
            book.acknowledged.contains(id),
            book.news.get(id).copied().unwrap_or_default(),
        )
    };
    let Some(record) = records.get(id) else {
        return match acknowledged {
            true => world.wrong(Kind::Lost, format!("{id} was acknowledged and is not stored")),
            false => world.wrong(Kind::Stuck, format!("{id} was never taken")),
        };
    };
    if !acknowledged {
        world.wrong(Kind::Stuck, format!("{id} was never acknowledged"));
    }
    let outcome = of(record, "outcome");
    let expected: &[&str] = match event.about {
        About::Invoice => &["applied"],
        About::Charge(_) | About::Subscription(_) => &["applied", "skipped"],
        About::Refund => &["applied", "failed"],
        About::Push(_) => &["applied", "held"],
        About::Other => &["ignored"],
    };
    if !expected.contains(&&*outcome) {
        world.wrong(Kind::Lost, format!("{id} is {outcome}, not one of {expected:?}"));
    }
    let most = 1 + u32::from(event.about == About::Refund);
    if news > most {
        world.wrong(Kind::Doubled, format!("{id} was answered as new {news} times"));
    }
    let listed = matches!(&*outcome, "failed" | "held");
    if listed && (record.get("expires_at").is_some() || !of(record, "work").starts_with(&outcome)) {
        world.wrong(
            Kind::Lost,
            format!("{id} is {outcome} and not on its list for good"),
        );
    }
}

/// 2, 3: what the rules write is there, once, with the events.
fn applied(world: &World, events: &[Sent], records: &BTreeMap<String, &Value>) {
    let mut balances: BTreeMap<String, u64> = BTreeMap::new();
    let mut newest: BTreeMap<String, u64> = BTreeMap::new();
    let mut once: BTreeMap<String, u32> = BTreeMap::new();
    let mut counted = BTreeSet::new();
    for event in events {
        let applied = records
            .get(&event.id)
            .is_some_and(|record| of(record, "outcome") == "applied");
        let operation = match event.about {
            About::Charge(number) => format!("charge {number}"),
            About::Push(number) => format!("push {number}"),
            About::Subscription(sequence) => {
                let newest = newest.entry(event.customer.to_owned()).or_default();
                *newest = (*newest).max(sequence);
                continue;
            }
            About::Invoice => event.id.clone(),
            About::Refund if applied => event.id.clone(),
            About::Refund | About::Other => continue,
        };
        *once.entry(operation.clone()).or_default() += u32::from(applied);
        if counted.insert(operation) {
            *balances.entry(event.customer.to_owned()).or_default() += event.amount;
        }
    }
    for (operation, times) in once {
        let kind = match times {
            1 => continue,
            0 => Kind::Lost,
            _ => Kind::Doubled,
        };
        world.wrong(kind, format!("{operation} was applied {times} times"));
    }
    let rows = world.database.all(ACCOUNTS);
    for customer in ["ada", "bob"] {
        let row = rows.iter().find(|row| of(row, "customer_id") == customer);
        let stored = |name: &str| row.and_then(|row| number(row, name)).unwrap_or_default();
        for (name, expected) in [("balance", &balances), ("subscription", &newest)] {
            let expected = i64::try_from(expected.get(customer).copied().unwrap_or_default()).unwrap();
            let stored = stored(name);
            if stored != expected {
                let kind = if stored > expected {
                    Kind::Doubled
                } else {
                    Kind::Lost
                };
                world.wrong(kind, format!("{name} of {customer} is {stored}, not {expected}"));
            }
        }
    }
}

/// 4, 5: each effect came to an end that is true.
fn outbox(world: &World, item: &Value) {
    let name = format!("{} {}", of(item, "pk"), of(item, "sk"));
    let (state, list) = (of(item, "state"), of(item, "work"));
    let identity = (of(item, "effect"), of(item, "event_id"));
    let (acts, by_key) = {
        let book = world.book();
        (
            book.acts.get(&identity).copied().unwrap_or_default(),
            book.acts_by_key
                .get(&of(item, "idempotency_key"))
                .copied()
                .unwrap_or_default(),
        )
    };
    let keyed = matches!(&*of(item, "destination"), "mail" | "plain");
    let generation = u32::try_from(number(item, "generation").unwrap_or_default()).unwrap();
    let expires = item.get("expires_at").is_some();
    match &*state {
        "done" => {
            if (keyed && by_key == 0) || acts == 0 {
                world.wrong(Kind::Lost, format!("{name} is done and did not happen"));
            }
            if !list.is_empty() || !expires {
                world.wrong(Kind::Stuck, format!("{name} is done and does not go"));
            }
        }
        "dead" => {
            if by_key > 0 || (!keyed && acts > generation) {
                world.wrong(Kind::Doubled, format!("{name} is dead, and it happened"));
            }
            on_list(world, &name, &state, &list, expires);
        }
        "parked" => on_list(world, &name, &state, &list, expires),
        "discarded" => {}
        "open" => world.wrong(Kind::Stuck, format!("{name} is still open, in the list `{list}`")),
        other => world.wrong(Kind::Lost, format!("{name} is `{other}`")),
    }
}

fn on_list(world: &World, name: &str, state: &str, list: &str, expires: bool) {
    if expires || !list.starts_with(state) {
        world.wrong(
            Kind::Lost,
            format!("{name} is {state} and not on its list for good"),
        );
    }
}
