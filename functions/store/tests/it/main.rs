//! The ledger against a database, with a proxy in between that counts and breaks.

mod bodies;
mod builders;
mod busy;
mod claim;
mod commit;
mod conditions;
mod expiry;
mod guards;
mod heal;
mod numbers;
mod order;
mod race;
mod settle;
mod support;
mod wakeup;
mod work;
