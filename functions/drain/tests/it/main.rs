//! Drain against a scripted destination and the embedded database.

#![expect(clippy::unwrap_used, reason = "a failing step of a test is a failing test")]

mod credentials;
mod deliver;
mod drain;
mod injection;
mod leaks;
mod planned;
mod presets;
mod secrets;
mod server;
mod services;
mod world;
