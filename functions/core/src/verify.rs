//! To be written.

/// How a provider signs.
#[derive(Debug, Clone)]
pub enum Scheme {}
