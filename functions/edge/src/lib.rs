//! Where a function meets its surroundings: the embedded configuration, the environment, the system's clock,
//! clients and logs. Read once, at start; the rest of the code takes what it needs as arguments.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the edge: the one place that reads the clock and the environment"
)]

mod bucket;
mod clients;
mod connector;
mod environment;
pub mod metrics;
mod parameter;
mod provider_keys;
mod secrets;
mod signer;
mod store;
pub mod trace;
mod watching;

use std::sync::Arc;

use anyhow::Context;
use jiff::Timestamp;
use oncehook_core::{clock::Clock, config::Config};
use oncehook_store::{Ledger, Queue};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

pub use bucket::{BODIES, Bucket};
pub use clients::{aws, local_dynamodb, local_sqs, local_ssm};
pub use environment::{Environment, target_variable, unknown_targets, variable};
pub use provider_keys::ProviderKeys;
pub use secrets::{Malformed, Secrets};
pub use signer::{SignError, Signer, Unsigned};
pub use store::{SecretStore, Why};
pub use watching::Watching;

/// Everything a function starts with.
#[derive(Debug)]
pub struct Edge {
    /// oncehook.toml as embedded at build, URLs and targets as the environment says.
    pub config: Config,
    /// The table.
    pub ledger: Ledger,
    /// The queue of wake-ups.
    pub queue: Queue,
    /// The system's clock.
    pub clock: Arc<SystemClock>,
    aws: aws_config::SdkConfig,
    environment: Environment,
}

/// The variable with the name of the parameter that holds the secrets. Where it is not set, each secret has a variable
/// of its own.
pub const SECRETS_PARAMETER: &str = "ONCEHOOK_SECRETS_PARAMETER";

impl Edge {
    /// Signs what is sent to services of AWS that have no client here.
    #[must_use]
    pub fn signer(&self) -> Signer {
        Signer::new(&self.aws, &self.environment)
    }

    /// Reads the secrets, for a function that needs them. Succeeds without any: what needs one says so.
    pub async fn secrets(&self) -> Arc<SecretStore> {
        let parameter = self.environment.get(SECRETS_PARAMETER);
        Arc::new(match parameter.filter(|name| !name.trim().is_empty()) {
            Some(name) => {
                let client = aws_sdk_ssm::Client::new(&self.aws);
                SecretStore::open(client, name, self.clock.now()).await
            }
            None => SecretStore::fixed(Secrets::read(&self.config, &self.environment)),
        })
    }
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Reads everything but the secrets, once: logs first, so that the rest can complain.
///
/// # Errors
/// When a required variable is missing or the embedded configuration does not fit it; names the remedy.
pub async fn start() -> anyhow::Result<Edge> {
    let environment = Environment::process();
    start_logs(&environment);
    let config = embedded(&environment)?;
    for variable in unknown_targets(&config, std::env::vars_os()) {
        tracing::warn!(%variable, "no destination of oncehook.toml has this name");
    }
    let aws = clients::of_environment(&environment);
    let table = environment.require("ONCEHOOK_TABLE", "the name of Oncehook's table")?;
    let url = environment.require("ONCEHOOK_QUEUE_URL", "the URL of the queue of wake-ups")?;
    let dynamodb = aws_sdk_dynamodb::Client::new(&aws);
    let client = aws_sdk_sqs::Client::new(&aws);
    let mut ledger = Ledger::new(dynamodb, table, environment.tables(&config), config.shards);
    if let Some(name) = environment.get(BODIES).filter(|name| !name.trim().is_empty()) {
        let signer = Signer::new(&aws, &environment);
        ledger = ledger.with_bodies(Arc::new(Bucket::new(signer, name)));
    }
    let queue = Queue::Sqs { client, url };
    Ok(Edge {
        config,
        ledger,
        queue,
        clock: Arc::new(SystemClock),
        aws,
        environment,
    })
}

/// The configuration embedded at build.
///
/// # Errors
/// When the environment names a URL, queue, function or bus that a destination cannot have.
pub fn embedded(environment: &Environment) -> anyhow::Result<Config> {
    let mut config = Config::parse(include_str!(env!("ONCEHOOK_EMBEDDED")), "oncehook.toml")
        .context("the embedded oncehook.toml")?;
    environment.override_targets(&mut config)?;
    Ok(config)
}

/// JSON lines on standard output, at the level of `ONCEHOOK_LOG` (default `info`); metrics, and spans if they are wanted, at
/// every level.
fn start_logs(environment: &Environment) {
    let asked = environment.get("ONCEHOOK_LOG");
    let filter: Targets = asked
        .and_then(|asked| asked.parse().ok())
        .unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let lines = fmt::layer().json().flatten_event(true).with_target(false);
    let _already_set = tracing_subscriber::registry().with(filter).with(lines).try_init();
    trace::start(environment.get(trace::TRACING).as_deref(), metrics::to_log);
    let namespace = environment.get(metrics::NAMESPACE);
    metrics::start(
        namespace.unwrap_or_else(|| "Oncehook".to_owned()),
        metrics::to_log,
    );
}
