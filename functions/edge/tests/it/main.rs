//! The edge against stand-ins for AWS.

#![expect(clippy::unwrap_used, reason = "a failing step of a test is a failing test")]

mod metrics;
mod provider_keys;
mod shown;
mod store;
