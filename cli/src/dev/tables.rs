//! The user's own tables, made in the embedded database from their keys in oncehook.toml.
//!
//! On AWS these tables are the user's; Oncehook never makes one there.

use aws_sdk_dynamodb::{
    Client,
    error::DisplayErrorContext,
    types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType},
};
use oncehook_core::config::{self, Config};
use oncehook_edge::Environment;

/// Makes every table that is not there yet.
pub(crate) async fn create(
    client: &Client,
    config: &Config,
    environment: &Environment,
) -> anyhow::Result<()> {
    let names = environment.tables(config);
    for (logical, table) in &config.tables {
        let physical = names.get(logical).unwrap_or(logical);
        let mut request = client
            .create_table()
            .table_name(physical)
            .billing_mode(BillingMode::PayPerRequest);
        for (index, (attribute, kind)) in table.key.iter().enumerate() {
            let kind = match kind {
                config::KeyType::S => ScalarAttributeType::S,
                config::KeyType::N => ScalarAttributeType::N,
            };
            let role = if index == 0 { KeyType::Hash } else { KeyType::Range };
            request = request
                .attribute_definitions(
                    AttributeDefinition::builder()
                        .attribute_name(attribute)
                        .attribute_type(kind)
                        .build()?,
                )
                .key_schema(
                    KeySchemaElement::builder()
                        .attribute_name(attribute)
                        .key_type(role)
                        .build()?,
                );
        }
        if let Err(error) = request.send().await
            && !error
                .as_service_error()
                .is_some_and(|service| service.is_resource_in_use_exception())
        {
            anyhow::bail!("making the table {physical}: {}", DisplayErrorContext(&error));
        }
    }
    Ok(())
}
