//! The page of `oncehook dev` as a program sees it: what it tells, what it hides, and whom it does not answer.
//! What a person sees of it is tested in a browser (`make browser-test`).

use serde_json::{Value, json};

use super::dev::{Answer, CONFIG, Dev, ask};

fn get(dev: &Dev, path: &str) -> Answer {
    ask(&dev.running("url"), "GET", &format!("/_oncehook/{path}"), "", "")
}

const OWN: &str = "Oncehook-Inspect: 1\r\nContent-Type: application/json\r\n";

fn post(dev: &Dev, path: &str, body: &Value) -> Answer {
    ask(
        &dev.running("url"),
        "POST",
        &format!("/_oncehook/{path}"),
        OWN,
        &body.to_string(),
    )
}

fn rows(dev: &Dev) -> Vec<Value> {
    get(dev, "api/list").json()["rows"].as_array().unwrap().clone()
}

#[test]
fn an_event_is_told_with_all_that_belongs_to_it_and_no_secret() {
    let dev = Dev::start(CONFIG);
    dev.send("invoice.payment_succeeded", "evt_1");
    dev.wait_for("evt_1", "done");
    dev.wait("the row", || {
        rows(&dev).first().is_some_and(|row| row["effects"]["done"] == 1)
    });
    dev.send("invoice.payment_succeeded", "evt_1");
    dev.wait("the duplicate", || {
        rows(&dev).first().is_some_and(|row| row["came"] == 2)
    });
    let list = get(&dev, "api/list").json();
    let row = &list["rows"][0];
    assert_eq!(
        (&row["id"], &row["outcome"]),
        (&json!("evt_1"), &json!("applied"))
    );
    let drawn = list["picture"].as_array().unwrap();
    let sum = |at: usize| {
        drawn
            .iter()
            .map(|bucket| bucket[at].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!([sum(0), sum(1), sum(2), sum(3)], [1, 1, 0, 0]);
    // Who has seen it gets the picture only.
    let again = get(&dev, &format!("api/list?mark={}", list["mark"].as_str().unwrap())).json();
    assert_eq!(again.get("rows"), None);

    let told = get(&dev, "api/event?key=event%23stripe%23%3Atest%23evt_1");
    let event = told.json();
    assert_eq!(event["rules"], json!([{ "rule": "credit", "skipped": null }]));
    assert_eq!(
        event["plan"]["plan"]["rules"][0]["updates"][0]["table"],
        "accounts"
    );
    assert!(event["body"]["text"].as_str().unwrap().contains("evt_1"));
    let effect = &event["outbox"][0];
    assert_eq!(
        (&effect["state"], &effect["history"][0]["status"]),
        (&json!("done"), &json!(200))
    );
    assert_eq!(effect["may"]["retry"]["possible"], false);
    assert_eq!(effect["may"]["resend"]["possible"], true);
    let requests = event["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 2);
    let header = requests[0]["headers"].as_array().unwrap().iter();
    let signature: Vec<&Value> = header.filter(|header| header[0] == "stripe-signature").collect();
    assert!(
        signature[0][1].as_str().unwrap().starts_with("••••"),
        "{signature:?}"
    );
    assert!(!told.2.contains("v1="), "a signature is shown");
}

#[test]
fn a_refused_request_is_shown_although_nothing_is_stored() {
    let dev = Dev::start(CONFIG);
    let sent = dev.run(&["send", "stripe", "invoice.payment_succeeded", "--tamper"]);
    assert!(!sent.status.success());
    dev.wait("the row", || !rows(&dev).is_empty());
    let row = rows(&dev)[0].clone();
    assert_eq!(
        (&row["outcome"], &row["status"]),
        (&json!("refused"), &json!(401))
    );
    let request = get(&dev, &format!("api/request?number={}", row["request"])).json();
    assert_eq!(request["reason"], "signature_mismatch");
    assert!(request["body"]["text"].as_str().unwrap().contains("invoice"));
    assert_eq!(get(&dev, "api/request?number=99").0, 404);
}

#[test]
fn acts_are_asked_for_first_and_made_events_take_the_way_of_all() {
    let dev = Dev::start(CONFIG);
    let body = r#"{"id":"evt_made","object":"event","type":"invoice.payment_succeeded","livemode":false,"data":{"object":{"customer":"<script>alert(1)</script>","amount_paid":5}}}"#;
    let mut make =
        json!({ "source": "stripe", "kind": "invoice.payment_succeeded", "id": "evt_made", "body": body });
    assert_eq!(post(&dev, "api/plan", &make).json()["decision"], "apply");
    assert_eq!(rows(&dev), Vec::<Value>::new());
    make["times"] = json!(2);
    let sent = post(&dev, "api/send", &make).json();
    assert_eq!(
        (&sent["answers"][0]["replayed"], &sent["answers"][1]["replayed"]),
        (&json!(false), &json!(true))
    );
    make["times"] = json!(1000);
    assert_eq!(post(&dev, "api/send", &make).0, 400);
    dev.wait_for("evt_made", "done");
    // What a stranger wrote is JSON that no browser takes for a page.
    let told = get(&dev, "api/event?key=event%23stripe%23%3Atest%23evt_made");
    assert!(told.2.contains("<script>") && told.1.contains("content-type: application/json"));
    assert!(told.1.contains("x-content-type-options: nosniff"));

    let key = dev.item("evt_made")["key"].clone();
    let ask = json!({ "act": "resend", "key": key });
    let would = post(&dev, "api/act", &ask).json();
    assert_eq!(would["possible"], true, "{would}");
    assert_eq!(dev.keys().len(), 1, "a question sent something");
    let done = post(
        &dev,
        "api/act",
        &json!({ "act": "resend", "key": key, "yes": true, "reason": "asked to" }),
    )
    .json();
    assert_eq!(done["done"], true, "{done}");
    dev.wait("the second call", || dev.keys().len() == 2);
    assert_ne!(dev.keys()[0], dev.keys()[1]);
    let item = dev.item("evt_made");
    assert_eq!(item["acts"][0]["why"], "asked to");
    let refused = post(
        &dev,
        "api/act",
        &json!({ "act": "discard", "key": key, "yes": true }),
    );
    assert_eq!(refused.0, 400, "a discard without a reason");
    assert_eq!(
        post(&dev, "api/act", &json!({ "act": "explode", "key": key })).0,
        400
    );
}

#[test]
fn other_sites_names_and_tunnels_get_nothing() {
    let dev = Dev::start(CONFIG);
    let list = |headers: &str| ask(&dev.running("url"), "GET", "/_oncehook/api/list", headers, "").0;
    assert_eq!(list(""), 200);
    for headers in [
        "Host: evil.example\r\n",
        "Origin: http://evil.example\r\n",
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n",
        "X-Forwarded-For: 192.0.2.1\r\n",
    ] {
        assert_eq!(list(headers), 403, "{headers}");
    }
    let act = |headers: &str| ask(&dev.running("url"), "POST", "/_oncehook/api/send", headers, "{}").0;
    assert_eq!(act(OWN), 400, "only what is asked is wrong");
    assert_eq!(act("Content-Type: application/json\r\n"), 403);
    assert_eq!(act("Oncehook-Inspect: 1\r\nContent-Type: text/plain\r\n"), 415);
    assert_eq!(act(&format!("{OWN}Origin: null\r\n")), 403);
    let preflight = "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n";
    let answer = ask(
        &dev.running("url"),
        "OPTIONS",
        "/_oncehook/api/send",
        preflight,
        "",
    );
    assert!(
        answer.0 == 403 && !answer.1.contains("access-control-allow"),
        "{}",
        answer.1
    );
    assert_eq!(rows(&dev), Vec::<Value>::new());

    let page = get(&dev, "");
    assert!(page.1.contains("text/html") && page.1.contains("default-src 'none'; script-src 'self'"));
    assert!(!page.1.contains("unsafe"), "{}", page.1);
    assert_eq!(get(&dev, "nothing.js").0, 404);
    assert_eq!(ask(&dev.running("url"), "GET", "/", "", "").0, 302);
    assert_eq!(ask(&dev.running("url"), "GET", "/elsewhere", "", "").0, 404);
}
