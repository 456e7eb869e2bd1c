//! The handle on Oncehook's table and on the user's own tables that rules write.

use std::{collections::BTreeMap, sync::Arc};

use crate::large::Bodies;

/// Everything that is stored. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ledger {
    pub(crate) client: aws_sdk_dynamodb::Client,
    pub(crate) table: String,
    pub(crate) tables: BTreeMap<String, String>,
    pub(crate) shards: u32,
    /// Where bodies lie that are too large for the table.
    pub(crate) bodies: Option<Arc<dyn Bodies>>,
}

impl Ledger {
    /// A ledger in `table`. `tables` gives the physical name of each of the user's tables by its logical one;
    /// `shards` is how many ways each destination's open items are spread.
    ///
    /// The client must not retry by itself: the ledger retries, within its caller's deadline.
    #[must_use]
    pub fn new(
        client: aws_sdk_dynamodb::Client,
        table: String,
        tables: BTreeMap<String, String>,
        shards: u32,
    ) -> Self {
        Self {
            client,
            table,
            tables,
            shards,
            bodies: None,
        }
    }

    /// The physical name of a table of the user's: as mapped, or else its logical name.
    pub(crate) fn physical(&self, logical: &str) -> String {
        self.tables
            .get(logical)
            .cloned()
            .unwrap_or_else(|| logical.to_owned())
    }
}
