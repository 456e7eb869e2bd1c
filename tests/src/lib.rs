//! The whole of Oncehook in one process, driven by hand: requests go through the gateway's event into the real
//! ingest handler, wake-ups are handed to the real drain handler when a test says so, and time stands still.
//!
//! The database is embedded, or the one at `ONCEHOOK_TEST_DYNAMODB`. No sleeps; a wake-up left lying fails the test.

#![expect(clippy::unwrap_used, reason = "a test harness fails loudly")]

mod request;
mod world;

pub use request::{RequestParts, invoice};
pub use world::{Answer, CONFIG, World};
