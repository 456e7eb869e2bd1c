//! The shape of Oncehook's table: what a local or test database creates, and what the template must agree with.

use aws_sdk_dynamodb::{
    Client,
    types::{
        AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
        ProjectionType, ScalarAttributeType,
    },
};

use crate::{error::StoreError, keys::WORK_INDEX};

/// Creates a table with Oncehook's keys and index, if it is not there; for local databases. On AWS the stack does it.
///
/// # Errors
/// When the database is busy or refuses.
pub async fn create_table(client: &Client, table: &str) -> Result<(), StoreError> {
    let attributes = [
        ("pk", ScalarAttributeType::S),
        ("sk", ScalarAttributeType::S),
        ("work", ScalarAttributeType::S),
        ("work_at", ScalarAttributeType::N),
    ];
    let definition = |(name, kind): (&str, ScalarAttributeType)| {
        AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(kind)
            .build()
            .ok()
    };
    let keys = |hash: &str, range: &str| {
        [(hash, KeyType::Hash), (range, KeyType::Range)]
            .into_iter()
            .filter_map(|(name, kind)| {
                KeySchemaElement::builder()
                    .attribute_name(name)
                    .key_type(kind)
                    .build()
                    .ok()
            })
            .collect()
    };
    let index = GlobalSecondaryIndex::builder()
        .index_name(WORK_INDEX)
        .set_key_schema(Some(keys("work", "work_at")))
        .projection(
            Projection::builder()
                .projection_type(ProjectionType::KeysOnly)
                .build(),
        )
        .build()
        .ok();
    let sent = client
        .create_table()
        .table_name(table)
        .set_attribute_definitions(Some(attributes.into_iter().filter_map(definition).collect()))
        .set_key_schema(Some(keys("pk", "sk")))
        .set_global_secondary_indexes(index.map(|index| vec![index]))
        .billing_mode(BillingMode::PayPerRequest)
        .send()
        .await;
    match sent {
        Ok(_) => Ok(()),
        Err(error)
            if error.as_service_error().is_some_and(
                aws_sdk_dynamodb::operation::create_table::CreateTableError::is_resource_in_use_exception,
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(StoreError::from_sdk("create table", &error)),
    }
}
