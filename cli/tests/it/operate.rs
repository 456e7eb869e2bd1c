//! What a person does: retry, resend, discard, replay, against a running `oncehook dev` and a destination that can fail.

use std::process::{Output, Stdio};

use aws_sdk_dynamodb::types::AttributeValue;
use oncehook_local::behaviour::Behaviour;
use serde_json::{Value, json};

use super::{
    command,
    dev::{CONFIG, Dev},
    err, oncehook, out,
};

#[test]
fn an_effect_is_retried_under_its_key_resent_under_another_and_dropped_with_a_reason() {
    let dev = Dev::start(CONFIG);
    dev.mail.next(Behaviour::Status(422, None));
    dev.send("invoice.payment_succeeded", "evt_1");
    dev.wait_for("evt_1", "dead");

    let dry = dev.run(&["outbox", "retry", "--destination", "mail"]);
    assert_eq!(dry.status.code(), Some(0), "{}", err(&dry));
    assert!(
        out(&dry).contains("would: send again under the same key"),
        "{}",
        out(&dry)
    );
    assert!(err(&dry).contains("nothing was changed"), "{}", err(&dry));
    assert_eq!(dev.item("evt_1")["state"], "dead");
    assert_eq!(
        dev.run(&["outbox", "retry"]).status.code(),
        Some(2),
        "neither key nor filter"
    );

    let retry = [
        "outbox", "retry", "--event", "evt_1", "--yes", "--as", "ada@desk", "--reason", "mended",
    ];
    let done = dev.run(&retry);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    dev.wait_for("evt_1", "done");
    let keys = dev.keys();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]), "the same key");
    let item = dev.item("evt_1");
    let act = &item["acts"][0];
    assert_eq!(
        (&act["act"], &act["by"], &act["why"], &act["before"]),
        (
            &json!("retry"),
            &json!("ada@desk"),
            &json!("mended"),
            &json!("dead")
        )
    );
    assert_eq!(dev.run(&retry).status.code(), Some(1), "nothing is left to retry");

    let key = item["key"].as_str().unwrap();
    let refused = dev.run(&["outbox", "retry", key, "--yes"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(out(&refused).contains("it is done"), "{}", out(&refused));
    let resend = dev.run(&["outbox", "resend", key, "--render"]);
    assert!(out(&resend).contains("second time"), "{}", out(&resend));
    assert!(
        out(&resend).contains("which is the stored one"),
        "{}",
        out(&resend)
    );
    dev.write("other.toml", &CONFIG.replace("{\"amount\":", "{\"paid\":"));
    let resend = dev.run(&[
        "--config",
        "other.toml",
        "outbox",
        "resend",
        key,
        "--render",
        "--yes",
    ]);
    assert_eq!(resend.status.code(), Some(0), "{}{}", out(&resend), err(&resend));
    dev.wait("third call", || dev.keys().len() == 3);
    dev.wait_for("evt_1", "done");
    assert_ne!(dev.keys()[2], keys[0], "a new key");
    assert_eq!(dev.mail.received()[2].body.as_ref(), b"{\"paid\": 5000}");
    assert_eq!(dev.item("evt_1")["generation"], 1);

    dev.mail.next(Behaviour::Status(422, None));
    dev.send("invoice.payment_succeeded", "evt_2");
    dev.wait_for("evt_2", "dead");
    assert_eq!(
        dev.run(&["outbox", "discard", "--all", "--yes"]).status.code(),
        Some(2),
        "without a reason"
    );
    let discard = dev.json(&[
        "outbox", "discard", "--all", "--yes", "--reason", "by hand", "--json",
    ]);
    assert_eq!(
        (&discard[0]["event"], &discard[0]["done"]),
        (&json!("evt_2"), &json!(true))
    );
    assert_eq!(dev.item("evt_2")["state"], "discarded");
    assert_eq!(
        dev.json(&["outbox", "--state", "parked,dead", "--json"]),
        json!([])
    );
    let shown = out(&dev.run(&["show", "evt_2"]));
    assert!(
        shown.contains("discard by") && shown.contains("by hand") && !shown.contains("amount_paid"),
        "{shown}"
    );
    assert!(out(&dev.run(&["show", "evt_2", "--body"])).contains("amount_paid"));
    assert_eq!(dev.run(&["show", "evt_9"]).status.code(), Some(1));
}

#[tokio::test]
async fn a_retry_is_refused_where_it_could_act_twice() {
    let dev = Dev::start(CONFIG);
    dev.mail.next(Behaviour::AcceptAndDrop);
    dev.send("invoice.voided", "evt_1");
    dev.wait_for("evt_1", "parked");
    let refused = dev.run(&["outbox", "retry", "--event", "evt_1", "--yes"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        out(&refused).contains("knows no idempotency keys"),
        "{}",
        out(&refused)
    );

    for _ in 0..3 {
        dev.mail.next(Behaviour::AcceptAndAnswer(500));
    }
    dev.send("invoice.payment_succeeded", "evt_2");
    dev.wait_for("evt_2", "parked");
    let allowed = dev.run(&["outbox", "retry", "--event", "evt_2"]);
    assert_eq!(allowed.status.code(), Some(0), "{}", out(&allowed));
    // A day later the destination has forgotten the key.
    let item = dev.item("evt_2");
    let (pk, sk) = item["key"].as_str().unwrap().rsplit_once('/').unwrap();
    let sent: jiff::Timestamp = item["maybe_sent_at"].as_str().unwrap().parse().unwrap();
    let long_ago = sent - jiff::SignedDuration::from_hours(24);
    dev.client()
        .update_item()
        .table_name("oncehook")
        .key("pk", AttributeValue::S(pk.to_owned()))
        .key("sk", AttributeValue::S(sk.to_owned()))
        .update_expression("SET maybe_sent_at = :at")
        .expression_attribute_values(":at", AttributeValue::N(long_ago.as_millisecond().to_string()))
        .send()
        .await
        .unwrap();
    let refused = dev.run(&["outbox", "retry", "--event", "evt_2", "--yes"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        out(&refused).contains("may have forgotten the key"),
        "{}",
        out(&refused)
    );
    assert!(out(&refused).contains("`resend` if not"), "{}", out(&refused));
    assert_eq!(dev.item("evt_2")["state"], "parked");
}

#[test]
fn a_bulk_act_that_was_interrupted_goes_on_with_what_is_left() {
    let dev = Dev::start(CONFIG);
    for index in 0..6 {
        dev.mail.next(Behaviour::Status(422, None));
        let id = format!("evt_{index}");
        dev.send("invoice.payment_succeeded", &id);
        dev.wait_for(&id, "dead");
    }
    let dead = || {
        dev.json(&["outbox", "--state", "dead", "--json"])
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(dead(), 6);
    let mut first = command(
        dev.path(),
        &["outbox", "retry", "--all", "--yes", "--rate", "1/s"],
    )
    .stdin(Stdio::null())
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    dev.wait("first act", || dead() < 6);
    first.kill().unwrap();
    first.wait().unwrap();
    let left = dead();
    assert!(left > 0 && left < 6, "{left}");
    let second = dev.json(&["outbox", "retry", "--all", "--yes", "--json"]);
    assert_eq!(second.as_array().unwrap().len(), left);
    dev.wait("all delivered", || {
        let done = dev.json(&["outbox", "--state", "done", "--json"]);
        done.as_array().unwrap().len() == 6
    });
    assert_eq!(dev.keys().len(), 12, "one refused and one delivered call each");
    assert_eq!(
        oncehook(dev.path(), &["outbox", "retry", "--all", "--yes"])
            .status
            .code(),
        Some(1)
    );
}

#[tokio::test]
async fn failed_ignored_and_held_events_are_applied_once_when_somebody_says_so() {
    let broken = CONFIG.replace("/data/object/amount_paid\" }", "/data/object/amount_piad\" }");
    let dev = Dev::start(&broken);
    dev.write("mended.toml", CONFIG);
    dev.send("invoice.payment_succeeded", "evt_1");
    let failed = dev.json(&["events", "--failed", "--json"]);
    assert_eq!(
        (failed.as_array().unwrap().len(), &failed[0]["id"]),
        (1, &json!("evt_1"))
    );
    let still = dev.run(&["events", "replay", "--failed", "--yes"]);
    assert_eq!(still.status.code(), Some(1), "the rule is as it was");
    assert!(
        out(&still).contains("it would fail: rule `credit`"),
        "{}",
        out(&still)
    );

    let mended = ["--config", "mended.toml", "events", "replay", "--failed"];
    let dry = dev.run(&mended);
    assert!(
        out(&dry).contains("would: apply credit (1 update, 1 effect)"),
        "{}",
        out(&dry)
    );
    assert_eq!(dev.balance().await, 0);
    let replayed = dev.run(&[&mended[..], &["--yes", "--reason", "typo"]].concat());
    assert_eq!(replayed.status.code(), Some(0), "{}", out(&replayed));
    assert_eq!(
        dev.run(&[&mended[..], &["--yes"]].concat()).status.code(),
        Some(1),
        "nothing is left"
    );
    let again = dev.run(&["--config", "mended.toml", "events", "replay", "evt_1", "--yes"]);
    assert!(out(&again).contains("it is applied"), "{}", out(&again));
    assert_eq!(dev.balance().await, 5000);
    dev.wait_for("evt_1", "done");
    let event = dev.json(&["show", "evt_1", "--json"])[0].clone();
    assert_eq!(
        (&event["acts"][0]["act"], &event["acts"][0]["why"]),
        (&json!("replay"), &json!("typo"))
    );
    assert!(event["body"].is_null());

    // A rule that comes later.
    dev.send("invoice.updated", "evt_2");
    dev.write(
        "more.toml",
        &CONFIG.replace("[\"invoice.payment_succeeded\"]", "[\"invoice.*\"]"),
    );
    let none = dev.run(&[
        "--config",
        "mended.toml",
        "events",
        "replay",
        "--ignored",
        "--yes",
    ]);
    assert!(out(&none).contains("no rule matches"), "{}", out(&none));
    let ignored = ["--config", "more.toml", "events", "replay", "--ignored", "--yes"];
    assert_eq!(dev.run(&ignored).status.code(), Some(0));
    assert_eq!(dev.run(&ignored).status.code(), Some(1));
    assert_eq!(dev.balance().await, 10_000);

    let reason = ["events", "discard", "evt_2", "--yes", "--reason", "x"];
    assert_eq!(dev.run(&reason).status.code(), Some(1), "it stands in no list");
    dev.send("invoice.payment_succeeded", "evt_3");
    let discard = ["events", "discard", "--failed", "--yes", "--reason", "a test"];
    assert_eq!(dev.run(&discard).status.code(), Some(0));
    assert_eq!(dev.json(&["events", "--failed", "--json"]), json!([]));
    assert_eq!(dev.balance().await, 10_000);
}

#[tokio::test]
async fn a_held_event_waits_for_a_release() {
    let cut = CONFIG.replace(
        "secret = \"stripe\"",
        "secret = \"stripe\"\nnot_before = 2999-01-01T00:00:00Z",
    );
    let dev = Dev::start(&cut);
    dev.send("invoice.payment_succeeded", "evt_1");
    let held = dev.run(&["events", "replay", "--held", "--yes"]);
    assert_eq!(held.status.code(), Some(1));
    assert!(out(&held).contains("--release applies it"), "{}", out(&held));
    let released = dev.run(&["events", "replay", "--held", "--release", "--yes"]);
    assert_eq!(released.status.code(), Some(0), "{}", out(&released));
    assert_eq!(dev.balance().await, 5000);
    assert_eq!(dev.json(&["events", "--held", "--json"]), json!([]));
}

/// As on AWS: a table by its name, credentials and an endpoint from the environment, nothing read that costs.
#[test]
fn on_aws_lists_are_read_and_a_scan_is_asked_for() {
    let broken = CONFIG.replace("/data/object/amount_paid\" }", "/data/object/amount_piad\" }");
    let dev = Dev::start(&broken);
    dev.send("invoice.payment_succeeded", "evt_1");
    dev.mail.next(Behaviour::AcceptAndDrop);
    dev.send("invoice.voided", "evt_2");
    dev.wait_for("evt_2", "parked");
    dev.send("invoice.voided", "evt_3");
    dev.wait_for("evt_3", "done");
    let text = std::fs::read(dev.path().join(".oncehook/dev.json")).unwrap();
    let running: Value = serde_json::from_slice(&text).unwrap();
    let aws = |arguments: &[&str]| {
        let mut command = command(dev.path(), arguments);
        command
            .env("AWS_ENDPOINT_URL_DYNAMODB", running["endpoint"].as_str().unwrap())
            .envs([
                ("AWS_ACCESS_KEY_ID", "x"),
                ("AWS_SECRET_ACCESS_KEY", "x"),
                ("AWS_REGION", "us-east-1"),
            ])
            .envs([
                ("AWS_CONFIG_FILE", "none"),
                ("AWS_SHARED_CREDENTIALS_FILE", "none"),
            ])
            .env("ONCEHOOK_TABLE", "oncehook")
            .env("ONCEHOOK_URL_MAIL", dev.mail.endpoint());
        command.stdin(Stdio::null()).output().unwrap()
    };
    let ids = |output: &Output, name: &str| -> Vec<String> {
        let value: Value = serde_json::from_str(&out(output)).unwrap_or_else(|_| panic!("{}", err(output)));
        let one = |value: &Value| value[name].as_str().unwrap().to_owned();
        value.as_array().unwrap().iter().map(one).collect()
    };
    let listed = aws(&["outbox", "--json"]);
    assert_eq!(ids(&listed, "event"), ["evt_2"]);
    assert!(err(&listed).contains("--scan"), "{}", err(&listed));
    let refused = aws(&["outbox", "--state", "done"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("--scan"), "{}", err(&refused));
    assert_eq!(
        ids(&aws(&["outbox", "--state", "done", "--scan", "--json"]), "event"),
        ["evt_3"]
    );
    assert_eq!(ids(&aws(&["events", "--json"]), "id"), ["evt_1"]);
    assert_eq!(aws(&["events", "replay", "--ignored"]).status.code(), Some(2));

    // By its id through the lists, by its key from anywhere.
    assert_eq!(ids(&aws(&["show", "evt_2", "--json"]), "id"), ["evt_2"]);
    let missing = aws(&["show", "evt_3", "--scope", "acct_9"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(err(&missing).contains("--scope"), "{}", err(&missing));
    let key = dev.json(&["show", "evt_3", "--json"])[0]["key"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(ids(&aws(&["show", &key, "--json"]), "id"), ["evt_3"]);
    assert_eq!(
        ids(&aws(&["show", "evt_3", "--json"]), "id"),
        ["evt_3"],
        "a usual scope"
    );
    let scope = key.split('#').nth(2).unwrap().to_owned();
    assert_eq!(
        ids(&aws(&["show", "evt_3", "--scope", &scope, "--json"]), "id"),
        ["evt_3"]
    );

    let unnamed = aws(&["events", "replay", "--failed"]);
    assert_eq!(unnamed.status.code(), Some(2));
    assert!(
        err(&unnamed).contains("ONCEHOOK_TABLE_ACCOUNTS"),
        "{}",
        err(&unnamed)
    );
    let resent = aws(&["outbox", "resend", "--event", "evt_2", "--yes"]);
    assert_eq!(resent.status.code(), Some(0), "{}", err(&resent));
    assert!(err(&resent).contains("the next sweep"), "{}", err(&resent));
    dev.wait_for("evt_2", "done");
}
