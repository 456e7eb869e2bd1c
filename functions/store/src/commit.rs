//! One event with everything that happens for it, written together or not at all.
//!
//! Plans again, without the rules that a guard skips, until DynamoDB takes it or the deadline passes.

use std::{collections::BTreeMap, time::Duration};

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{decide::Decision, event::Event, plan::Plan};
use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    actions::{Action, Place, Stored},
    answer,
    attr::{self, Item},
    error::CommitError,
    large::Placing,
    ledger::Ledger,
    queue::Wakeup,
    reasons::Verdict,
    record::{Outcome, Record, RuleResult},
    replay::Again,
};

/// How long an event is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Its body.
    pub retention: SignedDuration,
    /// Its id: at least as long.
    pub keys_for: SignedDuration,
}

/// What to commit.
#[derive(Debug, Clone, Copy)]
pub struct Commit<'a> {
    /// The event.
    pub event: &'a Event,
    /// What is to be written for it.
    pub decision: &'a Decision,
    /// How long it is kept.
    pub keep: Keep,
    /// When it was received.
    pub now: Timestamp,
    /// When to stop trying.
    pub deadline: Instant,
}

/// The event is durable.
#[derive(Debug, Clone, PartialEq)]
pub enum Committed {
    /// By this commit.
    New(Record),
    /// By an earlier one, whose record this is.
    Duplicate(Record),
}

/// What one try is to write.
struct Attempt {
    outcome: Outcome,
    reason: Option<String>,
    /// Rules skipped so far, by position in the plan.
    skipped: BTreeMap<usize, String>,
}

impl Ledger {
    /// Commits an event.
    ///
    /// # Errors
    /// When nothing was committed; see [`CommitError`] for what to answer.
    pub async fn commit(&self, commit: Commit<'_>) -> Result<Committed, CommitError> {
        self.commit_as(commit, None).await
    }

    /// Commits an event, or one that is stored already once more. What is stored is replaced only by what takes effect:
    /// a failure then is [`CommitError::NotNow`], and nothing is written.
    pub(crate) async fn commit_as(
        &self,
        commit: Commit<'_>,
        again: Option<&Again<'_>>,
    ) -> Result<Committed, CommitError> {
        let mut placing = Placing::new(self, commit.event, again)?;
        if placing.is_large()
            && again.is_none()
            && let Some(stored) = placing
                .duplicate(commit.event, commit.decision, commit.deadline)
                .await?
        {
            return Ok(Committed::Duplicate(stored));
        }
        let committed = self.commit_with(&commit, again, &mut placing).await;
        placing.tidy(&committed).await;
        committed
    }

    async fn commit_with(
        &self,
        commit: &Commit<'_>,
        again: Option<&Again<'_>>,
        placing: &mut Placing<'_>,
    ) -> Result<Committed, CommitError> {
        let commit_id = Uuid::new_v4().to_string();
        let nothing = Plan::default();
        let (plan, mut attempt) = first_attempt(commit.decision, &nothing);
        let mut tries: u32 = 0;
        loop {
            tries += 1;
            let kept = matches!(attempt.outcome, Outcome::Failed | Outcome::Held);
            let body = placing.item(kept, commit.deadline).await?;
            let (places, writes, mut record) = self.build(commit, again, &commit_id, plan, &attempt, &body);
            let verdict = match tokio::time::timeout_at(commit.deadline, self.write(&places, writes)).await {
                Ok(None) => return Ok(Committed::New(record)),
                Ok(Some(verdict)) => verdict,
                Err(_) => {
                    return Err(CommitError::Busy {
                        attempts: tries,
                        detail: "no answer in time".to_owned(),
                    });
                }
            };
            match verdict {
                Verdict::Exists(item) => {
                    let own = attr::text(&item, "commit_id").as_deref() == Some(commit_id.as_str());
                    let stored = Record::load(&item);
                    return Ok(if own {
                        record.received_at = stored.received_at;
                        Committed::New(record)
                    } else {
                        Committed::Duplicate(stored)
                    });
                }
                Verdict::Again(detail) => pause(commit.deadline, tries, detail).await?,
                Verdict::Fail(reason) | Verdict::Hold(reason) if again.is_some() => {
                    return Err(CommitError::NotNow(reason));
                }
                Verdict::Skip(rules) => attempt.skipped.extend(rules),
                Verdict::Fail(reason) if attempt.outcome != Outcome::Failed => {
                    attempt.alone(Outcome::Failed, reason);
                }
                Verdict::Hold(reason) if attempt.outcome != Outcome::Held => {
                    attempt.alone(Outcome::Held, reason);
                }
                Verdict::NotNow(reason) => return Err(CommitError::NotNow(reason)),
                Verdict::Fail(reason) | Verdict::Hold(reason) | Verdict::Broken(reason) => {
                    return Err(CommitError::Broken(reason));
                }
            }
        }
    }

    fn build(
        &self,
        commit: &Commit<'_>,
        again: Option<&Again<'_>>,
        commit_id: &str,
        plan: &Plan,
        attempt: &Attempt,
        body: &Item,
    ) -> (Vec<Place>, Vec<TransactWriteItem>, Record) {
        let alone = attempt.reason.is_some() || attempt.outcome == Outcome::Observed;
        let rules: Vec<RuleResult> = match (commit.decision, alone) {
            (Decision::Observe(names), _) => {
                let why = "the source only observes";
                names
                    .iter()
                    .map(|rule| RuleResult {
                        rule: rule.clone(),
                        skipped: Some(why.to_owned()),
                    })
                    .collect()
            }
            (_, true) => Vec::new(),
            (_, false) => attempt.results(plan),
        };
        let outcome = match attempt.outcome {
            Outcome::Applied if plan.rules.is_empty() => Outcome::Ignored,
            Outcome::Applied if rules.iter().all(|rule| rule.skipped.is_some()) => Outcome::Skipped,
            other => other,
        };
        let response = plan.response.as_ref().filter(|_| !alone).map(ToString::to_string);
        let stored = Stored {
            event: commit.event,
            keep: commit.keep,
            commit_id,
            now: commit.now,
            outcome,
            reason: attempt.reason.as_deref(),
            rules: &rules,
            response: response.as_deref(),
            body,
            again,
        };
        let mut actions = self.event_actions(&stored);
        let mut wakeups: Vec<Wakeup> = Vec::new();
        let released = again.is_some_and(|again| again.release);
        // An event that failed has used its token as well. One that is held or observed takes nobody's.
        if let Some(token) = &commit.event.token
            && !released
            && !matches!(attempt.outcome, Outcome::Held | Outcome::Observed)
        {
            actions.push(self.token_guard(&stored, token));
        }
        if !alone {
            if commit.event.guard_body && !released {
                actions.push(self.body_guard(&stored));
            }
            let kept = plan
                .rules
                .iter()
                .enumerate()
                .filter(|(index, _)| !attempt.skipped.contains_key(index));
            for (index, rule) in kept {
                let (more, wake) = self.rule_actions(&stored, index, rule);
                actions.extend(more);
                wakeups.extend(wake);
            }
        }
        let (places, writes) = actions
            .into_iter()
            .map(|Action { place, write }| (place, write))
            .unzip();
        let record = Record {
            outcome,
            reason: attempt.reason.clone(),
            rules,
            response,
            received_at: again.map_or(Some(commit.now), |again| again.stored.record.received_at),
            wakeups,
        };
        (places, writes, record)
    }

    /// Sends one try; `None` if it was taken. A lone Put costs half the units of a transaction.
    async fn write(&self, places: &[Place], mut writes: Vec<TransactWriteItem>) -> Option<Verdict> {
        if writes.len() == 1
            && let Some(put) = writes.pop().and_then(|write| write.put)
        {
            return self.write_one(places, put).await;
        }
        let sent = self
            .client
            .transact_write_items()
            .set_transact_items(Some(writes))
            .send()
            .await;
        sent.err().map(|error| answer::read_transaction(places, &error))
    }

    async fn write_one(&self, places: &[Place], put: Put) -> Option<Verdict> {
        let sent = self
            .client
            .put_item()
            .table_name(put.table_name)
            .set_item(Some(put.item))
            .set_condition_expression(put.condition_expression)
            .set_expression_attribute_names(put.expression_attribute_names)
            .set_expression_attribute_values(put.expression_attribute_values)
            .set_return_values_on_condition_check_failure(put.return_values_on_condition_check_failure)
            .send()
            .await;
        sent.err().map(|error| answer::read_put(places, &error))
    }
}

impl Attempt {
    fn alone(&mut self, outcome: Outcome, reason: String) {
        self.outcome = outcome;
        self.reason = Some(reason);
    }

    fn results(&self, plan: &Plan) -> Vec<RuleResult> {
        let rules = plan.rules.iter().enumerate();
        rules
            .map(|(index, rule)| RuleResult {
                rule: rule.rule.clone(),
                skipped: self.skipped.get(&index).cloned(),
            })
            .collect()
    }
}

fn first_attempt<'a>(decision: &'a Decision, nothing: &'a Plan) -> (&'a Plan, Attempt) {
    let (plan, outcome, reason) = match decision {
        Decision::Apply(plan) => (plan, Outcome::Applied, None),
        Decision::Observe(_) => (nothing, Outcome::Observed, None),
        Decision::Hold(reason) => (nothing, Outcome::Held, Some(reason.clone())),
        Decision::Fail(reason) => (nothing, Outcome::Failed, Some(reason.clone())),
    };
    (
        plan,
        Attempt {
            outcome,
            reason,
            skipped: BTreeMap::new(),
        },
    )
}

/// Waits a little, more each time, never past the deadline.
async fn pause(deadline: Instant, tries: u32, detail: String) -> Result<(), CommitError> {
    let ceiling = 20_u64.saturating_mul(1 << tries.min(5));
    let wait = Duration::from_millis(fastrand::u64(5..=ceiling));
    if Instant::now() + wait >= deadline {
        return Err(CommitError::Busy {
            attempts: tries,
            detail,
        });
    }
    tokio::time::sleep(wait).await;
    Ok(())
}
