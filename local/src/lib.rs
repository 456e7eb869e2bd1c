//! What stands in for AWS and the outside world on one machine: `oncehook dev` runs on it, and the function
//! crates test against it.
//!
//! It holds none of Oncehook's rules: it stores, forwards, records and misbehaves on request. Every server
//! listens on the loopback interface only and stops when its handle is dropped.

pub mod behaviour;
pub mod clock;
pub mod database;
pub mod faults;
pub mod gateway;
pub mod keyed;
pub mod lines;
pub mod mail;
pub mod parameters;
pub mod queue;
pub mod recorder;
pub mod sample;
mod server;
pub mod services;
pub mod template;
