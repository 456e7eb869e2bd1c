//! The stand-ins behave as what they stand in for, seen through the clients that will use them.

mod clock;
mod database;
mod faults;
mod gateway;
mod mail;
mod sdk;
mod wire;
