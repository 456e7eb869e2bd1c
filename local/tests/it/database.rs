use std::path::Path;

use aws_sdk_dynamodb::{
    Client,
    error::SdkError,
    operation::{put_item::PutItemError, transact_write_items::TransactWriteItemsError},
    types::{AttributeValue, ReturnValuesOnConditionCheckFailure},
};
use oncehook_local::database::Database;

use crate::sdk::{self, TABLE, put_if_absent, s};

async fn start(path: Option<&Path>) -> (Database, Client) {
    let database = Database::start(path).unwrap();
    let client = sdk::client(&database.endpoint());
    (database, client)
}

#[tokio::test]
async fn a_cancelled_transaction_returns_the_item_in_its_way_and_writes_nothing() {
    let (_database, client) = start(None).await;
    sdk::create_table(&client).await;
    client
        .transact_write_items()
        .transact_items(put_if_absent("a", "first"))
        .send()
        .await
        .unwrap();

    let second = client
        .transact_write_items()
        .transact_items(put_if_absent("b", "second"))
        .transact_items(put_if_absent("a", "second"));
    let error = second.send().await.unwrap_err().into_service_error();

    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else {
        panic!("{error:?}")
    };
    let reasons = cancelled.cancellation_reasons();
    assert_eq!(reasons.len(), 2);
    assert_eq!(reasons[0].code(), Some("None"));
    assert!(reasons[0].item().is_none());
    assert_eq!(reasons[1].code(), Some("ConditionalCheckFailed"));
    assert_eq!(reasons[1].item().unwrap()["note"], s("first"));
    assert_eq!(sdk::note(&client, "b").await, None);
}

#[tokio::test]
async fn a_failed_conditional_put_returns_the_item() {
    let (_database, client) = start(None).await;
    sdk::create_table(&client).await;
    let put = |note: &str| {
        client
            .put_item()
            .table_name(TABLE)
            .item("pk", s("a"))
            .item("sk", s("event"))
            .item("note", s(note))
            .condition_expression("attribute_not_exists(pk)")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    };
    put("first").send().await.unwrap();
    let error = put("second").send().await.unwrap_err().into_service_error();
    let PutItemError::ConditionalCheckFailedException(failed) = error else {
        panic!("{error:?}")
    };
    assert_eq!(failed.item().unwrap()["note"], s("first"));
}

#[tokio::test]
async fn of_eight_at_once_one_wins() {
    let (_database, client) = start(None).await;
    sdk::create_table(&client).await;
    let mut racers = tokio::task::JoinSet::new();
    for racer in 0..8 {
        let transaction = client
            .transact_write_items()
            .transact_items(put_if_absent("a", &format!("racer {racer}")))
            .transact_items(put_if_absent(&format!("own {racer}"), "x"));
        racers.spawn(async move {
            let answer = transaction.send().await.map_err(SdkError::into_service_error);
            match answer {
                Ok(_) => Some(racer),
                Err(TransactWriteItemsError::TransactionCanceledException(_)) => None,
                Err(other) => panic!("{other:?}"),
            }
        });
    }
    let winners = racers.join_all().await.into_iter().flatten().collect::<Vec<_>>();
    let [winner] = winners[..] else {
        panic!("{winners:?}")
    };
    assert_eq!(sdk::note(&client, "a").await, Some(format!("racer {winner}")));
    for racer in 0..8 {
        let own = sdk::note(&client, &format!("own {racer}")).await;
        assert_eq!(own.is_some(), racer == winner, "all or nothing for racer {racer}");
    }
}

#[tokio::test]
async fn a_file_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("local.db");
    {
        let (_database, client) = start(Some(&path)).await;
        sdk::create_table(&client).await;
        client
            .transact_write_items()
            .transact_items(put_if_absent("a", "kept"))
            .send()
            .await
            .unwrap();
    }
    let (_database, client) = start(Some(&path)).await;
    assert_eq!(sdk::note(&client, "a").await.as_deref(), Some("kept"));
}

#[tokio::test]
async fn a_copy_of_the_file_taken_while_it_runs_is_what_kill_leaves_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("local.db");
    let (_database, client) = start(Some(&path)).await;
    sdk::create_table(&client).await;
    client
        .transact_write_items()
        .transact_items(put_if_absent("a", "kept"))
        .send()
        .await
        .unwrap();

    let copies = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copies.path().join(file.file_name())).unwrap();
    }
    let (_copy, client) = start(Some(&copies.path().join("local.db"))).await;
    assert_eq!(sdk::note(&client, "a").await.as_deref(), Some("kept"));
}

#[tokio::test]
async fn an_update_moves_an_item_within_a_sparse_keys_only_index() {
    let (_database, client) = start(None).await;
    sdk::create_table(&client).await;
    client
        .transact_write_items()
        .transact_items(put_if_absent("a", "x"))
        .send()
        .await
        .unwrap();
    client
        .transact_write_items()
        .transact_items(put_if_absent("not due", "x"))
        .send()
        .await
        .unwrap();
    let update = |expression: &str| {
        client
            .update_item()
            .table_name(TABLE)
            .key("pk", s("a"))
            .key("sk", s("event"))
            .update_expression(expression)
    };
    let query = || {
        let query = client.query().table_name(TABLE).index_name("work");
        query
            .key_condition_expression("#work = :work AND due_at <= :now")
            .expression_attribute_names("#work", "work")
            .expression_attribute_values(":work", s("open#mail#0"))
            .expression_attribute_values(":now", s("2026-12-01T00:00:00Z"))
            .send()
    };

    let opened = update("SET #work = :work, due_at = :due ADD attempts :one")
        .expression_attribute_names("#work", "work")
        .expression_attribute_values(":work", s("open#mail#0"))
        .expression_attribute_values(":due", s("2026-11-30T00:00:00Z"))
        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
        .return_values(aws_sdk_dynamodb::types::ReturnValue::AllNew)
        .send()
        .await
        .unwrap();
    assert_eq!(
        opened.attributes().unwrap()["attempts"],
        AttributeValue::N("1".to_owned())
    );

    let found = query().await.unwrap();
    let [item] = found.items() else {
        panic!("{found:?}")
    };
    let mut names = item.keys().map(String::as_str).collect::<Vec<_>>();
    names.sort_unstable();
    assert_eq!(names, ["due_at", "pk", "sk", "work"]);

    update("REMOVE #work, due_at")
        .expression_attribute_names("#work", "work")
        .send()
        .await
        .unwrap();
    assert_eq!(query().await.unwrap().count(), 0);
}

#[tokio::test]
async fn numbers_keep_38_digits() {
    let (_database, client) = start(None).await;
    sdk::create_table(&client).await;
    let digits = "12345678901234567890123456789012345678";
    let number = AttributeValue::N(digits.to_owned());
    let item = client
        .put_item()
        .table_name(TABLE)
        .item("pk", s("a"))
        .item("sk", s("event"));
    item.item("n", number.clone()).send().await.unwrap();
    let got = client
        .get_item()
        .table_name(TABLE)
        .key("pk", s("a"))
        .key("sk", s("event"))
        .send()
        .await
        .unwrap();
    assert_eq!(got.item().unwrap()["n"], number);
}
