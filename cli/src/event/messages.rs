//! Wake-ups as SQS hands them to Drain, for items that are really in the table. Changes nothing there.

use anyhow::bail;
use oncehook_store::{EventFilter, Ledger, Wakeup};
use serde_json::{Value, json};
use uuid::Uuid;

/// The most messages that SQS hands over at once, as the template has it.
const BATCH: usize = 10;

/// A batch for the oldest open items, each record in the form of `like`.
///
/// # Errors
/// When nothing is open, or the table cannot be read.
pub(super) async fn from_outbox(ledger: &Ledger, like: &Value) -> anyhow::Result<Value> {
    let (_, items) = ledger.scan(&EventFilter::default()).await?;
    let open = items.into_iter().filter(|view| view.state == "open");
    let records: Vec<Value> = open
        .take(BATCH)
        .map(|view| {
            let wakeup = Wakeup {
                key: view.key,
                destination: view.item.destination,
                tenant: String::new(),
                probe: false,
            };
            record(like, &wakeup)
        })
        .collect();
    if records.is_empty() {
        bail!("nothing is open in this table: invoke Ingest with `oncehook event applied` first");
    }
    Ok(json!({ "Records": records }))
}

fn record(like: &Value, wakeup: &Wakeup) -> Value {
    let mut record = like.clone();
    let id = Uuid::new_v4();
    record["messageId"] = json!(id.to_string());
    record["receiptHandle"] = json!(format!("receipt-{}", id.simple()));
    record["body"] = json!(wakeup.to_json());
    if let Some(record) = record.as_object_mut() {
        // Of the body that was there.
        record.remove("md5OfBody");
    }
    record
}
