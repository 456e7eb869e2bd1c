//! How the time-outs of the deployment hang together: what code takes and what a template must give. Numbers only.
//!
//! A call ends before its lease, a lease before the sweep looks, an invocation after its longest call, and a message
//! stays invisible for longer than all tries of one invocation.

use jiff::SignedDuration;

/// A lease is held for one call and this long, to settle it.
pub const LEASE_BEYOND_CALL: SignedDuration = SignedDuration::from_secs(10);

/// The time-out of the drain function is that of the longest call and at least this: to start, claim and settle.
pub const DRAIN_BEYOND_CALL: SignedDuration = SignedDuration::from_secs(20);

/// The time-out of the ingest function is the longest budget of a source and at least this: to start, to read its
/// secrets, to wake and to answer.
pub const INGEST_BEYOND_BUDGET: SignedDuration = SignedDuration::from_secs(3);

/// API Gateway's HTTP APIs wait no longer than this for an answer.
pub const GATEWAY_LIMIT: SignedDuration = SignedDuration::from_secs(30);

/// A message stays invisible for so many time-outs of the drain function, as Lambda's documentation asks.
pub const VISIBILITY_FACTOR: u32 = 6;

/// A body outside the table is there for the longest retention of a source and at least this: S3 counts whole days, and the
/// record that names it must go first.
pub const BODIES_BEYOND_RETENTION: SignedDuration = SignedDuration::from_hours(48);
