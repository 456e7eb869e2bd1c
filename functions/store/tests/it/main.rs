//! The ledger against a database, with a proxy in between that counts and breaks.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what fails here fails the test"
)]

mod bodies;
mod builders;
mod busy;
mod claim;
mod commit;
mod conditions;
mod expiry;
mod guards;
mod heal;
mod large;
mod lists;
mod numbers;
mod operate;
mod order;
mod park;
mod race;
mod replay;
mod settle;
mod support;
mod wakeup;
mod work;
