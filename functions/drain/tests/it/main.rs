//! Drain against a scripted destination and the embedded database.

mod deliver;
mod drain;
mod server;
mod world;
