//! A running `oncehook dev` with a destination that can fail, and the command line beside it.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Output, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::types::AttributeValue;
use oncehook_local::recorder::{Received, Recorder};
use serde_json::Value;

use super::{command, err, out};

/// A credit with a receipt, and a note to an API without keys.
pub(crate) const CONFIG: &str = r#"
[source.stripe]
scheme = "stripe"
secret = "stripe"

[table.accounts]
key = { customer_id = "S" }

[[rule]]
name = "credit"
source = "stripe"
events = ["invoice.payment_succeeded"]

  [[rule.update]]
  table = "accounts"
  key = { customer_id = "/data/object/customer" }
  add = { balance = "/data/object/amount_paid" }
  must_exist = false

  [[rule.effect]]
  name = "receipt"
  destination = "mail"
  body = '{"amount": {{ event.data.object.amount_paid }}}'

[[rule]]
name = "note"
source = "stripe"
events = ["invoice.voided"]

  [[rule.effect]]
  name = "note"
  destination = "keyless"
  body = '{}'

[destination.mail]
url = "https://mail.example.com/emails"
idempotency = { retention = "24h" }

[destination.keyless]
url = "https://chat.example.com/"
"#;

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Dev {
    process: Mutex<Child>,
    folder: tempfile::TempDir,
    pub(crate) mail: Recorder,
}

impl Drop for Dev {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Dev {
    pub(crate) fn start(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("oncehook.toml"), config).unwrap();
        let mail = Recorder::start(None).unwrap();
        let process = Mutex::new(spawn(folder.path(), &mail));
        let dev = Self {
            process,
            folder,
            mail,
        };
        dev.wait_until_it_runs();
        dev
    }

    /// SIGKILL, in the middle of whatever it does.
    pub(crate) fn kill(&self) {
        let mut process = self.process.lock().unwrap();
        let _ended = process.kill().and_then(|()| process.wait());
    }

    /// The same, and a new one in the same folder.
    pub(crate) fn kill_and_start(&self) {
        self.kill();
        let _stale = std::fs::remove_file(self.path().join(".oncehook/dev.json"));
        *self.process.lock().unwrap() = spawn(self.path(), &self.mail);
        self.wait_until_it_runs();
    }

    fn wait_until_it_runs(&self) {
        self.wait("oncehook dev", || self.path().join(".oncehook/dev.json").exists());
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn wait(&self, what: &str, mut is_there: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_there() {
            assert!(start.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = command(self.path(), arguments);
        command.env("ONCEHOOK_URL_MAIL", self.mail.endpoint());
        command.stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        serde_json::from_str(&out(&output)).unwrap_or_else(|_| panic!("{arguments:?}: {}", err(&output)))
    }

    pub(crate) fn send(&self, kind: &str, id: &str) {
        self.wait("accepted delivery", || {
            self.run(&["send", "stripe", kind, "--id", id]).status.success()
        });
    }

    pub(crate) fn item(&self, id: &str) -> Value {
        self.json(&["show", id, "--json"])[0]["outbox"][0].clone()
    }

    pub(crate) fn wait_for(&self, id: &str, state: &str) {
        self.wait(state, || self.item(id)["state"] == state);
    }

    /// The idempotency keys of the calls, in order.
    pub(crate) fn keys(&self) -> Vec<String> {
        let calls = self.mail.received();
        let key = |call: &Received| call.header("idempotency-key").map(str::to_owned);
        calls.iter().filter_map(key).collect()
    }

    pub(crate) async fn balance(&self) -> i64 {
        let row = self
            .client()
            .get_item()
            .table_name("accounts")
            .key("customer_id", AttributeValue::S("cus_1001".to_owned()))
            .send()
            .await
            .unwrap();
        let row = row.item.unwrap_or_default();
        row.get("balance")
            .map_or(0, |balance| balance.as_n().unwrap().parse().unwrap())
    }

    pub(crate) fn client(&self) -> aws_sdk_dynamodb::Client {
        oncehook_edge::local_dynamodb(&self.running("endpoint"))
    }

    /// What it says of itself in its folder: `url`, `endpoint`, `services`.
    pub(crate) fn running(&self, name: &str) -> String {
        let text = std::fs::read(self.path().join(".oncehook/dev.json")).unwrap();
        let running: Value = serde_json::from_slice(&text).unwrap();
        running[name].as_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, config: &str) {
        std::fs::write(self.path().join(name), config).unwrap();
    }
}

fn spawn(folder: &Path, mail: &Recorder) -> Child {
    command(folder, &["dev", "--port", "0"])
        .env("ONCEHOOK_URL_MAIL", mail.endpoint())
        .env("ONCEHOOK_URL_KEYLESS", mail.endpoint())
        .env_remove("AWS_ENDPOINT_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// An answer: status, head in lower case, and body.
pub(crate) struct Answer(pub(crate) u16, pub(crate) String, pub(crate) String);

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.2).unwrap_or_else(|_| panic!("{}", self.2))
    }
}

/// One request with these header lines beside `Host`, unless they have one.
pub(crate) fn ask(url: &str, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let address = url.trim_start_matches("http://");
    let host = match headers.contains("Host:") {
        true => String::new(),
        false => format!("Host: {address}\r\n"),
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer(status, head.to_ascii_lowercase(), body.to_owned())
}
