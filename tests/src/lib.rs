//! The whole of Oncehook in one process, driven by hand: requests go through the gateway's event into the real
//! ingest handler, wake-ups are handed to the real drain handler when a test says so, and time stands still.
//!
//! The database is embedded, or the one at `ONCEHOOK_TEST_DYNAMODB`. No sleeps; a wake-up left lying fails the test.
//! Beside it, what runs in processes of its own: the built programs, Lambda's emulator, SQS.

#![expect(clippy::unwrap_used, reason = "a test harness fails loudly")]

pub mod binaries;
pub mod fixtures;
mod ministack;
mod request;
pub mod rie;
mod world;

use std::io::{self, Write};

pub use ministack::Ministack;
pub use request::{RequestParts, invoice};
pub use world::{Answer, CONFIG, World, create_hash_table};

/// A line that is seen even when the test passes: what was compared, or why nothing was.
pub fn say(line: &str) {
    let _closed = io::stderr().write_all(format!("{line}\n").as_bytes());
}
