//! What the harness needs beside the functions: `serve` is the store and the far ends, `core FILE SIGNATURE` the
//! throughput of verify, parse and plan over a body. Prints one line of JSON.
#![expect(clippy::print_stdout, reason = "the harness reads it")]

use std::{
    convert::Infallible,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use oncehook_core::{
    clock::Clock,
    config::Config,
    decide::{Decision, Mode, decide},
    request::SignedRequest,
    rules::Rules,
    secret::Secret,
    verify::{Received, Source},
};
use oncehook_edge::{SystemClock, local_dynamodb};
use oncehook_local::database::Database;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

/// What every far end of the destination takes.
const SLOW: Duration = Duration::from_millis(100);

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => serve().await,
        ["core", file, signature, secret, seconds] => core(file, signature, secret, seconds.parse()?),
        _ => bail!("usage: bench-tool serve | core FILE SIGNATURE SECRET SECONDS; `make bench` runs it"),
    }
}

/// The store with its tables, and one port with the queue and the slow destination. Runs until it is ended.
async fn serve() -> anyhow::Result<()> {
    let database = Database::start(None)?;
    let client = local_dynamodb(&database.endpoint());
    oncehook_store::create_table(&client, "oncehook").await?;
    for (table, key) in [
        ("accounts", "customer_id"),
        ("organizations", "organization_id"),
        ("idempotency", "id"),
        ("outbox", "id"),
    ] {
        client
            .create_table()
            .table_name(table)
            .attribute_definitions(
                AttributeDefinition::builder()
                    .attribute_name(key)
                    .attribute_type(ScalarAttributeType::S)
                    .build()?,
            )
            .key_schema(
                KeySchemaElement::builder()
                    .attribute_name(key)
                    .key_type(KeyType::Hash)
                    .build()?,
            )
            .billing_mode(BillingMode::PayPerRequest)
            .send()
            .await
            .context(table)?;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let far = format!("http://{}", listener.local_addr()?);
    println!("{}", json!({ "dynamodb": database.endpoint(), "far": far }));
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(connection(stream));
    }
}

async fn connection(stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    // An error is the client's leaving.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
}

/// SQS's answers to one message and to a batch, its count, and a destination that takes 100 ms.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let slow = request.uri().path() == "/slow";
    let operation = request
        .headers()
        .get("x-amz-target")
        .and_then(|value| value.to_str().ok());
    let operation = operation
        .and_then(|target| target.rsplit('.').next())
        .unwrap_or_default()
        .to_owned();
    let body = request
        .into_body()
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    let none = "00000000000000000000000000000000";
    let answer = match operation.as_str() {
        "SendMessageBatch" => {
            let entries = body["Entries"].as_array().cloned().unwrap_or_default();
            let sent: Vec<Value> = entries
                .iter()
                .map(|entry| json!({ "Id": entry["Id"], "MessageId": none, "MD5OfMessageBody": none }))
                .collect();
            json!({ "Successful": sent, "Failed": [] })
        }
        "SendMessage" => json!({ "MessageId": none, "MD5OfMessageBody": none }),
        "GetQueueAttributes" => json!({ "Attributes": { "ApproximateNumberOfMessages": "0" } }),
        _ => {
            if slow {
                tokio::time::sleep(SLOW).await;
            }
            json!({ "id": "accepted" })
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
    let kind = HeaderValue::from_static(if slow {
        "application/json"
    } else {
        "application/x-amz-json-1.0"
    });
    response.headers_mut().insert("content-type", kind);
    Ok(response)
}

fn core(file: &str, signature: &str, secret: &str, seconds: u64) -> anyhow::Result<()> {
    let config = Config::parse(include_str!("../../oncehook.toml"), "oncehook.toml")?;
    let rules = Rules::new(&config)?;
    let (secret, _) = Secret::new("stripe", secret)?;
    let settings = config
        .sources
        .get("stripe")
        .context("the source stripe of oncehook.toml")?;
    let source = Source::new(settings, vec![secret])?;
    let mut headers = HeaderMap::new();
    headers.insert("stripe-signature", signature.parse()?);
    let request = SignedRequest {
        method: Method::POST,
        path_and_query: "/webhooks/stripe".to_owned(),
        headers,
        body: std::fs::read(file)?.into(),
        source_ip: None,
    };
    let now = SystemClock.now();
    let bytes = request.body.len();
    let (mut rounds, started) = (0_u32, Instant::now());
    let (mut verifying, mut reading, mut planning) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    while started.elapsed() < Duration::from_secs(seconds) {
        let at = Instant::now();
        let verified = source.verify(request.clone(), now)?;
        verifying += at.elapsed();
        let at = Instant::now();
        let Received::Events(events) = source.events(verified) else {
            bail!("the fixture is a handshake");
        };
        reading += at.elapsed();
        let at = Instant::now();
        for event in &events {
            if !matches!(decide(Mode::Apply, None, &rules, event), Decision::Apply(_)) {
                bail!("the fixture is not applied");
            }
        }
        planning += at.elapsed();
        rounds += 1;
    }
    let share = |part: Duration| part.as_secs_f64() / f64::from(rounds);
    println!(
        "{}",
        json!({ "bytes": bytes, "rounds": rounds, "verify": share(verifying), "parse": share(reading), "plan": share(planning) })
    );
    Ok(())
}
