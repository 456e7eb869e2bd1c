//! The ledger: what was received, what was done about it, what is still to be delivered.
//!
//! The only crate that names a table, a key or an attribute. It decides nothing: plans and settlements come
//! from `oncehook-core`; each is carried out by one conditional write. It reads no environment and no clock
//! beyond the deadline it is given.

mod actions;
mod acts;
mod answer;
mod attr;
mod body;
mod claim;
mod commit;
mod error;
mod event;
mod folder;
mod keep;
mod keys;
mod large;
mod ledger;
mod lists;
mod operate;
mod pause;
mod queue;
mod read;
mod reasons;
mod record;
mod replay;
mod row;
mod schema;
mod settle;
mod work;

pub use acts::{Act, Actor};
pub use claim::{Claim, Lease};
pub use commit::{Commit, Committed, Keep};
pub use error::{CommitError, StoreError};
pub use folder::Folder;
pub use keys::{OutboxKey, VERSION, event_key};
pub use large::{Answer as BodyAnswer, Bodies, BodyError};
pub use ledger::Ledger;
pub use lists::{List, Mark, Page};
pub use operate::{Acting, Fresh, StoredItem};
pub use queue::{Queue, QueueError, Wakeup, WakeupError};
pub use read::{EventFilter, EventView, OutboxView};
pub use record::{Outcome, Record, RuleResult};
pub use replay::{Replay, Replayed};
pub use schema::create_table;
pub use settle::Settling;
pub use work::Due;
