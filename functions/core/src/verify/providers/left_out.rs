//! Providers that were looked at and are no scheme, each with the reason.

/// A provider without a scheme.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct LeftOut {
    /// Its name for people.
    pub title: &'static str,
    /// Why, with "it" before it; with the fact or the part that is missing.
    pub reason: &'static str,
}

/// All of them.
pub(in crate::verify) const LEFT_OUT: &[LeftOut] = &[LeftOut {
    title: "Dropbox",
    reason: "says only that something changed, without id or time: two real notifications are the same to \
                 the byte, so that a repetition cannot be told from the next change",
}];
