//! Bodies too large for the table: files or objects, each under a name of its own that no other write ever uses again.
//!
//! Why this is right whatever happens at the same moment:
//!
//! - A file is written before the record that names it. A crash between leaves a file that nobody names, never a name
//!   without a file.
//! - What lies under `bodies/` expires some days after it was written, later than the record that names it. What lies
//!   under `kept/` does not expire. An event that loses its expiry is in the same write given the name of a copy under
//!   `kept/`; one that gets it back, of a fresh copy under `bodies/`. Both writes are conditional on the name that was
//!   copied, so that of two at once one is done again on what the other left.
//! - A file under `kept/` is released, and may expire, only once a write has certainly taken its name out of the record.
//!   Names are random, so nothing can bring it back. A crash before the release keeps a file too long, never too short.
//! - Nothing is deleted here.

use std::{fmt, pin::Pin, sync::Arc};

use bytes::Bytes;
use oncehook_core::{decide::Decision, event::Event};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use crate::{
    attr::{self, Item},
    body::{self, EXPANDED, LARGEST, Packed},
    commit::Committed,
    error::{CommitError, StoreError},
    keys::{self, EVENT_SK},
    ledger::Ledger,
    record::{Outcome, Record},
    replay::Again,
};

/// What [`Bodies`] answer with.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, BodyError>> + Send + 'a>>;

/// Where large bodies lie: a bucket, or a folder.
pub trait Bodies: fmt::Debug + Send + Sync {
    /// Writes a file, whole or not at all.
    fn put<'a>(&'a self, name: &'a str, body: Bytes) -> Answer<'a, ()>;
    /// Reads a file, at most so many bytes of it; none if it is not there.
    fn get<'a>(&'a self, name: &'a str, most: usize) -> Answer<'a, Option<Bytes>>;
    /// Copies a file; false if it is not there.
    fn copy<'a>(&'a self, from: &'a str, to: &'a str) -> Answer<'a, bool>;
    /// Lets a file under `kept/` expire.
    fn release<'a>(&'a self, name: &'a str) -> Answer<'a, ()>;
}

/// Why a file was not written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The same may work later.
    #[error("large bodies cannot be reached: {0}")]
    Busy(String),
    /// It will not work until somebody changes something.
    #[error("large bodies were refused: {0}")]
    Broken(String),
}

/// The attribute with a file's name.
pub(crate) const PLACE: &str = "body_at";
/// The flag of an outbox item whose event has a large body.
pub(crate) const FLAG: &str = "large_body";

/// The parts of an event that its outbox must see to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Holds {
    /// The body lies in an item of its own.
    pub(crate) split_body: bool,
    /// It lies outside the table.
    pub(crate) large_body: bool,
}

impl Holds {
    pub(crate) fn of(item: &Item) -> Self {
        Self {
            split_body: attr::flag(item, "split_body"),
            large_body: attr::flag(item, FLAG),
        }
    }
}

/// A name that nothing has had and nothing will have again. The digest is that of the body as it was received.
pub(crate) fn name(kept: bool, digest: &str) -> String {
    let folder = if kept { "kept" } else { "bodies" };
    format!("{folder}/{digest}/{}", Uuid::new_v4().simple())
}

pub(crate) fn is_kept(name: &str) -> bool {
    name.starts_with("kept/")
}

/// The digest in a name.
pub(crate) fn digest_of(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}

impl From<BodyError> for CommitError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::Busy(_) => Self::Busy {
                attempts: 1,
                detail: error.to_string(),
            },
            BodyError::Broken(_) => Self::Broken(error.to_string()),
        }
    }
}

pub(crate) fn of_store(action: &'static str, error: &BodyError) -> StoreError {
    let detail = error.to_string();
    match error {
        BodyError::Busy(_) => StoreError::Busy { action, detail },
        BodyError::Broken(_) => StoreError::Broken { action, detail },
    }
}

impl Ledger {
    /// The same, with a place for bodies above 64 KiB; without one they are refused.
    #[must_use]
    pub fn with_bodies(mut self, bodies: Arc<dyn Bodies>) -> Self {
        self.bodies = Some(bodies);
        self
    }

    /// Where large bodies are.
    pub(crate) fn bodies(&self, action: &'static str) -> Result<&dyn Bodies, StoreError> {
        self.bodies.as_deref().ok_or_else(|| StoreError::Broken {
            action,
            detail: "the event's body lies outside the table, and nothing says where: set ONCEHOOK_BODIES, or give --bodies"
                .to_owned(),
        })
    }

    /// The body of an item, wherever it lies; none if it is gone. Checked against its digest.
    pub(crate) async fn body_of(&self, item: &Item) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(mut name) = attr::text(item, PLACE) else {
            return Ok(body::load(item));
        };
        let bodies = self.bodies("body")?;
        let mut found = bodies.get(&name, EXPANDED).await;
        // It may have been given another name since the item was read.
        if let Ok(None) = found
            && let (Some(pk), Some(sk)) = (attr::text(item, "pk"), attr::text(item, "sk"))
            && let Some(now) = self.get(&pk, &sk, "body").await?
            && let Some(other) = attr::text(&now, PLACE).filter(|other| *other != name)
        {
            found = bodies.get(&other, EXPANDED).await;
            name = other;
        }
        let Some(stored) = found.map_err(|error| of_store("body", &error))? else {
            return Ok(None);
        };
        let body = body::unpack(&stored, item).unwrap_or_default();
        if digest(&body) != digest_of(&name) {
            return Err(StoreError::Broken {
                action: "body",
                detail: format!("what lies at {name} is not what was received"),
            });
        }
        Ok(Some(body))
    }

    /// Lets a file expire that no record names any more. A failure is only logged: it then stays.
    pub(crate) async fn release(&self, name: &str) {
        let Some(bodies) = self.bodies.as_deref().filter(|_| is_kept(name)) else {
            return;
        };
        if let Err(error) = bodies.release(name).await {
            tracing::warn!(name, %error, "a body that nothing names is kept for ever");
        }
    }
}

/// The body of one commit, and where it was put.
pub(crate) struct Placing<'a> {
    ledger: &'a Ledger,
    packed: Packed,
    digest: String,
    /// Under `bodies/` and under `kept/`, once it is there.
    names: [Option<String>; 2],
    /// What the record that this commit replaces names.
    replaces: Option<String>,
}

impl<'a> Placing<'a> {
    pub(crate) fn new(
        ledger: &'a Ledger,
        event: &Event,
        again: Option<&Again<'_>>,
    ) -> Result<Self, CommitError> {
        let packed = body::pack(&event.body)?;
        if packed.is_large() && ledger.bodies.is_none() {
            return Err(CommitError::TooLarge {
                compressed: packed.bytes.len(),
                limit: LARGEST,
            });
        }
        Ok(Self {
            ledger,
            packed,
            digest: digest(&event.body),
            names: [None, None],
            replaces: again.and_then(|again| again.stored.body_at.clone()),
        })
    }

    pub(crate) fn is_large(&self) -> bool {
        self.packed.is_large()
    }

    /// The record that makes a large event a duplicate, before anything is written for it.
    pub(crate) async fn duplicate(
        &mut self,
        event: &Event,
        decision: &Decision,
        deadline: Instant,
    ) -> Result<Option<Record>, CommitError> {
        let pk = keys::event_pk(event);
        let read = timeout_at(deadline, self.ledger.get(&pk, EVENT_SK, "commit")).await;
        let Some(item) = read.map_err(|_| late())?.map_err(as_commit)? else {
            return Ok(None);
        };
        let stored = Record::load(&item);
        let heals = stored.outcome == Outcome::Failed && !matches!(decision, Decision::Fail(_));
        if heals {
            self.replaces = attr::text(&item, PLACE);
            return Ok(None);
        }
        Ok(Some(stored))
    }

    /// The attributes that hold the body, or name it once it has been written outside the table. `kept` if the event
    /// will stand in a list.
    pub(crate) async fn item(&mut self, kept: bool, deadline: Instant) -> Result<Item, CommitError> {
        let Some(bodies) = self.ledger.bodies.as_deref().filter(|_| self.packed.is_large()) else {
            return Ok(self.packed.item());
        };
        let place = &mut self.names[usize::from(kept)];
        let name = match place {
            Some(name) => name,
            None => {
                let name = name(kept, &self.digest);
                let bytes = Bytes::from(self.packed.bytes.clone());
                timeout_at(deadline, bodies.put(&name, bytes))
                    .await
                    .map_err(|_| late())??;
                place.insert(name)
            }
        };
        Ok(attr::item([
            (PLACE, attr::s(&*name)),
            ("body_encoding", attr::s(self.packed.encoding)),
        ]))
    }

    /// Lets go what this commit left under `kept/` and nothing names: what it replaced, or what it wrote in vain.
    pub(crate) async fn tidy(&self, committed: &Result<Committed, CommitError>) {
        let [_, kept] = &self.names;
        match committed {
            Ok(Committed::New(record)) => {
                let named = matches!(record.outcome, Outcome::Failed | Outcome::Held);
                let idle = [self.replaces.as_ref(), kept.as_ref().filter(|_| !named)];
                for name in idle.into_iter().flatten() {
                    self.ledger.release(name).await;
                }
            }
            Ok(Committed::Duplicate(_)) => {
                if let Some(name) = kept {
                    self.ledger.release(name).await;
                }
            }
            // A write whose answer was lost may have been taken: the name may be in use.
            Err(_) => {}
        }
    }
}

fn late() -> CommitError {
    CommitError::Busy {
        attempts: 1,
        detail: "the body was not written in time".to_owned(),
    }
}

pub(crate) fn as_commit(error: StoreError) -> CommitError {
    match error {
        StoreError::Busy { detail, .. } => CommitError::Busy { attempts: 1, detail },
        StoreError::Broken { detail, .. } => CommitError::Broken(detail),
    }
}

pub(crate) fn digest(body: &[u8]) -> String {
    hex::encode(Sha256::digest(body))
}
