//! An event that is stored and has not taken effect, once more: planned anew and committed on the way of every other
//! event, so that guards hold and it applies once. Plans nothing; see `oncehook_core::decide`.

use aws_sdk_dynamodb::types::Update;
use bytes::Bytes;
use jiff::Timestamp;
use oncehook_core::{decide::Decision, event::Event, verify::Scheme};
use tokio::time::Instant;

use crate::{
    actions::build,
    acts::{self, Act, Actor},
    attr,
    commit::{Commit, Committed, Keep},
    error::{CommitError, StoreError},
    keep::LEFT,
    keys::{EVENT_SK, VERSION},
    large::{self, as_commit},
    ledger::Ledger,
    read::EventView,
    record::{Outcome, Record},
};

/// What to replay.
#[derive(Debug, Clone, Copy)]
pub struct Replay<'a> {
    /// The event as it was read; it is replaced only if it is still so.
    pub stored: &'a EventView,
    /// The event to plan with, from [`EventView::event`].
    pub event: &'a Event,
    /// What is to be written for it now.
    pub decision: &'a Decision,
    /// How long it is kept from now on.
    pub keep: Keep,
    /// Whether a body that came before under another id is no obstacle: a person says so.
    pub release: bool,
    /// Who, and why.
    pub actor: &'a Actor,
    /// The time.
    pub now: Timestamp,
    /// When to stop trying.
    pub deadline: Instant,
}

/// What came of a replay.
#[derive(Debug, Clone, PartialEq)]
pub enum Replayed {
    /// It was committed, with this record.
    Committed(Record),
    /// It stays where it was, for this reason, which is noted on it.
    Stays(String),
    /// Somebody or something else was quicker; this is what is stored now.
    Changed(Record),
}

/// What a commit needs to know of the event that it replaces.
pub(crate) struct Again<'a> {
    pub(crate) stored: &'a EventView,
    pub(crate) act: &'a Act,
    pub(crate) release: bool,
}

impl EventView {
    /// The event as it was received, as far as it is stored.
    ///
    /// # Errors
    /// Why it cannot be made again.
    pub fn event(&self, scheme: &Scheme) -> Result<Event, String> {
        let body = self
            .body
            .clone()
            .ok_or("its body is no longer kept: have the provider send it again")?;
        let occurred_at = self.occurred_at.as_ref().and_then(|at| at.parse().ok());
        let event = Event {
            source: self.source.clone(),
            namespace: self.namespace.clone(),
            scope: self.scope.clone(),
            id: self.id.clone(),
            kind: self.kind.clone(),
            occurred_at,
            tenant: self.tenant.clone(),
            id_signed: self.id_signed,
            guard_body: !self.id_signed,
            token: None,
            content_type: self.content_type.clone(),
            body: Bytes::from(body),
            data: Default::default(),
            defect: self.record.reason.clone().filter(|_| self.defect),
        };
        Ok(event.again(scheme))
    }
}

impl Ledger {
    /// Commits a stored event once more. A decision that fails or holds changes nothing but what is noted on the event.
    ///
    /// # Errors
    /// When nothing was written; see [`CommitError`].
    pub async fn replay(&self, replay: Replay<'_>) -> Result<Replayed, CommitError> {
        let Replay {
            stored,
            decision,
            now,
            actor,
            release,
            ..
        } = replay;
        let verb = if release { "release" } else { "replay" };
        let outcome = stored.record.outcome;
        if !matches!(outcome, Outcome::Failed | Outcome::Held | Outcome::Ignored) {
            return Ok(Replayed::Changed(stored.record.clone()));
        }
        let act = |detail: Option<String>| Act::new(verb, actor, outcome.as_str(), detail, now);
        if let Decision::Fail(reason) | Decision::Hold(reason) = decision {
            return self.stays(stored, &act(Some(reason.clone())), reason).await;
        }
        let was = act(stored
            .record
            .reason
            .clone()
            .map(|reason| format!("was: {reason}")));
        let again = Again {
            stored,
            act: &was,
            release,
        };
        let commit = Commit {
            event: replay.event,
            decision,
            keep: replay.keep,
            now,
            deadline: replay.deadline,
        };
        match self.commit_as(commit, Some(&again)).await {
            Ok(Committed::New(record)) => Ok(Replayed::Committed(record)),
            Ok(Committed::Duplicate(record)) => Ok(Replayed::Changed(record)),
            Err(CommitError::NotNow(reason)) => self.stays(stored, &act(Some(reason.clone())), &reason).await,
            Err(error) => Err(error),
        }
    }

    /// Takes a failed or held event off its list, for good; it expires after `keep`. It is not applied.
    ///
    /// # Errors
    /// When the database is busy or refuses.
    pub async fn dismiss(
        &self,
        stored: &EventView,
        keep: Keep,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let outcome = stored.record.outcome;
        let act = Act::new("discard", actor, outcome.as_str(), None, now);
        let expires_at = (now + keep.keys_for).max(now + LEFT).as_second();
        // Where it expires, counted from now.
        let moved = match stored.body_at.clone().filter(|name| large::is_kept(name)) {
            Some(from) => self.moved(from, false).await?,
            None => None,
        };
        let (set, same) = match &moved {
            Some(_) => (", body_at = :to", " AND body_at = :from"),
            None => ("", ""),
        };
        let mut update = Update::builder()
            .table_name(&self.table)
            .key("pk", attr::s(&stored.pk))
            .key("sk", attr::s(EVENT_SK))
            .update_expression(format!(
                "SET acts = :acts, expires_at = :expires{set} REMOVE #work, work_at"
            ))
            .condition_expression(format!(
                "commit_id = :seen AND v <= :v AND attribute_exists(#work){same}"
            ))
            .expression_attribute_names("#work", "work")
            .expression_attribute_values(":acts", acts::with(&stored.acts, &act))
            .expression_attribute_values(":expires", attr::n(expires_at))
            .expression_attribute_values(":seen", attr::s(&stored.commit_id))
            .expression_attribute_values(":v", attr::n(VERSION));
        if let Some(moved) = &moved {
            update = update
                .expression_attribute_values(":from", attr::s(&moved.from))
                .expression_attribute_values(":to", attr::s(&moved.to));
        }
        let written = self.update_alone(build(update.build()), "act").await?;
        if let Some(moved) = moved.filter(|_| written) {
            self.release(&moved.from).await;
        }
        Ok(written)
    }

    /// Notes on an event why it stays; the reason of a failed one is renewed.
    async fn stays(&self, stored: &EventView, act: &Act, reason: &str) -> Result<Replayed, CommitError> {
        let mut update = Update::builder()
            .table_name(&self.table)
            .key("pk", attr::s(&stored.pk))
            .key("sk", attr::s(EVENT_SK))
            .condition_expression("commit_id = :seen AND v <= :v")
            .expression_attribute_values(":acts", acts::with(&stored.acts, act))
            .expression_attribute_values(":seen", attr::s(&stored.commit_id))
            .expression_attribute_values(":v", attr::n(VERSION));
        update = if stored.record.outcome == Outcome::Failed {
            update
                .update_expression("SET acts = :acts, reason = :reason")
                .expression_attribute_values(":reason", attr::s(reason))
        } else {
            update.update_expression("SET acts = :acts")
        };
        match self.update_alone(build(update.build()), "act").await {
            Ok(true) => Ok(Replayed::Stays(reason.to_owned())),
            Ok(false) => {
                let now = self.event(&stored.pk).await.map_err(as_commit)?;
                let record = now.map_or_else(|| stored.record.clone(), |(view, _)| view.record);
                Ok(Replayed::Changed(record))
            }
            Err(error) => Err(as_commit(error)),
        }
    }
}
