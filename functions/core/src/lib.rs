//! The rules of Oncehook: which bytes are genuine, which event they carry, what must happen for it,
//! and what a delivery attempt means.
//!
//! Everything here is pure: no async, no AWS client, no clock, no environment. `now` is an argument, and
//! the same input always gives the same answer. `oncehook-store` writes what is decided here.

pub mod clock;
pub mod config;
pub mod decide;
pub mod decimal;
pub mod event;
pub mod message;
pub mod operate;
pub mod outbox;
pub mod plan;
pub mod preset;
pub mod request;
pub mod rules;
pub mod secret;
pub mod settle;
pub mod template;
pub mod timing;
pub mod trace;
pub mod verify;
