//! What a command has to say, as exit codes: 0 yes, 1 no or failed, 2 wrong usage or configuration.
//!
//! Prints nothing.

/// The answer of a command that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It worked; nothing is wrong.
    Yes,
    /// It ran, and the answer is no: a delivery was refused, a vector failed, nothing was found.
    No,
}

impl Answer {
    /// `Yes` if it holds.
    pub(crate) fn from_bool(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// The command was used wrongly, or its configuration is wrong. Says what to do instead.
#[derive(Debug)]
pub(crate) struct Misuse(pub(crate) String);

impl std::fmt::Display for Misuse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// An error with exit code 2.
pub(crate) fn misuse(text: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Misuse(text.into()))
}
