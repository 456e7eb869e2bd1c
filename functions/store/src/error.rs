//! What can go wrong with the ledger that is not an expected result.

use aws_sdk_dynamodb::{
    config::http::HttpResponse,
    error::{DisplayErrorContext, ProvideErrorMetadata, SdkError},
    types::error::TransactionCanceledException,
};

/// A read or a single conditional write that did not work.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Throttled, in conflict, timed out or unreachable: the same call may work later.
    #[error("the database is busy or unreachable ({action}): {detail}")]
    Busy {
        /// What was tried.
        action: &'static str,
        /// What DynamoDB or the connection said.
        detail: String,
    },
    /// It will not work until somebody changes something: permissions, a missing table, a broken item.
    #[error("the database refused ({action}): {detail}")]
    Broken {
        /// What was tried.
        action: &'static str,
        /// What DynamoDB said.
        detail: String,
    },
}

impl StoreError {
    pub(crate) fn from_sdk<E>(action: &'static str, error: &SdkError<E, HttpResponse>) -> Self
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        let detail = describe(error);
        if is_transient(error) {
            Self::Busy { action, detail }
        } else {
            Self::Broken { action, detail }
        }
    }
}

/// Why nothing was committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Conflicts, throttling or an unreachable database until the budget was used up. Ask the provider to come again.
    #[error("not committed within the time allowed, after {attempts} attempts: {detail}")]
    Busy {
        /// How many times it was tried.
        attempts: u32,
        /// The last reason.
        detail: String,
    },
    /// A rule's condition with `on_condition = "retry"` does not hold yet. Ask the provider to come again.
    #[error("not yet: {0}")]
    NotNow(String),
    /// The body does not fit.
    #[error("the body takes {compressed} bytes compressed, more than {limit}")]
    TooLarge {
        /// Its compressed size in bytes.
        compressed: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Permissions, a missing table, a key that does not exist: no redelivery will mend it.
    #[error("the database refused: {0}")]
    Broken(String),
}

/// The whole chain of an SDK error in one line.
pub(crate) fn describe<E: std::error::Error + 'static>(error: &SdkError<E, HttpResponse>) -> String {
    format!("{}", DisplayErrorContext(error))
}

/// The codes of a cancelled transaction in one line.
pub(crate) fn describe_cancelled(cancelled: &TransactionCanceledException) -> String {
    let codes: Vec<&str> = cancelled
        .cancellation_reasons()
        .iter()
        .filter_map(|reason| reason.code())
        .collect();
    format!("transaction cancelled: {}", codes.join(", "))
}

/// Whether the same call may work in a moment. A lost answer counts: writes recognise their own earlier attempt.
pub(crate) fn is_transient<E>(error: &SdkError<E, HttpResponse>) -> bool
where
    E: ProvideErrorMetadata,
{
    match error {
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) | SdkError::ResponseError(_) => true,
        SdkError::ServiceError(service) => {
            service.raw().status().is_server_error()
                || matches!(
                    service.err().code(),
                    Some(
                        "ThrottlingException"
                            | "ProvisionedThroughputExceededException"
                            | "RequestLimitExceeded"
                            | "TransactionConflictException"
                            | "TransactionInProgressException"
                            | "ReplicatedWriteConflictException"
                            | "InternalServerError"
                    )
                )
        }
        _ => false,
    }
}
