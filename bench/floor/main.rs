//! The floors: what a function must cost that does nothing, and one that does nothing but write the same items.
//!
//! `BENCH_FLOOR=bare` answers 200. `3` and `4` first write so many items in one TransactWriteItems: the event, a guard,
//! the business row, and the outbox item. `BENCH_LOOP=n` makes the call n times without Lambda and prints each
//! one's microseconds. It verifies nothing, reads nothing and logs nothing.
#![expect(clippy::print_stdout, reason = "the times of the loop are for the harness")]

use std::time::Instant;

use anyhow::Context;
use aws_config::{BehaviorVersion, retry::RetryConfig};
use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, Put, TransactWriteItem, Update},
};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, rustls_provider::CryptoMode},
};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use oncehook_edge::Environment;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let environment = Environment::process();
    let items = match environment.get("BENCH_FLOOR").as_deref() {
        Some("3") => 3,
        Some("4") => 4,
        _ => 0,
    };
    if items == 0 {
        return run(service_fn(|_: LambdaEvent<Value>| async {
            Ok::<_, Error>(answer())
        }))
        .await;
    }
    let http = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .retry_config(RetryConfig::disabled())
        .load()
        .await;
    let client = Client::new(&config);
    if let Some(times) = environment
        .get("BENCH_LOOP")
        .and_then(|text| text.parse::<u32>().ok())
    {
        for _ in 0..times {
            let started = Instant::now();
            write(&client, items, "{}").await?;
            println!("{}", started.elapsed().as_micros());
        }
        return Ok(());
    }
    let client = &client;
    run(service_fn(move |event: LambdaEvent<Value>| async move {
        let body = event
            .payload
            .get("body")
            .and_then(Value::as_str)
            .unwrap_or_default();
        write(client, items, body).await?;
        Ok::<_, Error>(answer())
    }))
    .await
}

fn answer() -> Value {
    json!({ "statusCode": 200, "headers": { "content-type": "application/json" }, "body": "{}", "isBase64Encoded": false })
}

/// The same kinds of items under the same kinds of keys as the rules of oncehook.toml write.
async fn write(client: &Client, items: usize, body: &str) -> anyhow::Result<()> {
    let id = uuid::Uuid::new_v4().to_string();
    let text = |value: &str| AttributeValue::S(value.to_owned());
    let put =
        |pk: String, sk: &str, rest: Vec<(&str, AttributeValue)>| -> anyhow::Result<TransactWriteItem> {
            let mut put = Put::builder()
                .table_name("oncehook")
                .condition_expression("attribute_not_exists(pk)")
                .item("pk", AttributeValue::S(pk))
                .item("sk", text(sk));
            for (name, value) in rest {
                put = put.item(name, value);
            }
            Ok(TransactWriteItem::builder().put(put.build()?).build())
        };
    let pk = format!("event#floor##{id}");
    let row = Update::builder()
        .table_name("accounts")
        .key("customer_id", AttributeValue::S(format!("cus_{id}")))
        .update_expression("ADD balance :amount")
        .expression_attribute_values(":amount", AttributeValue::N("5000".to_owned()))
        .build()?;
    let mut actions = vec![
        put(
            pk.clone(),
            "event",
            vec![("body", text(body)), ("kind", text("floor"))],
        )?,
        put(format!("once#floor#{id}"), "once", vec![("event", text(&pk))])?,
        TransactWriteItem::builder().update(row).build(),
    ];
    if items > 3 {
        let rest = vec![
            ("request", text(body)),
            // No destination of oncehook.toml: a sweep of the same table must not find it.
            ("work", text("open#floor#0")),
            ("work_at", AttributeValue::N("1".to_owned())),
        ];
        actions.push(put(pk, "outbox#credit#receipt", rest)?);
    }
    let call = client.transact_write_items().set_transact_items(Some(actions));
    call.send().await.context("the transaction")?;
    Ok(())
}
