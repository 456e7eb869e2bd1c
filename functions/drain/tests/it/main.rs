//! Drain against a scripted destination and the embedded database.

#![expect(clippy::unwrap_used, reason = "a failing step of a test is a failing test")]

mod deliver;
mod drain;
mod leaks;
mod presets;
mod secrets;
mod server;
mod world;
