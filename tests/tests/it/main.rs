//! The whole of Oncehook, tested as its users know it.

mod batches;
mod bucket;
mod crashes;
mod fixtures;
mod guarantees;
mod logs;
mod metrics;
mod races;
mod replies;
mod rie;
mod services;
mod sources;
mod sqs;
mod template;
mod trace;
