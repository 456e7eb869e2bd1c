//! oncehook.toml as types. Reading and checking it is [`Config::parse`]; nothing here knows the environment:
//! secrets are names, tables are logical.

mod destination;
mod kept;
mod kind;
mod parse;
mod reader;
mod report;
mod rule;
mod source;
mod units;
mod update;
mod url;
mod value;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::{
    decide::Mode, outbox::KeyShape, plan::OnCondition, preset::Preset, settle::OnAmbiguous, verify::Scheme,
};

pub use kind::{FIFO_RETENTION, Kind};
pub use report::ConfigErrors;
pub(crate) use report::suggestion;
pub use units::show;

/// The whole configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// `[source.NAME]`.
    pub sources: BTreeMap<String, SourceConfig>,
    /// `[table.NAME]`.
    pub tables: BTreeMap<String, TableConfig>,
    /// `[[rule]]`, in order.
    pub rules: Vec<RuleConfig>,
    /// `[destination.NAME]`.
    pub destinations: BTreeMap<String, DestinationConfig>,
    /// `[outbox] shards`: how many ways each destination's open items are spread in the index; may only grow.
    pub shards: u32,
}

/// One provider's endpoint, at `/webhooks/NAME`.
#[derive(Debug, Clone)]
pub struct SourceConfig {
    /// Its name.
    pub name: String,
    /// How its requests are signed and read.
    pub scheme: Scheme,
    /// Names of its secrets, each with one or more values in the environment.
    pub secrets: Vec<String>,
    /// The URL of the endpoint as the provider was told it, for schemes that sign it.
    pub public_url: Option<String>,
    /// The name of the secret with the token that a set-up request must know, for schemes that have such.
    pub verify_token: Option<String>,
    /// How far a signed time may be from now, either way; the scheme's own if absent.
    pub tolerance: Option<SignedDuration>,
    /// The status of every acknowledgement: 200 to 299.
    pub success: u16,
    /// The first part of its events' identity.
    pub namespace: String,
    /// Whether its rules take effect.
    pub mode: Mode,
    /// Events that occurred earlier are held.
    pub not_before: Option<Timestamp>,
    /// Until then a provider may hand over a secret, for schemes in which it does.
    pub enrol_until: Option<Timestamp>,
    /// Whether a body takes effect under one id only, where the id is not signed.
    pub body_guard: bool,
    /// If not empty, only requests from these networks are looked at.
    pub networks: Vec<ipnet::IpNet>,
    /// The largest body, in bytes.
    pub max_body: usize,
    /// How long bodies are kept.
    pub retention: SignedDuration,
    /// How long event ids are remembered: at least `retention`.
    pub keys_for: SignedDuration,
    /// How long a commit may take before the provider is asked to come again (503).
    pub budget: SignedDuration,
}

impl SourceConfig {
    /// The names of all secrets that it uses.
    pub fn secret_names(&self) -> impl Iterator<Item = &String> {
        self.secrets.iter().chain(&self.verify_token)
    }
}

/// One of the user's own tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableConfig {
    /// The primary key: one or two attributes, each with its type.
    pub key: BTreeMap<String, KeyType>,
}

/// The type of a key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    /// String.
    S,
    /// Number.
    N,
}

/// One rule.
#[derive(Debug, Clone)]
pub struct RuleConfig {
    /// Its name, unique.
    pub name: String,
    /// The source whose events it takes.
    pub source: String,
    /// Event kinds; `*` at the end stands for anything.
    pub events: Vec<String>,
    /// A minijinja expression that must hold.
    pub when: Option<String>,
    /// A minijinja template: one application per result.
    pub once_per: Option<String>,
    /// How long that result is remembered; for ever if absent.
    pub once_for: Option<SignedDuration>,
    /// What must not go backwards.
    pub newer_by: Option<NewerBy>,
    /// The answer's body, field by field.
    pub response: BTreeMap<String, ValueSpec>,
    /// Changes to tables.
    pub updates: Vec<UpdateConfig>,
    /// Calls to destinations.
    pub effects: Vec<EffectConfig>,
}

/// `newer_by = { of, at }`.
#[derive(Debug, Clone, PartialEq)]
pub struct NewerBy {
    /// What is ordered.
    pub of: ValueSpec,
    /// Its order in time: an RFC 3339 time, epoch seconds, or any number that only grows.
    pub at: ValueSpec,
}

/// `[[rule.update]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateConfig {
    /// The table's logical name.
    pub table: String,
    /// The row's key.
    pub key: BTreeMap<String, ValueSpec>,
    /// Attributes to set.
    pub set: BTreeMap<String, ValueSpec>,
    /// Numbers to add.
    pub add: BTreeMap<String, ValueSpec>,
    /// Attributes to remove.
    pub remove: Vec<String>,
    /// A DynamoDB condition expression with `#name` and `:value`.
    pub condition: Option<String>,
    /// Its values.
    pub values: BTreeMap<String, ValueSpec>,
    /// What an unmet condition means.
    pub on_condition: OnCondition,
    /// Whether the row must exist: yes unless said otherwise.
    pub must_exist: bool,
}

/// `[[rule.effect]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectConfig {
    /// Its name within the rule.
    pub name: String,
    /// The destination's name.
    pub destination: String,
    /// The body: a minijinja template, or `body = { event = true }`.
    pub body: BodyConfig,
    /// A template appended to the destination's URL as path segments; its values are percent-encoded.
    pub path: Option<String>,
    /// A template for the message group of a queue.
    pub group: Option<String>,
}

/// An effect's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyConfig {
    /// A template.
    Template(String),
    /// The exact bytes of the event.
    Event,
}

/// Where a value comes from. In TOML: `"/a/b"` is a JSON Pointer (RFC 6901) into the event, a number or a
/// boolean is itself, and a table says the rest: `{ pointer, as = "string", default, negate = true }`, `{ literal }`,
/// `{ template, as = "number" }`, `{ meta = "id" | "kind" | "source" | "scope" | "occurred_at" }`.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueSpec {
    /// From the event's body.
    Pointer {
        /// RFC 6901.
        pointer: String,
        /// A conversion.
        convert: Option<Convert>,
        /// If nothing is there.
        default: Option<serde_json::Value>,
        /// Whether a number changes its sign, to subtract it.
        negate: bool,
    },
    /// Fixed.
    Literal(serde_json::Value),
    /// Rendered.
    Template {
        /// The minijinja template.
        template: String,
        /// A conversion; text otherwise.
        convert: Option<Convert>,
    },
    /// From the event's envelope.
    Meta(Meta),
}

/// `as = ...`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convert {
    /// The text as it stands; keeps numbers beyond 38 digits.
    String,
    /// A number from text.
    Number,
}

/// A field of the event's envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meta {
    /// The provider's event id.
    Id,
    /// The event type.
    Kind,
    /// The source's name.
    Source,
    /// The scope.
    Scope,
    /// When it occurred, RFC 3339.
    OccurredAt,
}

/// One API, queue, function or bus to call.
#[derive(Debug, Clone)]
pub struct DestinationConfig {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What is known about the API, if it is one of those that are.
    pub preset: Option<&'static Preset>,
    /// Where: https, or http to a loopback address. With the kinds of AWS the queue's URL, empty where only the environment
    /// says it, or the name or ARN of the function or bus.
    pub url: String,
    /// The method; POST unless said otherwise. With the kinds of AWS the name of the call.
    pub method: String,
    /// The content type of rendered bodies; `application/json` unless said otherwise.
    pub content_type: String,
    /// Fixed headers.
    pub headers: BTreeMap<String, String>,
    /// How a call is authenticated.
    pub auth: Auth,
    /// The name of its secret.
    pub secret: Option<String>,
    /// How it takes idempotency keys; absent if it knows none.
    pub idempotency: Option<Idempotency>,
    /// When an effect may have happened and it knows no keys.
    pub on_ambiguous: OnAmbiguous,
    /// The longest one call may take.
    pub timeout: SignedDuration,
    /// How long delivery is tried.
    pub give_up_after: SignedDuration,
    /// How many calls at once, in one function instance.
    pub concurrency: usize,
}

/// How a call is authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// Not at all.
    None,
    /// `Authorization: Bearer SECRET`: the default where there is a secret.
    Bearer,
    /// A header of this name with the secret.
    Header(String),
    /// HTTP's basic authentication: with this user, or with a secret that is `user:password`.
    Basic(Option<String>),
    /// `sign = "standard-webhooks"`: webhook-id, webhook-timestamp, webhook-signature.
    StandardWebhooks,
}

/// `idempotency = { header | field, format, max_length, retention, quoted, stores_errors }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// Where the key goes.
    pub place: KeyPlace,
    /// The key's form.
    pub shape: KeyShape,
    /// How long the destination remembers a key.
    pub retention: SignedDuration,
    /// Whether the value is quoted, as in the IETF draft's structured field.
    pub quoted: bool,
    /// Whether a repetition gets a stored error again, server errors included.
    pub stores_errors: bool,
    /// A place in the body and the text that must be in it, or the key is not looked at.
    pub needs: Option<(&'static str, &'static str)>,
}

/// Where a key goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// Into this header; `Idempotency-Key` unless said otherwise.
    Header(String),
    /// Into the JSON body, at this JSON Pointer.
    Field(String),
    /// Where the kind of AWS has its place for it: see `message`.
    Message,
}

impl DestinationConfig {
    /// Whether its bodies are form-encoded.
    #[must_use]
    pub fn is_form(&self) -> bool {
        crate::rules::request::is_form(&self.content_type)
    }
}
