//! DynamoDB's bad days: a proxy that counts what passes and breaks what it is told to break.
//!
//! It does not understand the requests beyond the name of their operation, and it never breaks anything by
//! chance.

mod proxy;

use std::time::Duration;

use serde_json::{Value, json};

pub use proxy::{Proxy, Seen};

const NAMESPACE: &str = "com.amazonaws.dynamodb.v20120810";

/// What happens to one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// It is answered so, and never reaches the database.
    Answer {
        /// The HTTP status.
        status: u16,
        /// The JSON body.
        body: Value,
    },
    /// It takes effect, and is answered so instead of with the truth.
    ActThenAnswer {
        /// The HTTP status.
        status: u16,
        /// The JSON body.
        body: Value,
    },
    /// It takes effect, and the connection closes without an answer.
    LoseAnswer,
    /// The connection closes before it reaches the database.
    Refuse,
    /// It is forwarded after this time.
    Delay(Duration),
    /// It is never forwarded and never answered.
    Hang,
}

impl Fault {
    /// An error by its name and text, as DynamoDB words it: status 400.
    #[must_use]
    pub fn error(name: &str, message: &str) -> Self {
        let body = json!({ "__type": format!("{NAMESPACE}#{name}"), "message": message });
        Self::Answer { status: 400, body }
    }

    /// `ThrottlingException`.
    #[must_use]
    pub fn throttling() -> Self {
        let message = "Rate of requests exceeds the allowed throughput.";
        let body =
            json!({ "__type": "com.amazon.coral.availability#ThrottlingException", "message": message });
        Self::Answer { status: 400, body }
    }

    /// `ProvisionedThroughputExceededException`.
    #[must_use]
    pub fn throughput_exceeded() -> Self {
        let message = "The level of configured provisioned throughput for the table was exceeded. Consider \
                       increasing your provisioning level with the UpdateTable API.";
        Self::error("ProvisionedThroughputExceededException", message)
    }

    /// `TransactionConflictException`: what a single write meets while a transaction holds its item.
    #[must_use]
    pub fn transaction_conflict() -> Self {
        let message = "Transaction is ongoing for the item";
        Self::error("TransactionConflictException", message)
    }

    /// `TransactionInProgressException`: the same token, still at work.
    #[must_use]
    pub fn transaction_in_progress() -> Self {
        let message = "The transaction with the given request token is already in progress.";
        Self::error("TransactionInProgressException", message)
    }

    /// `ConditionalCheckFailedException`, with the item if it was asked for with `ALL_OLD`.
    #[must_use]
    pub fn condition_failed(item: Option<Value>) -> Self {
        let mut fault = Self::error(
            "ConditionalCheckFailedException",
            "The conditional request failed",
        );
        if let (Self::Answer { body, .. }, Some(item)) = (&mut fault, item) {
            body["Item"] = item;
        }
        fault
    }

    /// `ResourceNotFoundException`.
    #[must_use]
    pub fn table_missing() -> Self {
        Self::error("ResourceNotFoundException", "Requested resource not found")
    }

    /// `AccessDeniedException` for an operation such as `PutItem`.
    #[must_use]
    pub fn access_denied(operation: &str) -> Self {
        let message = format!(
            "User: arn:aws:sts::111122223333:assumed-role/ingest/ingest is not authorized to perform: \
             dynamodb:{operation} because no identity-based policy allows the dynamodb:{operation} action"
        );
        let body = json!({ "__type": "com.amazon.coral.service#AccessDeniedException", "Message": message });
        Self::Answer { status: 400, body }
    }

    /// `ValidationException`.
    #[must_use]
    pub fn validation(message: &str) -> Self {
        let body = json!({ "__type": "com.amazon.coral.validate#ValidationException", "message": message });
        Self::Answer { status: 400, body }
    }

    /// `InternalServerError`, status 500, without effect. For one with effect see [`Fault::acting`].
    #[must_use]
    pub fn internal_error() -> Self {
        let body = json!({ "__type": format!("{NAMESPACE}#InternalServerError"), "message": "Internal server error" });
        Self::Answer { status: 500, body }
    }

    /// `TransactionCanceledException` with one reason per action, in their order.
    #[must_use]
    pub fn canceled(reasons: &[Reason]) -> Self {
        let codes = reasons
            .iter()
            .map(|reason| reason.code.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        let reasons = reasons.iter().map(Reason::json).collect::<Vec<_>>();
        let message = format!(
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
        );
        Self::Answer {
            status: 400,
            body: json!({
                "__type": format!("{NAMESPACE}#TransactionCanceledException"),
                "Message": message,
                "CancellationReasons": reasons,
            }),
        }
    }

    /// The same answer, but after the request took effect.
    #[must_use]
    pub fn acting(self) -> Self {
        match self {
            Self::Answer { status, body } => Self::ActThenAnswer { status, body },
            other => other,
        }
    }
}

/// One entry of `CancellationReasons`.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// `None`, `ConditionalCheckFailed`, `TransactionConflict`, `ThrottlingError`, ...
    pub code: String,
    /// DynamoDB's words.
    pub message: Option<String>,
    /// The item as it was, in DynamoDB's JSON.
    pub item: Option<Value>,
}

impl Reason {
    /// The action is not why the transaction was cancelled (or: it is not known to be).
    #[must_use]
    pub fn none() -> Self {
        Self {
            code: "None".to_owned(),
            message: None,
            item: None,
        }
    }

    /// A reason by its code.
    #[must_use]
    pub fn of(code: &str, message: &str) -> Self {
        Self {
            code: code.to_owned(),
            message: Some(message.to_owned()),
            item: None,
        }
    }

    /// The action's condition did not hold; the item if it was asked for with `ALL_OLD` and is there.
    #[must_use]
    pub fn condition_failed(item: Option<Value>) -> Self {
        Self {
            item,
            ..Self::of("ConditionalCheckFailed", "The conditional request failed")
        }
    }

    /// Another request holds the item.
    #[must_use]
    pub fn conflict() -> Self {
        Self::of("TransactionConflict", "Transaction is ongoing for the item")
    }

    /// The table or partition is throttled.
    #[must_use]
    pub fn throttled() -> Self {
        let message = "Throughput exceeds the current capacity of your table or index.";
        Self::of("ThrottlingError", message)
    }

    /// The action is not valid, which shows only against the item.
    #[must_use]
    pub fn validation(message: &str) -> Self {
        Self::of("ValidationError", message)
    }

    fn json(&self) -> Value {
        let mut reason = json!({ "Code": self.code });
        if let Some(message) = &self.message {
            reason["Message"] = json!(message);
        }
        if let Some(item) = &self.item {
            reason["Item"] = item.clone();
        }
        reason
    }
}
