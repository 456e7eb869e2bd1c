//! What DynamoDB answered to a commit that it did not take.

use aws_sdk_dynamodb::{
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
    operation::{put_item::PutItemError, transact_write_items::TransactWriteItemsError},
};

use crate::{
    actions::Place,
    error,
    reasons::{self, Reason, Verdict},
};

/// What a refused transaction means.
pub(crate) fn read_transaction(
    places: &[Place],
    error: &SdkError<TransactWriteItemsError, HttpResponse>,
) -> Verdict {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error()
    else {
        let of_a_rule = |place: &Place| {
            !matches!(
                place,
                Place::Event | Place::Body | Place::BodyGuard | Place::TokenGuard
            )
        };
        return read_other(error, places.iter().any(of_a_rule));
    };
    let reasons: Vec<Reason> = cancelled
        .cancellation_reasons()
        .iter()
        .map(|reason| Reason {
            code: reason.code().map(str::to_owned),
            message: reason.message().map(str::to_owned),
            item: reason.item().cloned(),
        })
        .collect();
    reasons::verdict(places, &reasons)
}

/// What a refused lone Put of the event means.
pub(crate) fn read_put(places: &[Place], error: &SdkError<PutItemError, HttpResponse>) -> Verdict {
    let Some(PutItemError::ConditionalCheckFailedException(failed)) = error.as_service_error() else {
        return read_other(error, false);
    };
    let reason = Reason {
        code: Some("ConditionalCheckFailed".to_owned()),
        message: None,
        item: failed.item().cloned(),
    };
    reasons::verdict(places, &[reason])
}

/// Errors about the call as a whole. A validation error is a rule's fault only if rules had a part in the call.
fn read_other<E>(error: &SdkError<E, HttpResponse>, rules_had_a_part: bool) -> Verdict
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    if error::is_transient(error) {
        return Verdict::Again(error::describe(error));
    }
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
    let message = error
        .as_service_error()
        .and_then(ProvideErrorMetadata::message)
        .unwrap_or_default();
    match code {
        Some("ValidationException") if rules_had_a_part => {
            Verdict::Fail(format!("ValidationException: {message}"))
        }
        _ => Verdict::Broken(error::describe(error)),
    }
}
