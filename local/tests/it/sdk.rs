//! The AWS SDK, pointed at a loopback endpoint, and a table shaped like Oncehook's.

use aws_sdk_dynamodb::{
    Client,
    config::{BehaviorVersion, Config, Credentials, Region, retry::RetryConfig},
    types::{
        AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
        Projection, ProjectionType, Put, ReturnValuesOnConditionCheckFailure, ScalarAttributeType,
        TransactWriteItem,
    },
};

pub(crate) const TABLE: &str = "ledger";

pub(crate) fn client(endpoint: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .credentials_provider(Credentials::new("test", "test", None, None, "static"))
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .build();
    Client::from_conf(config)
}

pub(crate) async fn create_table(client: &Client) {
    let attribute = |name: &str| {
        let attribute = AttributeDefinition::builder().attribute_name(name);
        attribute.attribute_type(ScalarAttributeType::S).build().unwrap()
    };
    let key = |name: &str, kind| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build()
            .unwrap()
    };
    let work = GlobalSecondaryIndex::builder()
        .index_name("work")
        .key_schema(key("work", KeyType::Hash))
        .key_schema(key("due_at", KeyType::Range))
        .projection(
            Projection::builder()
                .projection_type(ProjectionType::KeysOnly)
                .build(),
        )
        .build()
        .unwrap();
    client
        .create_table()
        .table_name(TABLE)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(["pk", "sk", "work", "due_at"].map(attribute).to_vec()))
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .global_secondary_indexes(work)
        .send()
        .await
        .unwrap();
}

pub(crate) fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// A put that needs absence and asks for the item that is in its way.
pub(crate) fn put_if_absent(pk: &str, note: &str) -> TransactWriteItem {
    let put = Put::builder()
        .table_name(TABLE)
        .item("pk", s(pk))
        .item("sk", s("event"))
        .item("note", s(note))
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()
        .unwrap();
    TransactWriteItem::builder().put(put).build()
}

pub(crate) async fn note(client: &Client, pk: &str) -> Option<String> {
    let got = client
        .get_item()
        .table_name(TABLE)
        .key("pk", s(pk))
        .key("sk", s("event"))
        .consistent_read(true);
    let item = got.send().await.unwrap().item?;
    Some(item["note"].as_s().unwrap().clone())
}
