//! Which database commands work on: that of a running `oncehook dev`, or the one on AWS.
//!
//! Creates and changes nothing itself.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::bail;
use http::Uri;
use oncehook_core::config::Config;
use oncehook_edge::{Bucket, Environment, Signer};
use oncehook_store::{Bodies, Folder, Ledger, Queue};
use tokio::net::TcpStream;

use crate::running::{DIRECTORY, Running};

/// The longest that one call of AWS may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where the events are.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Where the events are")]
pub(crate) struct Storage {
    /// A DynamoDB endpoint [default: the running `oncehook dev`, or AWS if a table is given].
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Oncehook's table [default: ONCEHOOK_TABLE, or that of the running `oncehook dev`].
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// The bucket of bodies above 64 KiB [default: ONCEHOOK_BODIES]; the stack's output BodiesBucket.
    #[arg(long, value_name = "NAME")]
    bodies: Option<String>,
    /// The folder of `oncehook dev`.
    #[arg(long, value_name = "FOLDER", default_value = DIRECTORY)]
    data: PathBuf,
}

impl Storage {
    /// This endpoint and table, where given; the folder of `oncehook dev` is the usual one.
    pub(crate) fn at(endpoint: Option<String>, table: Option<String>) -> Self {
        Self {
            endpoint,
            table,
            bodies: None,
            data: DIRECTORY.into(),
        }
    }

    /// The ledger, for reading.
    ///
    /// # Errors
    /// When nothing answers there; says what to do.
    pub(crate) async fn open(&self) -> anyhow::Result<Ledger> {
        Ok(self.place().await?.ledger(None))
    }

    /// The database, and whose it is.
    ///
    /// # Errors
    /// When nothing answers there; says what to do.
    pub(crate) async fn place(&self) -> anyhow::Result<Place> {
        let set = |name: &str| {
            Environment::process()
                .get(name)
                .filter(|value| !value.trim().is_empty())
        };
        let table = self.table.clone().or_else(|| set("ONCEHOOK_TABLE"));
        let bucket = self.bodies.clone().or_else(|| set(oncehook_edge::BODIES));
        let running = Running::read(&self.data);
        if let Some(endpoint) = &self.endpoint {
            if !answers(endpoint).await {
                bail!("nothing answers at {endpoint}");
            }
            let dev = running.ok().filter(|running| running.endpoint == *endpoint);
            let bucket = bucket.map(|name| bucket_of(Signer::local(endpoint), name));
            return Ok(Place {
                client: oncehook_edge::local_dynamodb(endpoint),
                table: table.unwrap_or_else(|| crate::dev::TABLE.to_owned()),
                bodies: bucket.or_else(|| dev.is_some().then(|| folder(&self.data))),
                local: true,
                dev,
            });
        }
        if let Some(table) = table {
            let aws = aws().await;
            let signer = Signer::new(&aws, &Environment::process());
            return Ok(Place {
                client: aws_sdk_dynamodb::Client::new(&aws),
                table,
                bodies: bucket.map(|name| bucket_of(signer, name)),
                local: false,
                dev: None,
            });
        }
        match running {
            Ok(running) if answers(&running.endpoint).await => Ok(Place::of_dev(running, &self.data)),
            _ => bail!(
                "`oncehook dev` is not running in {}: start it, or give the folder of a running one with --data; \
                 for AWS set ONCEHOOK_TABLE or give --table, the stack's output TableName",
                self.data.display()
            ),
        }
    }
}

/// A database that answers, and whose it is.
pub(crate) struct Place {
    client: aws_sdk_dynamodb::Client,
    table: String,
    /// Where bodies lie that are too large for the table, if anything says so.
    bodies: Option<Arc<dyn Bodies>>,
    /// On this machine: reading all of it costs nothing.
    pub(crate) local: bool,
    /// That of this `oncehook dev`.
    pub(crate) dev: Option<Running>,
}

impl Place {
    /// That of an `oncehook dev`, which is known to run.
    pub(crate) fn of_dev(running: Running, data: &Path) -> Self {
        Self {
            client: oncehook_edge::local_dynamodb(&running.endpoint),
            table: running.table.clone(),
            bodies: Some(folder(data)),
            local: true,
            dev: Some(running),
        }
    }

    /// The ledger. Acts need the configuration, for the user's tables and the shards; reading does not.
    pub(crate) fn ledger(&self, config: Option<&Config>) -> Ledger {
        let tables = config.map(|config| Environment::process().tables(config));
        let ledger = Ledger::new(
            self.client.clone(),
            self.table.clone(),
            tables.unwrap_or_default(),
            config.map_or(1, |config| config.shards),
        );
        match &self.bodies {
            Some(bodies) => ledger.with_bodies(Arc::clone(bodies)),
            None => ledger,
        }
    }

    /// What wakes the drain there at once, if its queue is named; a sweep does it otherwise.
    pub(crate) async fn queue(&self) -> Option<Queue> {
        let url = Environment::process().get("ONCEHOOK_QUEUE_URL");
        let url = url.filter(|url| !self.local && !url.trim().is_empty())?;
        let client = aws_sdk_sqs::Client::new(&aws().await);
        Some(Queue::Sqs { client, url })
    }
}

/// The bodies of the `oncehook dev` in this folder.
fn folder(data: &Path) -> Arc<dyn Bodies> {
    Arc::new(Folder::new(data.join(crate::dev::BODIES)))
}

fn bucket_of(signer: Signer, name: String) -> Arc<dyn Bodies> {
    Arc::new(Bucket::new(signer, name).patient(PATIENCE))
}

/// As functions call AWS, with more patience: a person's line may be slow.
async fn aws() -> aws_config::SdkConfig {
    let patient = aws_config::timeout::TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(5))
        .operation_attempt_timeout(PATIENCE)
        .build();
    let config = oncehook_edge::aws().await;
    config.into_builder().timeout_config(patient).build()
}

pub(crate) async fn answers(endpoint: &str) -> bool {
    let Ok(uri) = endpoint.parse::<Uri>() else {
        return false;
    };
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") {
        443
    } else {
        80
    });
    let Some(host) = uri.host() else { return false };
    let connect = TcpStream::connect((host.trim_matches(['[', ']']), port));
    tokio::time::timeout(Duration::from_secs(1), connect)
        .await
        .is_ok_and(|connected| connected.is_ok())
}
