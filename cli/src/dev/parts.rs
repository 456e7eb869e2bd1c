//! The three functions, wired to this process instead of Lambda, SQS and the scheduler.

use std::{sync::Arc, time::Duration};

use jiff::SignedDuration;
use oncehook_core::{clock::Clock, config::Config};
use oncehook_drain::Drain;
use oncehook_edge::{Environment, SecretStore, Secrets, Signer, SystemClock};
use oncehook_ingest::Ingest;
use oncehook_store::{Ledger, Queue, Wakeup};
use oncehook_sweep::Sweep;
use tokio::{sync::mpsc::UnboundedReceiver, time::Instant};

/// How often forgotten items are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(2);
/// As long as a Lambda invocation of drain may take.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);

/// The parts of a running `oncehook dev`.
pub(super) struct Parts {
    pub(super) ingest: Arc<Ingest>,
    pub(super) drain: Arc<Drain>,
    pub(super) sweep: Sweep,
    pub(super) clock: Arc<dyn Clock>,
}

/// Makes all three from one configuration.
pub(super) fn start(
    config: &Config,
    ledger: Ledger,
    queue: Queue,
    environment: &Environment,
    signer: Signer,
) -> anyhow::Result<Parts> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let secrets = Arc::new(SecretStore::fixed(Secrets::read(config, environment)));
    let rules = super::rules(config)?;
    let ingest = Ingest::new(
        config,
        Arc::clone(&secrets),
        rules,
        ledger.clone(),
        queue.clone(),
        Arc::clone(&clock),
    );
    let drain = Drain::new(config, secrets, ledger.clone(), queue.clone(), Arc::clone(&clock))?;
    let drain = drain.signed_by(&Arc::new(signer));
    let mut sweep = Sweep::new(config, ledger, queue);
    // One process: nobody else is about to wake what is due.
    sweep.grace = SignedDuration::from_secs(1);
    Ok(Parts {
        ingest: Arc::new(ingest),
        drain: Arc::new(drain),
        sweep,
        clock,
    })
}

/// Hands each wake-up to drain when its delay is over, as SQS would, one message an invocation.
pub(super) async fn drain_loop(drain: Arc<Drain>, mut wakeups: UnboundedReceiver<(Wakeup, Duration)>) {
    while let Some((wakeup, delay)) = wakeups.recv().await {
        let drain = Arc::clone(&drain);
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            let event = oncehook_local::queue::event(&[wakeup.to_json()]);
            // A failed item stays in the outbox; the sweep wakes it again.
            let _failures = oncehook_drain::handle(&drain, event, Instant::now() + DRAIN_LIMIT).await;
        });
    }
}

/// Looks for forgotten items, as the schedule would.
pub(super) async fn sweep_loop(sweep: Sweep, clock: Arc<dyn Clock>) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        ticks.tick().await;
        if let Err(error) = oncehook_sweep::handle(&sweep, clock.now()).await {
            tracing::error!(%error, "sweep");
        }
    }
}
