//! Which database `events` and `outbox` read: that of a running `oncehook dev`, or the one on AWS.
//!
//! Reads only; it creates and changes nothing.

use std::{path::PathBuf, time::Duration};

use anyhow::bail;
use http::Uri;
use oncehook_edge::Environment;
use oncehook_store::Ledger;
use tokio::net::TcpStream;

use crate::running::{DIRECTORY, Running};

/// Where to read.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Where to read")]
pub(crate) struct Storage {
    /// A DynamoDB endpoint [default: the running `oncehook dev`, or AWS if a table is given].
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Oncehook's table [default: ONCEHOOK_TABLE, or that of the running `oncehook dev`].
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
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
            data: DIRECTORY.into(),
        }
    }

    /// The ledger.
    ///
    /// # Errors
    /// When nothing answers there; says what to do.
    pub(crate) async fn open(&self) -> anyhow::Result<Ledger> {
        let set = |name: &str| {
            Environment::process()
                .get(name)
                .filter(|value| !value.trim().is_empty())
        };
        let table = self.table.clone().or_else(|| set("ONCEHOOK_TABLE"));
        if let Some(endpoint) = &self.endpoint {
            if !answers(endpoint).await {
                bail!("nothing answers at {endpoint}");
            }
            return Ok(local(
                endpoint,
                table.unwrap_or_else(|| crate::dev::TABLE.to_owned()),
            ));
        }
        if let Some(table) = table {
            let client = aws_sdk_dynamodb::Client::new(&oncehook_edge::aws().await);
            return Ok(ledger(client, table));
        }
        match Running::read(&self.data) {
            Ok(running) if answers(&running.endpoint).await => Ok(local(&running.endpoint, running.table)),
            _ => bail!(
                "`oncehook dev` is not running in {}: start it, or give the folder of a running one with --data; \
                 for AWS set ONCEHOOK_TABLE or give --table",
                self.data.display()
            ),
        }
    }
}

fn local(endpoint: &str, table: String) -> Ledger {
    ledger(oncehook_edge::local_dynamodb(endpoint), table)
}

/// For reading alone the user's tables and the number of shards do not matter.
fn ledger(client: aws_sdk_dynamodb::Client, table: String) -> Ledger {
    Ledger::new(client, table, Default::default(), 1)
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
