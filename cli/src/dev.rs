//! `oncehook dev`: the whole of Oncehook in one process, without Docker or an AWS account.
//!
//! The functions' own handlers behind a stand-in for API Gateway, an embedded DynamoDB in a folder, a queue in
//! memory. Nothing of the rules is written again here, and nothing turns verification off. The page that shows what
//! happens is `inspect`'s.

mod inspect;
mod mask;
mod parts;
mod tables;
mod watch;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use clap::Args as ClapArgs;
use oncehook_core::{
    clock::Clock,
    config::{Config, Kind},
    rules::Rules,
    timing::BODIES_BEYOND_RETENTION,
};
use oncehook_edge::{Environment, Secrets, Signer, SystemClock};
use oncehook_ingest::Ingest;
use oncehook_local::{database::Database, gateway::Gateway, mail::MailServer, services::Services};
use oncehook_store::{Folder, Ledger, Queue, Wakeup};
use tokio::{net::TcpListener, sync::mpsc};
use tracing_subscriber::{
    Layer as _, filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use self::{inspect::Inspect, mask::Mask, watch::Watch};
use crate::{configuration, output, running::Running, secrets, storage};

/// The name of Oncehook's table in the embedded database.
pub(crate) const TABLE: &str = "oncehook";
/// The folder, inside its own, of bodies that are too large for the table.
pub(crate) const BODIES: &str = "bodies";

/// Receive webhooks on this machine: HTTP at /webhooks/{source}, all state in one folder.
///
/// Destinations are replaced by a fake API that honours idempotency keys and shows what it got, unless their
/// URL is on this machine, comes from ONCEHOOK_URL_{NAME}, or --live is given. Queues, functions and buses are replaced by
/// a stand-in that keeps what it got, unless --live is given or AWS_ENDPOINT_URL names an emulator.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  oncehook dev\n  oncehook send stripe invoice.payment_succeeded\n  \
                        stripe listen --forward-to localhost:3000/webhooks/stripe"
)]
pub(crate) struct Args {
    /// The port to listen on; 0 takes any free one.
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// The folder for the database; survives restarts.
    #[arg(long, default_value = ".oncehook")]
    data: PathBuf,
    /// Call the destinations as configured, not the fake API.
    #[arg(long)]
    live: bool,
    /// Kill this process at its first wake-up, with SIGKILL: what a crash right after a commit looks like.
    #[arg(long, hide = true)]
    die_before_wake: bool,
}

/// Runs until interrupted.
pub(crate) async fn run(config_path: &Path, args: Args) -> anyhow::Result<()> {
    let watch = Watch::default();
    start_logs(&watch);
    let text = std::fs::read_to_string(config_path).unwrap_or_default();
    let mut config = configuration::load(config_path)?;
    let environment = secrets::environment_of(&config);
    environment.override_targets(&mut config)?;
    for variable in oncehook_edge::unknown_targets(&config, std::env::vars_os()) {
        output::note(format!(
            "warning: {variable} is set, and no destination of {} has this name",
            config_path.display()
        ));
    }

    if let Ok(other) = Running::read(&args.data)
        && storage::answers(&other.endpoint).await
    {
        anyhow::bail!(
            "`oncehook dev` already runs in {} at {}: stop it, or give this one another folder with --data",
            args.data.display(),
            other.url
        );
    }
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], args.port)))
        .await
        .with_context(|| format!("port {} is taken: give another with --port", args.port))?;
    std::fs::create_dir_all(&args.data)
        .with_context(|| format!("cannot make the folder {}", args.data.display()))?;
    let database = Database::start(Some(&args.data.join("dynamodb.sqlite")))?;
    let mail = MailServer::start(None)?;
    let services = Services::start(None)?;
    if !args.live {
        redirect(&mut config, &environment, &mail.endpoint())?;
    }
    let signer = signer(&config, &environment, &services, args.live).await?;
    let client = oncehook_edge::local_dynamodb(&database.endpoint());
    oncehook_store::create_table(&client, TABLE).await?;
    tables::create(&client, &config, &environment).await?;
    let ledger = Ledger::new(
        client,
        TABLE.to_owned(),
        environment.tables(&config),
        config.shards,
    )
    .with_bodies(large_bodies(&args.data, &config)?);

    let url = format!("http://{}", listener.local_addr()?);
    let running = Running {
        endpoint: database.endpoint(),
        table: TABLE.to_owned(),
        url: url.clone(),
        mail: mail.endpoint(),
        services: services.endpoint(),
        live: args.live,
    };
    running.write(&args.data)?;
    crate::stats::lines::keep(&args.data)?;
    greet(&url, &config, &running);

    let (sender, receiver) = mpsc::unbounded_channel();
    let mask = Arc::new(Mask::new(&config, &Secrets::read(&config, &environment)));
    let queue = Queue::Local(sender);
    let inspect = Inspect {
        file: config_path.to_owned(),
        text,
        running,
        data: args.data.clone(),
        ledger: ledger.clone(),
        queue: queue.clone(),
        client: oncehook_drain::client().context("the system's certificates")?,
        watch,
        mask,
        started: SystemClock.now(),
        cache: Default::default(),
    };
    let parts = parts::start(&config, ledger, queue, &environment, signer)?;
    if args.die_before_wake {
        std::thread::spawn(move || die_at_first(receiver));
    } else {
        tokio::spawn(parts::drain_loop(Arc::clone(&parts.drain), receiver));
        tokio::spawn(parts::sweep_loop(parts.sweep, Arc::clone(&parts.clock)));
    }
    serve(listener, parts.ingest, Arc::new(inspect)).await;
    Running::remove(&args.data);
    Ok(())
}

/// The folder of bodies that are too large for the table; what nothing names any more goes at start.
fn large_bodies(data: &Path, config: &Config) -> anyhow::Result<Arc<Folder>> {
    let folder = Folder::new(data.join(BODIES));
    let longest = config.sources.values().map(|source| source.retention).max();
    folder
        .expire(
            longest.unwrap_or_default() + BODIES_BEYOND_RETENTION,
            SystemClock.now(),
        )
        .with_context(|| format!("cannot look through {}", data.join(BODIES).display()))?;
    Ok(Arc::new(folder))
}

async fn serve(listener: TcpListener, ingest: Arc<Ingest>, inspect: Arc<Inspect>) {
    let (watch, mask) = (inspect.watch.clone(), Arc::clone(&inspect.mask));
    let handler = move |request| {
        let (ingest, watch, mask) = (Arc::clone(&ingest), watch.clone(), Arc::clone(&mask));
        async move {
            let handle = async |request| oncehook_ingest::handle(&ingest, request).await;
            watch.request(&mask, request, handle).await
        }
    };
    let page = move |request| {
        let inspect = Arc::clone(&inspect);
        async move { inspect.answer(request).await }
    };
    Gateway::new(|| SystemClock.now())
        .beside(page)
        .serve(listener, handler, interrupted())
        .await;
}

/// Ends when the process is asked to, by Ctrl-C or SIGTERM. Without a signal handler it just dies, as by default.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        _ => std::future::pending().await,
    }
}

/// Sends what would leave this machine to the fake API instead.
pub(crate) fn redirect(config: &mut Config, environment: &Environment, mail: &str) -> anyhow::Result<()> {
    let remote: Vec<String> = config
        .destinations
        .iter()
        .filter(|(name, destination)| {
            destination.kind == Kind::Http
                && destination.url.starts_with("https://")
                && environment.get(&oncehook_edge::variable("URL", name)).is_none()
        })
        .map(|(name, _)| name.clone())
        .collect();
    for name in remote {
        config
            .override_url(&name, &format!("{mail}/emails"))
            .map_err(|why| anyhow::anyhow!(why))?;
    }
    let unnamed: Vec<(String, &str)> = config
        .destinations
        .values()
        .filter(|destination| destination.kind.is_aws() && destination.url.is_empty())
        .map(|destination| {
            let end = if destination.kind == (Kind::Sqs { fifo: true }) {
                ".fifo"
            } else {
                ""
            };
            (destination.name.clone(), end)
        })
        .collect();
    for (name, end) in unnamed {
        let queue = format!("https://sqs.us-east-1.amazonaws.com/000000000000/{name}{end}");
        config
            .override_target(&name, &queue)
            .map_err(|why| anyhow::anyhow!(why))?;
    }
    Ok(())
}

/// Signs calls of AWS: for AWS itself if asked to, or for an emulator that the environment names; else for the stand-in.
async fn signer(
    config: &Config,
    environment: &Environment,
    services: &Services,
    live: bool,
) -> anyhow::Result<Signer> {
    let mut targets = config
        .destinations
        .values()
        .filter(|destination| destination.kind.is_aws());
    if live && let Some(destination) = targets.find(|destination| destination.url.is_empty()) {
        anyhow::bail!(
            "[destination.{}] has no {}: set {}",
            destination.name,
            destination.kind.target(),
            oncehook_edge::target_variable(destination)
        );
    }
    let named = ["", "_SQS", "_LAMBDA", "_EVENTBRIDGE"]
        .iter()
        .any(|end| environment.get(&format!("AWS_ENDPOINT_URL{end}")).is_some());
    if live || named {
        return Ok(Signer::new(&oncehook_edge::aws().await, environment));
    }
    Ok(Signer::local(&services.endpoint()))
}

/// Readable lines on standard error, one for each event and attempt; the page hears them, too, whatever is filtered.
fn start_logs(watch: &Watch) {
    let usual = "warn,dynoxide=error,oncehook_ingest=info,oncehook_drain=info,oncehook_edge=error";
    let asked = Environment::process().get("ONCEHOOK_LOG");
    let filter: Targets = asked
        .and_then(|asked| asked.parse().ok())
        .unwrap_or_else(|| usual.parse().unwrap_or_default());
    let lines = tracing_subscriber::fmt::layer()
        .compact()
        .with_target(false)
        .with_writer(std::io::stderr)
        .with_filter(filter);
    tracing_subscriber::registry()
        .with(lines)
        .with(watch.layer())
        .init();
}

fn greet(url: &str, config: &Config, running: &Running) {
    println!("oncehook dev, ready:");
    for name in config.sources.keys() {
        println!("  {url}/webhooks/{name}");
    }
    println!("  the page that shows what happens: {url}{}", inspect::PAGE);
    println!("  fake API for destinations: {}/emails", running.mail);
    if config
        .destinations
        .values()
        .any(|destination| destination.kind.is_aws())
        && !running.live
    {
        println!(
            "  stand-in for queues, functions and buses: {}/messages",
            running.services
        );
    }
    println!("  DynamoDB: {} (table {})", running.endpoint, running.table);
    println!("Try: oncehook send SOURCE KIND; oncehook events; oncehook outbox. Stop with Ctrl-C.");
}

/// Waits for the first wake-up, then dies as hard as a process can.
fn die_at_first(mut receiver: mpsc::UnboundedReceiver<(Wakeup, Duration)>) {
    if receiver.blocking_recv().is_some() {
        let _killed = Command::new("kill")
            .args(["-9", &std::process::id().to_string()])
            .status();
        std::process::abort();
    }
}

/// What a handler of rules needs, for both `dev` and its tests.
pub(crate) fn rules(config: &Config) -> anyhow::Result<Arc<Rules>> {
    Ok(Arc::new(
        Rules::new(config).map_err(|error| anyhow::anyhow!("{error}"))?,
    ))
}
