//! Wires the drain function to Lambda.

use std::{convert::Infallible, sync::Arc, time::Duration};

use anyhow::Context;
use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use oncehook_drain::{Drain, handle};
use tokio::time::Instant;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let drain = start().await.map_err(|error| format!("{error:#}"))?;
    let drain = &drain;
    run(service_fn(|event: LambdaEvent<SqsEvent>| async move {
        let now = u64::try_from(drain.clock.now().as_millisecond()).unwrap_or_default();
        let left = Duration::from_millis(event.context.deadline.saturating_sub(now));
        Ok::<_, Infallible>(handle(drain, event.payload, Instant::now() + left).await)
    }))
    .await
}

async fn start() -> anyhow::Result<Drain> {
    let edge = oncehook_edge::start().await?;
    let secrets = edge.secrets().await;
    let signer = Arc::new(edge.signer());
    let drain = Drain::new(&edge.config, secrets, edge.ledger, edge.queue, edge.clock)
        .context("the root certificates of this system")?;
    Ok(drain.signed_by(&signer))
}
