//! A shared secret with its name. It is never shown: not by `Debug`, not in an error, not by comparison.
//!
//! Where secrets come from is the edge's matter; what their text stands for (raw text, base64) is the scheme's.

use std::fmt;

/// A secret that is not empty.
#[derive(Clone)]
pub struct Secret {
    name: String,
    text: String,
}

/// Something about a secret that works but was probably not meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// Line ends after the text were cut off: a file or a shell added them.
    #[error("secret `{name}` ended with a line break, which was ignored")]
    TrailingNewline {
        /// The secret's name.
        name: String,
    },
}

/// Why a secret cannot be used. Names the secret and never shows any of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Nothing but white space.
    #[error("secret `{name}` is empty")]
    Empty {
        /// The secret's name.
        name: String,
    },
    /// Not what the scheme expects.
    #[error("secret `{name}` cannot be used: {reason}")]
    Unusable {
        /// The secret's name.
        name: String,
        /// What is expected of it.
        reason: &'static str,
    },
}

impl SecretError {
    /// The cause for logs, in snake case.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        "bad_secret"
    }
}

impl Secret {
    /// A secret from its text. Line breaks at the end are cut off, with a warning.
    ///
    /// # Errors
    /// When nothing but white space is left.
    pub fn new(name: &str, text: &str) -> Result<(Self, Option<Warning>), SecretError> {
        let kept = text.trim_end_matches(['\r', '\n']);
        if kept.trim().is_empty() {
            return Err(SecretError::Empty {
                name: name.to_owned(),
            });
        }
        let warning = (kept.len() < text.len()).then(|| Warning::TrailingNewline {
            name: name.to_owned(),
        });
        Ok((
            Self {
                name: name.to_owned(),
                text: kept.to_owned(),
            },
            warning,
        ))
    }

    /// Its name in oncehook.toml.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text, to be used and never shown.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("name", &self.name)
            .field("text", &"[redacted]")
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_never_shown_and_keeps_inner_space() {
        let (secret, warning) = Secret::new("stripe", " a b\r\n").unwrap();
        assert_eq!(secret.expose(), " a b");
        assert_eq!(
            warning,
            Some(Warning::TrailingNewline {
                name: "stripe".into()
            })
        );
        assert!(!format!("{secret:?}").contains("a b"));
    }

    #[test]
    fn white_space_alone_is_refused_by_name() {
        for text in ["", " ", "\n", "\t\r\n"] {
            let error = Secret::new("github", text).unwrap_err();
            assert_eq!(error.to_string(), "secret `github` is empty");
        }
    }
}
