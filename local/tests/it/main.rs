//! The stand-ins behave as what they stand in for, seen through the clients that will use them.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

mod clock;
mod database;
mod faults;
mod gateway;
mod mail;
mod sdk;
mod template;
mod wire;
