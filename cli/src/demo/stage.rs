//! What the scenes play on: a folder, an `oncehook dev` in a process of its own, a mail API, and a tally.

use std::{
    fmt::Debug,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, bail};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{clock::Clock, config::Config, secret::Secret, verify::Source};
use oncehook_edge::SystemClock;
use oncehook_local::mail::MailServer;
use oncehook_store::{EventFilter, Ledger, Record};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::{post, running::Running};

/// The configuration that the demo starts with.
const CONFIG: &str = include_str!("oncehook.toml");
/// The demo's own secret; it protects nothing.
const SECRET: &str = "whsec_for_the_demo_only";

/// A request ready to be posted, again and again if need be.
pub(super) struct Prepared {
    headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An answer as the scenes look at it.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) replayed: bool,
    pub(super) outcome: String,
    pub(super) body: String,
}

/// The stage.
pub(super) struct Stage {
    folder: TempDir,
    mail: MailServer,
    process: Option<Child>,
    running: Option<Running>,
    ledger: Option<Ledger>,
    pauses: bool,
    right: u32,
    wrong: u32,
}

impl Stage {
    /// Sets everything up and starts `oncehook dev` for the first time.
    pub(super) async fn open(pauses: bool) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mail = MailServer::start(None)?;
        std::fs::write(folder.path().join("oncehook.toml"), CONFIG)?;
        let (process, running, ledger) = (None, None, None);
        let mut stage = Self {
            folder,
            mail,
            process,
            running,
            ledger,
            pauses,
            right: 0,
            wrong: 0,
        };
        stage.restart(false).await?;
        Ok(stage)
    }

    /// Stops the process and counts.
    pub(super) fn close(self) -> (u32, u32) {
        (self.right, self.wrong)
    }

    /// The mail API.
    pub(super) fn mail(&self) -> &MailServer {
        &self.mail
    }

    /// Announces a scene.
    pub(super) fn scene(&self, number: u32, what: &str) {
        self.pause(1200);
        println!("\n{number}. {what}");
        self.pause(1200);
    }

    /// Says something on the way.
    pub(super) fn say(&self, what: &str) {
        println!("   {what}");
        self.pause(500);
    }

    /// Compares what is with what must be.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a scene reads better without borrows"
    )]
    pub(super) fn check<T: PartialEq + Debug>(&mut self, what: &str, is: T, must: T) {
        if is == must {
            self.right += 1;
            println!("   ok     {what}: {is:?}");
        } else {
            self.wrong += 1;
            println!("   WRONG  {what}: {is:?}, must be {must:?}");
        }
        self.pause(300);
    }

    /// Replaces text in the configuration; takes effect at the next restart.
    pub(super) fn configure(&self, from: &str, to: &str) -> anyhow::Result<()> {
        let path = self.folder.path().join("oncehook.toml");
        let text = std::fs::read_to_string(&path)?;
        if !text.contains(from) {
            bail!("the demo's configuration has no {from}");
        }
        Ok(std::fs::write(&path, text.replace(from, to))?)
    }

    /// Starts `oncehook dev` anew over the same data; `doomed` dies at its first wake-up.
    pub(super) async fn restart(&mut self, doomed: bool) -> anyhow::Result<()> {
        if let Some(mut process) = self.process.take() {
            process.kill().await?;
        }
        let data = self.data();
        Running::remove(&data);
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg("--config")
            .arg(self.folder.path().join("oncehook.toml"))
            .args(["dev", "--port", "0", "--data"])
            .arg(&data)
            .env("ONCEHOOK_SECRET_STRIPE", SECRET)
            .env("ONCEHOOK_SECRET_MAIL", "re_for_the_demo_only")
            .env("ONCEHOOK_URL_MAIL", format!("{}/emails", self.mail.endpoint()))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true);
        if doomed {
            command.arg("--die-before-wake");
        }
        self.process = Some(command.spawn().context("starting oncehook dev")?);
        let running = self.wait_until_running().await?;
        let client = oncehook_edge::local_dynamodb(&running.endpoint);
        self.ledger = Some(Ledger::new(client, running.table.clone(), Default::default(), 1));
        self.running = Some(running);
        Ok(())
    }

    async fn wait_until_running(&mut self) -> anyhow::Result<Running> {
        for _ in 0..200 {
            if let Ok(running) = Running::read(&self.data()) {
                return Ok(running);
            }
            if let Some(ended) = self.process.as_mut().map(Child::try_wait).transpose()?.flatten() {
                let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                bail!("oncehook dev ended with {ended}:\n{log}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("oncehook dev did not start within 10 seconds")
    }

    /// Waits until the process has ended by itself, and says how.
    pub(super) async fn wait_for_death(&mut self, limit: Duration) -> anyhow::Result<String> {
        let process = self.process.as_mut().context("no process")?;
        let status = tokio::time::timeout(limit, process.wait())
            .await
            .context("the process did not die")??;
        Ok(how_it_ended(status))
    }

    /// A payload signed as Stripe would, `seconds` from now.
    pub(super) fn signed(&self, payload: &Value, seconds: i64) -> anyhow::Result<Prepared> {
        self.prepare(SECRET, payload, seconds)
    }

    /// A payload signed by somebody without the secret.
    pub(super) fn forged(&self, payload: &Value) -> anyhow::Result<Prepared> {
        self.prepare("whsec_a_guess", payload, 0)
    }

    fn prepare(&self, secret: &str, payload: &Value, seconds: i64) -> anyhow::Result<Prepared> {
        let config = Config::parse(CONFIG, "oncehook.toml").map_err(|errors| anyhow::anyhow!("{errors}"))?;
        let (secret, _) = Secret::new("stripe", secret)?;
        let source = Source::new(config.sources.get("stripe").context("no source")?, vec![secret])?;
        let body = Bytes::from(payload.to_string());
        let at: Timestamp = SystemClock.now() + SignedDuration::from_secs(seconds);
        let mut headers = source.sign("", "", &body, at, &HeaderMap::new())?;
        headers.insert(
            http::header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        Ok(Prepared { headers, body })
    }

    /// Posts a request on a connection of its own.
    pub(super) async fn post(&self, request: &Prepared) -> anyhow::Result<Answer> {
        let url = format!("{}/webhooks/stripe", self.running()?.url);
        let post::Answer {
            status,
            replayed,
            outcome,
            body,
        } = post::post(&url, &request.headers, request.body.clone()).await?;
        Ok(Answer {
            status,
            replayed,
            outcome: outcome.unwrap_or_default(),
            body,
        })
    }

    /// Waits until so many effects in all are delivered.
    pub(super) async fn settle(&self, what: &str, effects: usize) -> anyhow::Result<()> {
        for _ in 0..600 {
            let (_, outbox) = self.ledger()?.scan(&EventFilter::default()).await?;
            if outbox.iter().filter(|view| view.state == "done").count() >= effects {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        bail!("{what} was not delivered within a minute:\n{log}")
    }

    /// How many events are stored.
    pub(super) async fn stored(&self) -> anyhow::Result<usize> {
        Ok(self.ledger()?.scan(&EventFilter::default()).await?.0.len())
    }

    /// A row of a business table.
    pub(super) async fn row(&self, table: &str, key: &str, value: &str) -> anyhow::Result<Value> {
        let rows = self.ledger()?.rows(table).await?;
        Ok(rows.into_iter().find(|row| row[key] == value).unwrap_or_default())
    }

    /// A customer's balance, as text.
    pub(super) async fn balance(&self, customer: &str) -> anyhow::Result<String> {
        Ok(self.row("accounts", "customer_id", customer).await?["balance"].to_string())
    }

    /// Why the first rule of an event was skipped.
    pub(super) async fn why_skipped(&self, id: &str) -> anyhow::Result<String> {
        let record = self.record(id).await?;
        Ok(record
            .rules
            .into_iter()
            .find_map(|rule| rule.skipped)
            .unwrap_or_default())
    }

    /// Why an event failed.
    pub(super) async fn reason(&self, id: &str) -> anyhow::Result<String> {
        Ok(self.record(id).await?.reason.unwrap_or_default())
    }

    async fn record(&self, id: &str) -> anyhow::Result<Record> {
        let filter = EventFilter {
            id: Some(id.to_owned()),
            source: None,
        };
        let (events, _) = self.ledger()?.scan(&filter).await?;
        Ok(events
            .into_iter()
            .next()
            .with_context(|| format!("no event {id}"))?
            .record)
    }

    /// Mails that went out to a customer.
    pub(super) fn mails_to(&self, customer: &str) -> usize {
        let to = format!("{customer}@example.com");
        self.mail
            .mails()
            .iter()
            .filter(|mail| mail.body["to"] == to)
            .count()
    }

    /// The idempotency keys of all calls for a customer's mails, in order.
    pub(super) fn keys_to(&self, customer: &str) -> Vec<String> {
        let to = format!("{customer}@example.com");
        self.mail
            .calls()
            .into_iter()
            .filter(|call| call.body["to"] == to)
            .filter_map(|call| call.key)
            .collect()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn running(&self) -> anyhow::Result<&Running> {
        self.running.as_ref().context("oncehook dev is not running")
    }

    fn ledger(&self) -> anyhow::Result<&Ledger> {
        self.ledger.as_ref().context("oncehook dev is not running")
    }

    fn pause(&self, millis: u64) {
        if self.pauses {
            std::thread::sleep(Duration::from_millis(millis));
        }
    }
}

fn how_it_ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("exit {}", status.code().unwrap_or_default()),
    }
}
