//! The whole of Oncehook, tested as its users know it.

mod batches;
mod crashes;
mod guarantees;
mod logs;
mod races;
mod replies;
mod sources;
mod sqs;
mod template;
