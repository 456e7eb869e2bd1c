//! Ingest against stand-ins for DynamoDB and Systems Manager.

#![expect(clippy::unwrap_used, reason = "a failing step of a test is a failing test")]

mod providers;
mod secrets;
