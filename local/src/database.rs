//! DynamoDB, embedded: Dynoxide (DynamoDB's API on SQLite) behind a loopback port.
//!
//! It creates no tables and knows none of Oncehook's items; it throttles nothing and shows no delay of
//! indexes. Put [`crate::faults::Proxy`] in front of it for DynamoDB's bad days.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, anyhow};

use crate::server::Background;

/// A running database. Dropping it lets the requests under way finish, then closes the file.
#[derive(Debug)]
pub struct Database {
    server: Background,
}

impl Database {
    /// Starts a database, in the file at `path` (made if missing) or in memory. What has been answered is
    /// in the file, whatever happens to this process afterwards.
    ///
    /// # Errors
    /// When the file cannot be opened as a database or no port is free.
    pub fn start(path: Option<&Path>) -> Result<Self> {
        let opened = match path {
            None => dynoxide::Database::memory(),
            Some(path) => {
                let path = path
                    .to_str()
                    .ok_or_else(|| anyhow!("{} is not UTF-8", path.display()))?;
                dynoxide::Database::new(path)
            }
        };
        let database = opened
            .map_err(|error| anyhow!("{error}"))
            .with_context(|| match path {
                Some(path) => format!("cannot open the database {}", path.display()),
                None => "cannot open a database in memory".to_owned(),
            })?;
        let server = Background::start(
            "database",
            None,
            Duration::from_secs(2),
            |listener, stopped| async {
                // It ends with an error only if the listener does; callers see refused connections.
                let _ = dynoxide::server::serve_with_shutdown(listener, database, stopped.wait()).await;
            },
        )?;
        Ok(Self { server })
    }

    /// `http://127.0.0.1:port`, for the SDK's `endpoint_url`. Any credentials and region will do.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.server.endpoint()
    }
}
