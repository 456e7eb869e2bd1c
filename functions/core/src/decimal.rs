//! Exact decimal numbers: as JSON writes them and as DynamoDB's N keeps them.

/// A number in the canonical text of DynamoDB's N: up to 38 significant digits, no leading or trailing zeros.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Decimal(String);

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self(value.to_string())
    }
}

impl Decimal {
    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
