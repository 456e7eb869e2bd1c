use std::time::{Duration, Instant};

use aws_sdk_dynamodb::{
    Client, error::ProvideErrorMetadata, operation::transact_write_items::TransactWriteItemsError,
};
use oncehook_local::{
    database::Database,
    faults::{Fault, Proxy, Reason},
};
use serde_json::json;

use crate::sdk::{self, TABLE, put_if_absent, s};

const TRANSACT: &str = "TransactWriteItems";

async fn start() -> (Database, Proxy, Client) {
    let database = Database::start(None).unwrap();
    let proxy = Proxy::start(&database.endpoint()).unwrap();
    let client = sdk::client(&proxy.endpoint());
    sdk::create_table(&client).await;
    (database, proxy, client)
}

async fn put(client: &Client, note: &str) -> Result<(), TransactWriteItemsError> {
    let put = client
        .transact_write_items()
        .transact_items(put_if_absent("a", note))
        .send()
        .await;
    put.map(drop).map_err(|error| error.into_service_error())
}

#[tokio::test]
async fn a_scripted_cancellation_has_its_reasons_and_items() {
    let (_database, proxy, client) = start().await;
    let item = json!({ "pk": { "S": "a" }, "note": { "S": "theirs" } });
    proxy.fault(
        TRANSACT,
        Fault::canceled(&[
            Reason::none(),
            Reason::condition_failed(Some(item)),
            Reason::conflict(),
        ]),
    );
    let error = put(&client, "mine").await.unwrap_err();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else {
        panic!("{error:?}")
    };
    let reasons = cancelled.cancellation_reasons();
    let codes = reasons
        .iter()
        .map(|reason| reason.code().unwrap())
        .collect::<Vec<_>>();
    assert_eq!(codes, ["None", "ConditionalCheckFailed", "TransactionConflict"]);
    assert_eq!(reasons[1].item().unwrap()["note"], s("theirs"));
    assert_eq!(reasons[2].message(), Some("Transaction is ongoing for the item"));
    assert!(
        cancelled
            .message()
            .unwrap()
            .ends_with("[None, ConditionalCheckFailed, TransactionConflict]")
    );
    assert_eq!(sdk::note(&client, "a").await, None);
}

#[tokio::test]
async fn the_sdk_knows_every_canned_error() {
    let (_database, proxy, client) = start().await;
    let cases = [
        (Fault::throttling(), "ThrottlingException"),
        (
            Fault::throughput_exceeded(),
            "ProvisionedThroughputExceededException",
        ),
        (Fault::transaction_conflict(), "TransactionConflictException"),
        (Fault::condition_failed(None), "ConditionalCheckFailedException"),
        (Fault::table_missing(), "ResourceNotFoundException"),
        (Fault::access_denied("PutItem"), "AccessDeniedException"),
        (Fault::validation("no"), "ValidationException"),
        (Fault::internal_error(), "InternalServerError"),
    ];
    for (fault, code) in cases {
        proxy.fault("PutItem", fault);
        let put = client
            .put_item()
            .table_name(TABLE)
            .item("pk", s("a"))
            .item("sk", s("event"));
        let error = put.send().await.unwrap_err().into_service_error();
        assert_eq!(error.code(), Some(code));
        assert!(error.message().is_some(), "{code}");
    }
    proxy.fault(TRANSACT, Fault::transaction_in_progress());
    assert!(
        put(&client, "x")
            .await
            .unwrap_err()
            .is_transaction_in_progress_exception()
    );
    assert_eq!((proxy.count("PutItem"), proxy.unmet()), (8, 0));
}

#[tokio::test]
async fn a_lost_answer_acted_and_a_refused_request_did_not() {
    let (_database, proxy, client) = start().await;
    proxy.fault(TRANSACT, Fault::Refuse);
    proxy.fault(TRANSACT, Fault::LoseAnswer);
    let send = |note: &str| {
        client
            .transact_write_items()
            .transact_items(put_if_absent("a", note))
            .send()
    };

    let refused = send("first").await.unwrap_err();
    assert!(refused.as_service_error().is_none(), "{refused:?}");
    assert_eq!(sdk::note(&client, "a").await, None);

    let lost = send("second").await.unwrap_err();
    assert!(lost.as_service_error().is_none(), "{lost:?}");
    assert_eq!(sdk::note(&client, "a").await.as_deref(), Some("second"));

    assert_eq!(
        proxy.operations(),
        ["CreateTable", TRANSACT, "GetItem", TRANSACT, "GetItem"]
    );
    assert_eq!(
        proxy.seen()[1].json()["TransactItems"][0]["Put"]["TableName"],
        TABLE
    );
}

#[tokio::test]
async fn the_nth_request_meets_the_fault_meant_for_it() {
    let (_database, proxy, client) = start().await;
    proxy.fault_at(TRANSACT, 2, Fault::internal_error().acting());
    let other = client
        .transact_write_items()
        .transact_items(put_if_absent("other", "x"));
    other.send().await.unwrap();
    assert!(put(&client, "kept").await.unwrap_err().is_internal_server_error());
    assert_eq!(sdk::note(&client, "a").await.as_deref(), Some("kept"));
}

#[tokio::test]
async fn requests_can_be_late_or_hang() {
    let (_database, proxy, client) = start().await;
    proxy.fault(TRANSACT, Fault::Delay(Duration::from_millis(80)));
    let began = Instant::now();
    put(&client, "late").await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(80));

    proxy.fault("GetItem", Fault::Hang);
    let read = sdk::note(&client, "a");
    assert!(
        tokio::time::timeout(Duration::from_millis(150), read)
            .await
            .is_err()
    );
}
