//! Destinations that are left alone for a while, for every instance to see.

use aws_sdk_dynamodb::{
    error::SdkError,
    operation::update_item::{UpdateItemError, builders::UpdateItemFluentBuilder},
};
use oncehook_core::settle::Pause;

use crate::{attr, error::StoreError, keys, ledger::Ledger};

impl Ledger {
    /// Pauses a destination. Never shortens a pause.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn pause(&self, destination: &str, pause: Pause) -> Result<(), StoreError> {
        let sent = self
            .change(destination)
            .update_expression("SET paused_until = :until, probe_from = :probe, v = :v")
            .condition_expression("attribute_not_exists(paused_until) OR paused_until < :until")
            .expression_attribute_values(":until", attr::millis(pause.until))
            .expression_attribute_values(":probe", attr::millis(pause.probe_from))
            .expression_attribute_values(":v", attr::n(keys::VERSION))
            .send()
            .await;
        written("pause", sent)
    }

    /// Ends this pause, unless a longer one has begun.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn resume(&self, destination: &str, pause: Pause) -> Result<(), StoreError> {
        let sent = self
            .change(destination)
            .update_expression("REMOVE paused_until, probe_from")
            .condition_expression("paused_until <= :until")
            .expression_attribute_values(":until", attr::millis(pause.until))
            .send()
            .await;
        written("resume", sent)
    }

    fn change(&self, destination: &str) -> UpdateItemFluentBuilder {
        self.client
            .update_item()
            .table_name(&self.table)
            .key("pk", attr::s(keys::destination_pk(destination)))
            .key("sk", attr::s("state"))
    }

    /// The last pause of a destination, over or not.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn paused(&self, destination: &str) -> Result<Option<Pause>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("pk", attr::s(keys::destination_pk(destination)))
            .key("sk", attr::s("state"))
            .send()
            .await
            .map_err(|error| StoreError::from_sdk("paused", &error))?;
        Ok(answer.item().and_then(|item| {
            let until = attr::time(item, "paused_until")?;
            Some(Pause {
                until,
                probe_from: attr::time(item, "probe_from").unwrap_or(until),
            })
        }))
    }
}

/// A condition that does not hold means that there is nothing to change.
fn written<T>(action: &'static str, sent: Result<T, SdkError<UpdateItemError>>) -> Result<(), StoreError> {
    match sent {
        Ok(_) => Ok(()),
        Err(error)
            if error
                .as_service_error()
                .is_some_and(UpdateItemError::is_conditional_check_failed_exception) =>
        {
            Ok(())
        }
        Err(error) => Err(StoreError::from_sdk(action, &error)),
    }
}
