//! Queues, a function and a bus as destinations, over their real protocols: as ministack speaks them, in a process of its
//! own. A consumer at the other end looks at what came.
//!
//! `make test` installs ministack and names it in `ONCEHOOK_TEST_MINISTACK`; without it this test says that it did
//! nothing.

use oncehook_edge::Signer;
use oncehook_store::OutboxView;
use oncehook_tests::{Ministack, World, invoice, say};
use serde_json::{Value, json};

/// Fails with what it was given, so that the item shows it; or does nothing. The emulator hands no client context to a
/// function, so the key is looked for where a rendered body has it.
const FUNCTION: &str = "
import json
def handler(event, context):
    key = event['idempotency_key']
    if event['amount'] == 13:
        raise Exception('got ' + key + ' ' + event['id'])
    return 'done'
";

fn configuration(destinations: &[(&str, String)]) -> String {
    let mut text = "[source.stripe]\nscheme = \"stripe\"\nsecret = \"stripe\"\n".to_owned();
    for (name, lines) in destinations {
        text.push_str(&format!("[destination.{name}]\n{lines}\n"));
    }
    text.push_str("[[rule]]\nname = \"r\"\nsource = \"stripe\"\nevents = [\"*\"]\n");
    for (name, _) in destinations {
        let body = match *name {
            "function" => {
                "'{\"id\": {{ event.id | tojson }}, \"amount\": {{ event.data.object.amount_paid }}}'"
            }
            _ => "{ event = true }",
        };
        text.push_str(&format!(
            "[[rule.effect]]\nname = \"{name}\"\ndestination = \"{name}\"\nbody = {body}\n"
        ));
    }
    text
}

fn item<'a>(items: &'a [OutboxView], effect: &str) -> &'a OutboxView {
    items
        .iter()
        .find(|view| view.item.effect == effect)
        .expect("the item")
}

#[tokio::test]
async fn what_a_consumer_gets_is_the_event_with_its_key() {
    let Some(ministack) = Ministack::start().await else {
        say("not run: set ONCEHOOK_TEST_MINISTACK to the ministack program, as `make test` does");
        return;
    };
    let (plain, fifo) = (ministack.queue("jobs").await, ministack.queue("jobs.fifo").await);
    let routed = ministack.queue("routed").await;
    ministack.function("work", FUNCTION).await;
    ministack
        .events("CreateEventBus", &json!({ "Name": "orders" }))
        .await;
    let pattern =
        json!({ "source": ["com.example"], "detail": { "event": { "id": [{ "prefix": "evt_" }] } } });
    let rule = json!({ "Name": "paid", "EventBusName": "orders", "EventPattern": pattern.to_string() });
    ministack.events("PutRule", &rule).await;
    let target = json!({ "Rule": "paid", "EventBusName": "orders", "Targets": [
        { "Id": "1", "Arn": "arn:aws:sqs:us-east-1:000000000000:routed" },
    ]});
    ministack.events("PutTargets", &target).await;

    let text = configuration(&[
        ("plain", format!("kind = \"sqs\"\nqueue = \"{plain}\"")),
        ("fifo", format!("kind = \"sqs\"\nqueue = \"{fifo}\"")),
        ("function", "kind = \"lambda\"\nfunction = \"work\"".to_owned()),
        (
            "bus",
            "kind = \"eventbridge\"\nbus = \"orders\"\nsource = \"com.example\"".to_owned(),
        ),
        ("gone", format!("kind = \"sqs\"\nqueue = \"{plain}-gone\"")),
        ("missing", "kind = \"lambda\"\nfunction = \"missing\"".to_owned()),
    ]);
    let world = World::with_services(&text, Signer::local(&ministack.endpoint)).await;
    let request = world.signed(&invoice("evt_1", "cus_1", 12));
    assert_eq!(world.post(&request).await.status, 200);
    world.drain_due().await;

    let (_, items) = world.stored().await;
    for effect in ["plain", "fifo", "function", "bus"] {
        let view = item(&items, effect);
        assert_eq!(
            view.state, "done",
            "{effect}: {:?} {:?}",
            view.reason, view.last_error
        );
    }
    for effect in ["plain", "fifo"] {
        let messages = ministack
            .messages(if effect == "plain" { &plain } else { &fifo })
            .await;
        assert_eq!(messages.len(), 1, "{effect}");
        assert_eq!(
            messages[0].body().unwrap().as_bytes(),
            &request.body[..],
            "byte for byte"
        );
        let attributes = messages[0].message_attributes().unwrap();
        let key = attributes["idempotency-key"].string_value().unwrap();
        assert_eq!(key, item(&items, effect).item.idempotency_key);
    }
    let messages = ministack.messages(&routed).await;
    assert_eq!(messages.len(), 1, "the rule of the bus has matched");
    let event: Value = serde_json::from_str(messages[0].body().unwrap()).unwrap();
    assert_eq!(event["detail-type"], "invoice.payment_succeeded");
    assert_eq!(
        event["detail"]["idempotency_key"],
        item(&items, "bus").item.idempotency_key.as_str()
    );
    assert_eq!(event["detail"]["event"]["id"], "evt_1");

    for (effect, words) in [("gone", "see to"), ("missing", "see to missing")] {
        let view = item(&items, effect);
        assert_eq!(
            (view.state.as_str(), view.item.attempts),
            ("open", 0),
            "{effect}: {:?}",
            view.last_error
        );
        let error = view.last_error.as_deref().unwrap_or_default();
        assert!(error.contains(words), "{effect}: {error}");
        say(&format!("{effect}: {error}"));
    }
    world.lose_wakeups();
}

#[tokio::test]
async fn a_function_that_fails_has_run_with_the_key() {
    let Some(ministack) = Ministack::start().await else {
        say("not run: set ONCEHOOK_TEST_MINISTACK to the ministack program, as `make test` does");
        return;
    };
    ministack.function("work", FUNCTION).await;
    let text = configuration(&[("function", "kind = \"lambda\"\nfunction = \"work\"".to_owned())]);
    let world = World::with_services(&text, Signer::local(&ministack.endpoint)).await;
    let request = world.signed(&invoice("evt_13", "cus_1", 13));
    assert_eq!(world.post(&request).await.status, 200);
    world.drain_due().await;
    let (_, items) = world.stored().await;
    let view = &items[0];
    assert_eq!(view.state, "parked", "{:?}", view.last_error);
    let seen = format!("got {} evt_13", view.item.idempotency_key);
    let error = view.last_error.as_deref().unwrap_or_default();
    assert!(
        error.starts_with("the function failed") && error.contains(&seen),
        "{error}"
    );
}

#[tokio::test]
async fn a_fifo_queue_recognises_what_was_sent_before() {
    let Some(ministack) = Ministack::start().await else {
        say("not run: set ONCEHOOK_TEST_MINISTACK to the ministack program, as `make test` does");
        return;
    };
    let fifo = ministack.queue("jobs.fifo").await;
    let text = configuration(&[("fifo", format!("kind = \"sqs\"\nqueue = \"{fifo}\""))]);
    // Two deployments with a table each meet the same event: the key is the same, and so is the message.
    for _ in 0..2 {
        let world = World::with_services(&text, Signer::local(&ministack.endpoint)).await;
        let request = world.signed(&invoice("evt_1", "cus_1", 12));
        assert_eq!(world.post(&request).await.status, 200);
        world.drain_due().await;
        let (_, items) = world.stored().await;
        assert_eq!(items[0].state, "done", "{:?}", items[0].last_error);
    }
    assert_eq!(ministack.messages(&fifo).await.len(), 1);
}
