//! What must happen for one event, decided before anything is written.
//!
//! A [`Handler`] makes a [`Plan`]; `oncehook-store` commits it whole or not at all. A plan names logical
//! tables and destinations only. It performs nothing.

mod combine;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::Value;

use crate::{decimal::Decimal, event::Event, outbox::KeyShape};

/// Decides what an event does. `Rules` (made from oncehook.toml) is one; write another in Rust for logic
/// that rules cannot express. Must be deterministic: a plan may be made again for the same event.
pub trait Handler: Send + Sync {
    /// The plan for one event; a plan without rules records the event as ignored.
    ///
    /// # Errors
    /// When the event cannot be handled as it is. It is then kept as failed and can be replayed.
    fn plan(&self, event: &Event) -> Result<Plan, PlanError>;
}

/// The most actions that the rules of one plan may take. DynamoDB's limit is 100 a transaction; the event
/// record and guards of the body need a place, too.
pub const MAX_ACTIONS: usize = 90;

/// Everything that happens for one event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The rules that matched, in the order of the configuration.
    pub rules: Vec<RulePlan>,
    /// The body of the answer to the provider, if a rule sets one.
    pub response: Option<Value>,
}

/// What one rule does. It is applied whole or skipped whole.
#[derive(Debug, Clone, PartialEq)]
pub struct RulePlan {
    /// The rule's name; part of outbox keys and idempotency keys.
    pub rule: String,
    /// Conditions under which the whole rule is skipped.
    pub guards: Vec<Guard>,
    /// Changes to the user's own tables.
    pub updates: Vec<Update>,
    /// Calls to make after the commit.
    pub effects: Vec<Effect>,
}

/// A row in Oncehook's table that lets a rule apply or be skipped.
#[derive(Debug, Clone, PartialEq)]
pub enum Guard {
    /// The first event with this key wins; later ones skip the rule.
    Once {
        /// The operation's identity, across events and providers.
        key: String,
        /// How long the key is held; for ever if absent.
        lasts: Option<SignedDuration>,
    },
    /// An older event never overwrites a newer one; an equal order applies.
    Newer {
        /// What is ordered, such as a subscription's id.
        of: String,
        /// Where this event stands: epoch nanoseconds, or the provider's sequence number.
        order: Decimal,
    },
}

/// One change to one row of a table of the user's.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The table's name in oncehook.toml.
    pub table: String,
    /// The row's primary key.
    pub key: BTreeMap<String, Attr>,
    /// Attributes to set.
    pub set: BTreeMap<String, Attr>,
    /// Numbers to add to attributes (negative subtracts).
    pub add: BTreeMap<String, Decimal>,
    /// Attributes to remove.
    pub remove: Vec<String>,
    /// A condition on the row as it is.
    pub condition: Option<Condition>,
    /// What to do when the condition or `must_exist` does not hold.
    pub on_condition: OnCondition,
    /// Whether the row must exist already.
    pub must_exist: bool,
}

/// A DynamoDB condition expression. `#name` stands for the attribute `name`, `:name` for a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The expression, as in DynamoDB's developer guide ("Comparison operator and function reference").
    pub expression: String,
    /// The values, without the colon.
    pub values: BTreeMap<String, Attr>,
}

/// What a condition that does not hold means for the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnCondition {
    /// The event is kept as failed: nobody expected this.
    #[default]
    Fail,
    /// The whole rule is skipped; other rules apply.
    Skip,
    /// Nothing is written and the provider is asked to come again (503).
    Retry,
}

/// A value of a DynamoDB attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attr {
    /// String.
    S(String),
    /// Number, exact to 38 digits.
    N(Decimal),
    /// Boolean.
    Bool(bool),
    /// Null.
    Null,
    /// List.
    L(Vec<Attr>),
    /// Map.
    M(BTreeMap<String, Attr>),
}

/// A call to a destination, to be made after the commit and at most once as far as the destination allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The effect's name, unique within its rule.
    pub name: String,
    /// The destination's name in oncehook.toml.
    pub destination: String,
    /// The request, rendered. Never changes under one idempotency key.
    pub request: RenderedRequest,
    /// How the destination wants its idempotency keys.
    pub key: KeyShape,
    /// How long delivery is tried.
    pub give_up_after: SignedDuration,
}

/// A request as it will be sent, without secrets: authentication is added at delivery. For the kinds of AWS it is a call of
/// the service: its name, the target, and its parameters.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RenderedRequest {
    /// The HTTP method; `SendMessage`, `Invoke` or `PutEvents` for AWS.
    pub method: String,
    /// The whole URL; for AWS the queue's URL, the function or the bus.
    pub url: String,
    /// Headers beside authentication, idempotency and content type; for AWS parameters of the call.
    pub headers: Vec<(String, String)>,
    /// The `Content-Type`; absent with [`EffectBody::Event`], which keeps the event's own.
    pub content_type: Option<String>,
    /// The body.
    pub body: EffectBody,
}

/// What a rendered request carries.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectBody {
    /// This text.
    Text(String),
    /// The exact bytes of the event, read from its record at delivery.
    Event,
}

/// Why no plan could be made. The event is kept as failed, with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A value that a rule needs is not in the event.
    #[error("rule `{rule}`: {place}: the event has nothing at {path}")]
    Missing {
        /// The rule.
        rule: String,
        /// Where in the rule, such as `update.key.customer_id`.
        place: String,
        /// The JSON Pointer or dotted path.
        path: String,
    },
    /// A template or expression failed.
    #[error("rule `{rule}`: {place}: {reason}")]
    Template {
        /// The rule.
        rule: String,
        /// Where in the rule.
        place: String,
        /// What the template engine said.
        reason: String,
    },
    /// A value is there but cannot be used: wrong type, number too long for DynamoDB, not a time.
    #[error("rule `{rule}`: {place}: {reason}")]
    Value {
        /// The rule.
        rule: String,
        /// Where in the rule.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two actions on one row, which one transaction cannot hold.
    #[error(
        "rules `{first}` and `{second}` both write {row}: merge them, or give them disjoint attributes and no conditions"
    )]
    SameRow {
        /// One rule.
        first: String,
        /// The other.
        second: String,
        /// The row.
        row: String,
    },
    /// More actions than one transaction can hold.
    #[error("the plan has {actions} actions, more than {MAX_ACTIONS}: split the rules")]
    TooManyActions {
        /// How many.
        actions: usize,
    },
    /// Two rules set the answer.
    #[error("rules `{first}` and `{second}` both set the response: one at most can")]
    TwoResponses {
        /// One rule.
        first: String,
        /// The other.
        second: String,
    },
    /// Reported by a handler written in Rust.
    #[error("{0}")]
    Handler(String),
}
