//! Wires the ingest function to Lambda.

use std::sync::Arc;

use anyhow::Context;
use lambda_http::{Adapter, Error, LambdaEvent, request::LambdaRequest, service_fn, tower::util::MapRequest};
use oncehook_core::rules::Rules;
use oncehook_ingest::{Ingest, handle, presentable};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let ingest = start().await.map_err(|error| format!("{error:#}"))?;
    let answer = Adapter::from(service_fn(|request| async {
        Ok::<_, std::convert::Infallible>(handle(&ingest, request).await)
    }));
    let presentable = |event: LambdaEvent<LambdaRequest>| {
        let LambdaEvent { payload, context } = event;
        LambdaEvent::new(presentable(payload), context)
    };
    lambda_http::lambda_runtime::run(MapRequest::new(answer, presentable)).await
}

async fn start() -> anyhow::Result<Ingest> {
    let edge = oncehook_edge::start().await?;
    let rules = Rules::new(&edge.config).context("the rules of oncehook.toml")?;
    let secrets = edge.secrets().await;
    Ok(Ingest::new(
        &edge.config,
        secrets,
        Arc::new(rules),
        edge.ledger,
        edge.queue,
        edge.clock,
    ))
}
