//! Wires the sweep function to Lambda; EventBridge Scheduler calls it.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use oncehook_core::clock::Clock;
use oncehook_sweep::{Sweep, handle};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let edge = oncehook_edge::start()
        .await
        .map_err(|error| format!("{error:#}"))?;
    let sweep = Sweep::new(&edge.config, edge.ledger, edge.queue);
    let (sweep, clock) = (&sweep, &edge.clock);
    run(service_fn(|_: LambdaEvent<serde_json::Value>| async move {
        let report = handle(sweep, clock.now()).await?;
        Ok::<_, Error>(serde_json::json!({ "woken": report.woken, "held_back": report.held_back }))
    }))
    .await
}
