//! The file by which `oncehook dev` says where it runs: `.oncehook/dev.json`.
//!
//! It may be left over from a process that is gone; who uses it must expect no answer.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};

/// The directory of local state.
pub(crate) const DIRECTORY: &str = ".oncehook";
/// The file's name in it.
pub(crate) const FILE: &str = "dev.json";

/// Where a running `oncehook dev` is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    /// The endpoint of the embedded DynamoDB.
    pub(crate) endpoint: String,
    /// Oncehook's table.
    pub(crate) table: String,
    /// Where webhooks are received: `http://127.0.0.1:3000`.
    pub(crate) url: String,
    /// The built-in fake mail API.
    #[serde(default)]
    pub(crate) mail: String,
    /// The built-in stand-in for queues, functions and buses.
    #[serde(default)]
    pub(crate) services: String,
    /// Whether destinations are called as configured, not the fake API.
    #[serde(default)]
    pub(crate) live: bool,
}

impl Running {
    /// What the last `oncehook dev` wrote into its directory of local state.
    ///
    /// # Errors
    /// When there is no such file, or it is not one of `oncehook dev`.
    pub(crate) fn read(directory: &Path) -> io::Result<Self> {
        let text = std::fs::read(directory.join(FILE))?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        let new = directory.join(format!("{FILE}.new"));
        std::fs::write(&new, text)?;
        std::fs::rename(new, directory.join(FILE))
    }

    /// Removes the file: nothing runs here any more.
    pub(crate) fn remove(directory: &Path) {
        let _already_gone = std::fs::remove_file(directory.join(FILE));
    }

    /// The URL of a source's webhooks.
    pub(crate) fn webhook(&self, source: &str) -> String {
        format!("{}/webhooks/{source}", self.url.trim_end_matches('/'))
    }
}
