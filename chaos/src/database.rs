//! The database in this process. What is stored is stored by Dynoxide, as in every other test. How requests get here is
//! `wire`'s.

use std::fmt;

use dynoxide::Database;
use serde_json::{Value, json};

/// The names of the tables, the same in every history.
pub(crate) const TABLE: &str = "oncehook";
pub(crate) const ACCOUNTS: &str = "accounts";

/// A database of this process.
#[derive(Clone)]
pub(crate) struct Embedded(Database);

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Embedded")
    }
}

impl Embedded {
    pub(crate) fn new() -> Self {
        Self(Database::memory().unwrap())
    }

    /// Status and body of the answer.
    pub(crate) fn execute(&self, operation: &str, body: &str) -> (u16, String) {
        macro_rules! run {
            ($method:ident) => {
                serde_json::from_str(body)
                    .map_err(|error| dynoxide::DynoxideError::ValidationException(error.to_string()))
                    .and_then(|request| self.0.$method(request))
                    .map(|answer| serde_json::to_string(&answer).unwrap())
            };
        }
        let answer = match operation {
            "PutItem" => run!(put_item),
            "GetItem" => run!(get_item),
            "UpdateItem" => run!(update_item),
            "DeleteItem" => run!(delete_item),
            "BatchGetItem" => run!(batch_get_item),
            "TransactWriteItems" => run!(transact_write_items),
            "Query" => run!(query),
            "Scan" => run!(scan),
            "CreateTable" => run!(create_table),
            "DeleteTable" => run!(delete_table),
            other => unreachable!("the product does not ask for {other}"),
        };
        match answer {
            Ok(answer) => (200, answer),
            Err(error) => (error.status_code(), error.to_json()),
        }
    }

    /// Everything in a table.
    pub(crate) fn all(&self, table: &str) -> Vec<Value> {
        let (status, answer) = self.execute("Scan", &json!({ "TableName": table }).to_string());
        assert_eq!(status, 200, "{answer}");
        let mut answer: Value = serde_json::from_str(&answer).unwrap();
        assert!(answer.get("LastEvaluatedKey").is_none_or(Value::is_null));
        match answer["Items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        }
    }

    pub(crate) fn get(&self, pk: &str, sk: &str) -> Option<Value> {
        let key = json!({ "TableName": TABLE, "Key": { "pk": { "S": pk }, "sk": { "S": sk } } });
        let (_, answer) = self.execute("GetItem", &key.to_string());
        let mut answer: Value = serde_json::from_str(&answer).unwrap();
        Some(answer["Item"].take()).filter(Value::is_object)
    }

    pub(crate) fn delete(&self, table: &str, key: &Value) {
        let (status, answer) = self.execute(
            "DeleteItem",
            &json!({ "TableName": table, "Key": key }).to_string(),
        );
        assert_eq!(status, 200, "{answer}");
    }
}

/// The text of an attribute, of whatever type.
pub(crate) fn text(item: &Value, name: &str) -> Option<String> {
    let value = item.get(name)?.as_object()?.values().next()?;
    value.as_str().map(str::to_owned)
}

pub(crate) fn number(item: &Value, name: &str) -> Option<i64> {
    text(item, name)?.parse().ok()
}
