//! `oncehook secret` against a stand-in for Systems Manager, and against ministack where it is there.

use std::{
    io::Write as _,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use oncehook_edge::{SecretStore, Why, local_ssm};
use oncehook_local::{behaviour::Behaviour, parameters::Parameters};
use serde_json::{Value, json};

use super::{command, err, out};

const NAME: &str = "/oncehook/shop/secrets";
const CONFIG: &str = r#"
[source.stripe]
scheme = "stripe"
secret = "stripe"

[source.app]
scheme = "standard-webhooks"
secret = "app"

[destination.mail]
url = "https://mail.example.com/emails"
secret = "mail-key"
idempotency = { retention = "24h" }
"#;
/// What no output may show.
const PRIVATE: &str = "private";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("oncehook.toml"), CONFIG).unwrap();
    folder
}

/// Runs with a value on standard input; neither output shows a value.
fn run(folder: &Path, endpoint: &str, arguments: &[&str], value: &str) -> Output {
    let mut command = command(folder, &[&["secret"], arguments].concat());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        command.env_remove(name);
    }
    command
        .env("AWS_ENDPOINT_URL", endpoint)
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-east-1")
        .env("HOME", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let _closed_early = input.write_all(value.as_bytes());
    drop(input);
    let output = child.wait_with_output().unwrap();
    let shown = format!("{}{}", out(&output), err(&output));
    assert!(!shown.contains(PRIVATE), "{shown}");
    output
}

fn good(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}{}", out(output), err(output));
    out(output)
}

fn stored(ssm: &Parameters) -> Value {
    serde_json::from_str(&ssm.value(NAME).unwrap()).unwrap()
}

#[test]
fn the_first_secret_makes_the_parameter_and_a_rotation_keeps_the_old_value_and_the_others() {
    let (folder, ssm) = (folder(), Parameters::start().unwrap());
    let run = |arguments: &[&str], value: &str| {
        let arguments = [arguments, &["--stack", "shop"]].concat();
        run(folder.path(), &ssm.endpoint(), &arguments, value)
    };
    let shown = good(&run(&["set", "stripe"], "whsec_private1\n"));
    assert!(
        shown.contains("version 1") && shown.contains("source `stripe`"),
        "{shown}"
    );
    let written = ssm.written(NAME).unwrap();
    assert_eq!(
        (&written["Type"], &written["Tier"], &written["Overwrite"]),
        (&json!("SecureString"), &json!("Standard"), &json!(false))
    );
    assert!(written.get("KeyId").is_none());
    // By the name of its destination.
    good(&run(&["set", "mail"], "re_private1\r\n"));
    let shown = good(&run(&["set", "stripe"], "whsec_private2"));
    assert!(
        shown.contains("2 values, the new one first") && shown.contains("drop stripe --older"),
        "{shown}"
    );
    assert_eq!(
        stored(&ssm),
        json!({ "mail-key": "re_private1", "stripe": ["whsec_private2", "whsec_private1"] })
    );
    let shown = good(&run(&["set", "stripe"], "whsec_private2"));
    assert!(shown.contains("nothing was written"), "{shown}");
    let shown = good(&run(&["drop", "stripe", "--older"], ""));
    assert!(shown.contains("had 2 and now has 1"), "{shown}");
    good(&run(&["set", "mail-key", "--replace"], "re_private2"));
    assert_eq!(
        stored(&ssm),
        json!({ "mail-key": "re_private2", "stripe": "whsec_private2" })
    );
    good(&run(&["drop", "stripe", "--all"], ""));
    assert_eq!(stored(&ssm), json!({ "mail-key": "re_private2" }));
    assert_eq!(run(&["drop", "stripe", "--all"], "").status.code(), Some(2));
}

#[test]
fn a_value_that_would_not_work_is_refused_before_anything_is_written() {
    let (folder, ssm) = (folder(), Parameters::start().unwrap());
    for (name, value, why) in [
        ("app", "private: not base64", "base64 is expected"),
        ("stripe", "sk_live_private", "an API key, not a signing secret"),
        ("stripe", "", "standard input is empty"),
        ("stripe", " \n", "standard input is empty"),
        ("stripe", "private\nprivate2\n", "several lines"),
        (
            "mail",
            "private\u{7f}\u{1}",
            "characters that HTTP does not allow",
        ),
        ("strip", "private", "`strip` is no source, destination or secret"),
    ] {
        let arguments = ["set", name, "--stack", "shop"];
        let output = run(folder.path(), &ssm.endpoint(), &arguments, value);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", err(&output));
        assert!(err(&output).contains(why), "{why}: {}", err(&output));
    }
    assert!(ssm.calls().is_empty());
    // There is no argument that takes the value.
    let output = run(
        folder.path(),
        &ssm.endpoint(),
        &["set", "stripe", "value", "--stack", "shop"],
        "",
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_somebody_else_writes_at_the_same_moment_is_kept_and_said() {
    let (folder, ssm) = (folder(), Parameters::start().unwrap());
    let set = |name: &str, value: &str| {
        let arguments = ["set", name, "--parameter", NAME];
        run(folder.path(), &ssm.endpoint(), &arguments, value)
    };
    // Before the first write, which must then not replace it.
    ssm.put_before_next(NAME, r#"{"mail-key": "re_private1"}"#);
    let output = set("stripe", "whsec_private1");
    good(&output);
    assert!(err(&output).contains("somebody else wrote"), "{}", err(&output));
    assert_eq!(
        stored(&ssm),
        json!({ "mail-key": "re_private1", "stripe": "whsec_private1" })
    );
    // Between reading and writing.
    ssm.put_before_next(
        NAME,
        r#"{"mail-key": ["re_private2", "re_private1"], "stripe": "whsec_private1"}"#,
    );
    let output = set("stripe", "whsec_private2");
    good(&output);
    assert!(err(&output).contains("somebody else wrote"), "{}", err(&output));
    assert_eq!(
        stored(&ssm),
        json!({ "mail-key": ["re_private2", "re_private1"], "stripe": ["whsec_private2", "whsec_private1"] })
    );
    // Undisturbed, nothing is said.
    assert_eq!(err(&set("stripe", "whsec_private3")), "");
}

#[test]
fn the_key_and_the_tier_of_the_parameter_stay_and_a_large_one_is_announced() {
    let (folder, ssm) = (folder(), Parameters::start().unwrap());
    let run = |arguments: &[&str], value: &str| {
        let arguments = [arguments, &["--stack", "shop"]].concat();
        run(folder.path(), &ssm.endpoint(), &arguments, value)
    };
    good(&run(
        &["set", "stripe", "--key-id", "alias/shop"],
        "whsec_private1",
    ));
    good(&run(&["set", "stripe"], "whsec_private2"));
    assert_eq!(ssm.written(NAME).unwrap()["KeyId"], "alias/shop");
    let output = run(&["set", "mail"], &"private".repeat(600));
    good(&output);
    assert!(err(&output).contains("advanced tier"), "{}", err(&output));
    good(&run(&["set", "mail", "--replace"], "re_private1"));
    let written = ssm.written(NAME).unwrap();
    assert_eq!(
        (&written["Tier"], &written["KeyId"]),
        (&json!("Advanced"), &json!("alias/shop"))
    );
    let before = ssm.value(NAME);
    let output = run(&["set", "mail"], &"private".repeat(1160));
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert_eq!(ssm.value(NAME), before);
}

#[test]
fn a_list_shows_names_numbers_users_and_what_is_missing() {
    let (folder, ssm) = (folder(), Parameters::start().unwrap());
    let list = |further: &[&str]| {
        let arguments = [&["list", "--stack", "shop"], further].concat();
        run(folder.path(), &ssm.endpoint(), &arguments, "")
    };
    let output = list(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("does not exist yet"), "{}", out(&output));
    ssm.put(
        NAME,
        r#"{"stripe": ["whsec_private1", "whsec_private2"], "app": "private!", "old": "private"}"#,
    );
    let output = list(&["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let listed: Value = serde_json::from_str(&out(&output)).unwrap();
    let rows = listed["secrets"].as_array().unwrap();
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["secret"].as_str().unwrap(),
                row["values"].as_u64().unwrap(),
                row["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("app", 1, "unusable"),
            ("mail-key", 0, "missing"),
            ("stripe", 2, "set"),
            ("old", 1, "not used")
        ]
    );
    ssm.put(
        NAME,
        r#"{"stripe": "whsec_private1", "app": "cHJpdmF0ZQ==", "mail-key": "re_private1"}"#,
    );
    let shown = good(&list(&[]));
    assert!(shown.contains("destination `mail`"), "{shown}");
}

#[test]
fn what_stands_there_and_is_no_object_is_left_alone() {
    let (folder, ssm) = (folder(), Parameters::start().unwrap());
    ssm.put(NAME, "private text");
    let arguments = ["set", "stripe", "--stack", "shop"];
    let output = run(folder.path(), &ssm.endpoint(), &arguments, "whsec_private1");
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("delete-parameter"), "{}", err(&output));
    assert_eq!(ssm.value(NAME).as_deref(), Some("private text"));
    for _ in 0..10 {
        ssm.next(Behaviour::Status(400, None));
    }
    let output = run(folder.path(), &ssm.endpoint(), &arguments, "whsec_private1");
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
}

#[test]
fn without_credentials_or_a_region_the_remedy_is_named() {
    let folder = folder();
    let attempt = |region: bool| {
        let mut command = command(folder.path(), &["secret", "list", "--stack", "shop"]);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        if region {
            command.env("AWS_REGION", "us-east-1");
        }
        command
            .env("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("HOME", folder.path());
        err(&command.output().unwrap())
    };
    let shown = attempt(true);
    assert!(
        shown.contains("--profile") && shown.contains("aws sso login"),
        "{shown}"
    );
    let shown = attempt(false);
    assert!(
        shown.contains("--region") || shown.contains("--profile"),
        "{shown}"
    );
}

/// A process that ends with the test.
struct Ministack(Child);

impl Drop for Ministack {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// The real protocol on both sides: what this command writes is what a function reads.
#[tokio::test]
async fn what_is_set_is_what_functions_read() {
    #[expect(clippy::disallowed_methods, reason = "the variable of `make test`")]
    let Ok(program) = std::env::var("ONCEHOOK_TEST_MINISTACK") else {
        #[expect(clippy::print_stderr, reason = "a test that does nothing says so")]
        {
            eprintln!("not run: set ONCEHOOK_TEST_MINISTACK to the ministack program, as `make test` does");
        }
        return;
    };
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let endpoint = format!("http://127.0.0.1:{port}");
    let _ministack = Ministack(
        Command::new(program)
            .env("BIND_HOST", "127.0.0.1")
            .env("GATEWAY_PORT", port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let client = local_ssm(&endpoint);
    let mut tries = 0;
    while client.describe_parameters().send().await.is_err() {
        tries += 1;
        assert!(tries < 300, "ministack did not answer within 30 seconds");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let second = |second| jiff::Timestamp::from_second(second).unwrap();
    let store = SecretStore::open(client.clone(), NAME.to_owned(), second(0)).await;
    let values = |name: &str| -> Vec<String> {
        let all = store.current().all(name);
        all.iter().map(|one| one.expose().to_owned()).collect()
    };
    assert!(values("stripe").is_empty());
    let folder = folder();
    let set = |arguments: &[&str], value: &str| {
        let arguments = [&["set"], arguments, &["--stack", "shop"]].concat();
        good(&run(folder.path(), &endpoint, &arguments, value))
    };
    set(&["stripe", "--key-id", "alias/shop"], "whsec_private1");
    assert!(store.refresh(Why::Missing, second(5)).await);
    assert_eq!(values("stripe"), ["whsec_private1"]);
    set(&["mail"], "re_private1");
    set(&["stripe"], "whsec_private2");
    assert!(store.refresh(Why::Refused, second(10)).await);
    assert_eq!(values("stripe"), ["whsec_private2", "whsec_private1"]);
    assert_eq!(values("mail-key"), ["re_private1"]);
    let described = client.describe_parameters().send().await.unwrap();
    let described = &described.parameters()[0];
    assert_eq!(described.key_id(), Some("alias/shop"), "the key stays");
    assert_eq!(described.r#type().map(|kind| kind.as_str()), Some("SecureString"));
    assert_eq!(described.version(), 3);
}
