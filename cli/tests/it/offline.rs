//! Commands that need nothing but files.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method};
use jiff::Timestamp;
use oncehook_core::{
    config::Config,
    request::SignedRequest,
    secret::Secret,
    verify::{Source, VerifyError},
};
use oncehook_local::{behaviour::Behaviour, recorder::Recorder};
use serde_json::{Value, json};

use super::{command, err, oncehook, out};

const CONFIG: &str = r#"
[source.stripe]
scheme = "stripe"
secret = "stripe"

[table.accounts]
key = { customer_id = "S" }

[[rule]]
name = "credit"
source = "stripe"
events = ["invoice.payment_succeeded"]
when = "event.data.object.amount_paid > 0"

  [[rule.update]]
  table = "accounts"
  key = { customer_id = "/data/object/customer" }
  add = { balance = "/data/object/amount_paid" }

  [[rule.effect]]
  name = "receipt"
  destination = "mail"
  body = '{"amount": {{ event.data.object.amount_paid }}}'

[[rule]]
name = "other"
source = "stripe"
events = ["customer.*"]

[destination.mail]
url = "https://mail.example.com/emails"
secret = "mail"
idempotency = { retention = "24h" }
"#;

fn folder(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("oncehook.toml"), config).unwrap();
    folder
}

#[test]
fn a_mistyped_key_is_shown_with_its_place_and_the_right_word() {
    let folder = folder(&CONFIG.replace("secret = \"stripe\"", "secrt = \"stripe\""));
    let output = oncehook(folder.path(), &["check"]);
    assert_eq!(output.status.code(), Some(2));
    let shown = err(&output);
    assert!(shown.contains("oncehook.toml:4:1: "), "{shown}");
    assert!(shown.contains("`secrt`") && shown.contains("`secret`"), "{shown}");
}

#[test]
fn a_valid_configuration_is_summed_up_with_what_is_missing() {
    let folder = folder(CONFIG);
    let output = oncehook(folder.path(), &["check", "--secrets"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        out(&output).contains("1 source, 2 rules, 1 table, 1 destination"),
        "{}",
        out(&output)
    );
    assert!(
        err(&output).contains("ONCEHOOK_SECRET_STRIPE is not set"),
        "{}",
        err(&output)
    );
    let output = oncehook(folder.path(), &["check", "--json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&out(&output)).unwrap()["valid"],
        true
    );
    assert_eq!(
        oncehook(folder.path(), &["--config", "none.toml", "check"])
            .status
            .code(),
        Some(2)
    );
}

/// The headers and the body of a printed curl command.
fn curl_request(printed: &str) -> SignedRequest {
    let word = |line: &str| {
        let from = line.find('\'').unwrap() + 1;
        line[from..line.rfind('\'').unwrap()].replace(r"'\''", "'")
    };
    let mut headers = HeaderMap::new();
    let mut body = Bytes::new();
    for line in printed.lines().map(str::trim) {
        if line.starts_with("-H ") {
            let header = word(line);
            let (name, value) = header.split_once(": ").unwrap();
            headers.append(HeaderName::try_from(name).unwrap(), value.parse().unwrap());
        } else if line.starts_with("--data-binary ") {
            body = word(line).into();
        }
    }
    SignedRequest {
        method: Method::POST,
        path_and_query: "/".into(),
        headers,
        body,
        source_ip: None,
    }
}

#[test]
fn what_is_printed_for_curl_verifies_unless_it_shall_not() {
    let folder = folder(CONFIG);
    let config = Config::parse(CONFIG, "oncehook.toml").unwrap();
    let (secret, _) = Secret::new("stripe", "whsec_test").unwrap();
    let source = Source::new(&config.sources["stripe"], vec![secret]).unwrap();
    let cases: [(&[&str], Option<VerifyError>); 4] = [
        (&[], None),
        (&["--tamper"], Some(VerifyError::Mismatch)),
        (&["--forge"], Some(VerifyError::Mismatch)),
        (&["--age", "10m"], Some(VerifyError::TooOld)),
    ];
    for (further, expected) in cases {
        let send = [
            "send",
            "stripe",
            "invoice.payment_succeeded",
            "--print-curl",
            "--secret",
            "whsec_test",
        ];
        let output = oncehook(folder.path(), &[&send, further].concat());
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        #[expect(
            clippy::disallowed_methods,
            reason = "the command signed at the time of the system"
        )]
        let now = Timestamp::now();
        let refused = source.verify(curl_request(&out(&output)), now).err();
        assert_eq!(refused, expected, "{further:?}");
    }
}

#[test]
fn every_scheme_signs_without_a_configuration() {
    let folder = tempfile::tempdir().unwrap();
    for (source, kind) in [
        ("stripe", "customer.subscription.updated"),
        ("stripe", "charge.refunded"),
        ("github", "push"),
        ("github", "ping"),
        ("github", "issues.opened"),
        ("shopify", "orders/create"),
        ("slack", "event_callback/message"),
        ("standard-webhooks", "order.paid"),
        ("svix", "user.created"),
    ] {
        let output = oncehook(
            folder.path(),
            &["send", source, kind, "--print-curl", "--id", "an-id"],
        );
        assert_eq!(output.status.code(), Some(0), "{source} {kind}: {}", err(&output));
        assert_eq!(err(&output), "", "{source} {kind}");
    }
    let output = oncehook(folder.path(), &["send", "strip", "x", "--print-curl"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("there is no source `strip`"),
        "{}",
        err(&output)
    );
}

#[test]
fn without_a_receiver_the_answer_is_no() {
    let folder = folder(CONFIG);
    // Port 1 is nobody's.
    let url = "http://127.0.0.1:1/webhooks/stripe";
    let output = oncehook(
        folder.path(),
        &["send", "stripe", "invoice.payment_succeeded", "--url", url],
    );
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("oncehook dev"), "{}", err(&output));
    for command in ["events", "outbox"] {
        let output = oncehook(folder.path(), &[command]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(
            err(&output).contains("`oncehook dev` is not running in .oncehook"),
            "{}",
            err(&output)
        );
    }
}

#[test]
fn a_refusal_of_the_development_secret_names_the_variable() {
    let folder = folder(CONFIG);
    let receiver = Recorder::start(None).unwrap();
    let url = receiver.endpoint();
    let send = ["send", "stripe", "invoice.payment_succeeded", "--url", &url];
    let refused = |further: &[&str], secret: Option<&str>| {
        receiver.next(Behaviour::Status(401, None));
        let mut command = command(folder.path(), &[&send, further].concat());
        if let Some(secret) = secret {
            command.env("ONCEHOOK_SECRET_STRIPE", secret);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        err(&output).contains("ONCEHOOK_SECRET_STRIPE is not set here")
    };
    assert!(refused(&[], None));
    assert!(
        !refused(&[], Some("whsec_1")),
        "it was not the development secret"
    );
    for asked_for in [
        &["--forge"][..],
        &["--tamper"],
        &["--age", "10m"],
        &["--secret", "whsec_1"],
    ] {
        assert!(!refused(asked_for, None), "{asked_for:?}");
    }
    assert!(oncehook(folder.path(), &send).status.success());
}

fn invoice() -> String {
    let object = json!({ "id": "in_1", "customer": "cus_1", "amount_paid": 5000 });
    json!({
        "id": "evt_1", "type": "invoice.payment_succeeded", "created": 1_700_000_000, "livemode": false,
        "data": { "object": object },
    })
    .to_string()
}

#[test]
fn a_plan_shows_the_update_and_the_effect() {
    let folder = folder(CONFIG);
    std::fs::write(folder.path().join("event.json"), invoice()).unwrap();
    let output = oncehook(folder.path(), &["plan", "event.json"]);
    let shown = out(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", err(&output));
    for line in [
        "credit  matches",
        "other   is for events customer.*",
        "update  accounts where customer_id = \"cus_1\", which must exist",
        "add balance 5000",
        "effect  receipt -> mail: POST https://mail.example.com/emails",
        "body {\"amount\": 5000}",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let output = oncehook(folder.path(), &["plan", "event.json", "--json"]);
    let plan: Value = serde_json::from_str(&out(&output)).unwrap();
    let rule = &plan["plan"]["rules"][0];
    assert_eq!(rule["updates"][0]["add"]["balance"], 5000);
    assert_eq!(rule["effects"][0]["body"], json!({ "amount": 5000 }));
    assert_eq!(rule["effects"][0]["idempotency_key"].as_str().unwrap().len(), 64);
}

#[test]
fn a_plan_that_fails_says_why() {
    let folder = folder(CONFIG);
    let event = invoice().replace("\"customer\"", "\"client\"");
    std::fs::write(folder.path().join("event.json"), event).unwrap();
    let output = oncehook(folder.path(), &["plan", "event.json"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = out(&output);
    assert!(
        shown.contains("kept as failed") && shown.contains("/data/object/customer"),
        "{shown}"
    );
}

#[test]
fn published_vectors_pass_and_wrong_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = include_str!("../../../functions/core/tests/data/vectors.json");
    let file = folder.path().join("vectors.json");
    std::fs::write(&file, vectors).unwrap();
    let output = oncehook(folder.path(), &["verify", "--vectors", "vectors.json"]);
    let shown = out(&output);
    assert!(shown.trim_end().ends_with(" passed, 0 failed"), "{shown}");
    assert_eq!(output.status.code(), Some(0));

    let mut wrong: Vec<Value> = serde_json::from_str(vectors).unwrap();
    let genuine = wrong
        .iter_mut()
        .find(|vector| vector["valid"] == true && vector["provider"] == "stripe")
        .unwrap();
    genuine["body"] = json!("another");
    wrong.push(json!({ "id": "x-1", "provider": "unheard_of", "secret": "s", "valid": true }));
    std::fs::write(&file, json!(wrong).to_string()).unwrap();
    let output = oncehook(folder.path(), &["verify", "--vectors", "vectors.json"]);
    let shown = out(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        shown.contains("signature_mismatch, must be ok") && shown.contains("there is no scheme `unheard-of`"),
        "{shown}"
    );
    assert!(shown.trim_end().ends_with(" passed, 2 failed"), "{shown}");
}

#[test]
fn every_command_has_help_with_examples() {
    let folder = tempfile::tempdir().unwrap();
    let commands = [
        "dev",
        "demo",
        "send",
        "plan",
        "events",
        "outbox",
        "check",
        "secret",
        "sources",
        "verify",
        "completions",
    ];
    for command in commands {
        let output = oncehook(folder.path(), &[command, "--help"]);
        assert_eq!(output.status.code(), Some(0), "{command}");
        assert!(out(&output).contains("Usage: oncehook"), "{command}");
        assert!(
            command == "demo" || out(&output).contains("Examples:"),
            "{command}"
        );
    }
    assert!(out(&oncehook(folder.path(), &["--help"])).contains("Exit codes"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            out(&oncehook(folder.path(), &["completions", shell])).contains("oncehook"),
            "{shell}"
        );
    }
    assert_eq!(oncehook(folder.path(), &["send"]).status.code(), Some(2));
}
