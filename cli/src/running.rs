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
}

impl Running {
    /// What the last `oncehook dev` of this directory wrote, if it did.
    pub(crate) fn read() -> Option<Self> {
        let text = std::fs::read(Path::new(DIRECTORY).join(FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes the file into a directory of local state, whole or not at all.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        let new = directory.join(format!("{FILE}.new"));
        std::fs::write(&new, text)?;
        std::fs::rename(new, directory.join(FILE))
    }

    /// The URL of a source's webhooks.
    pub(crate) fn webhook(&self, source: &str) -> String {
        format!("{}/webhooks/{source}", self.url.trim_end_matches('/'))
    }
}
