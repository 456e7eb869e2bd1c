//! What one verified request says happened. Made by `Source::events`, read by handlers and the ledger.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

use crate::verify::Scheme;

/// One event of a provider: the unit that takes effect once.
#[derive(Debug, Clone)]
pub struct Event {
    /// The source's name in oncehook.toml.
    pub source: String,
    /// The first part of the event's identity: the scheme, unless configured, so that renaming a source forgets nothing.
    pub namespace: String,
    /// What makes a provider's id unique: account and mode, shop, team. Empty where ids are unique by themselves.
    pub scope: String,
    /// The provider's id, or `sha256:{hex of the body}` for an event with a [`defect`](Self::defect).
    pub id: String,
    /// The provider's event type, such as `invoice.payment_succeeded`.
    pub kind: String,
    /// When it happened, as the provider says; not when it was delivered.
    pub occurred_at: Option<Timestamp>,
    /// Whose event it is, for fair queues and lists; the scope unless configured.
    pub tenant: String,
    /// Whether the signature covers the id.
    pub id_signed: bool,
    /// Whether the ledger guards the body as well, so that it takes effect under one id only: if the id is not signed,
    /// unless the source is configured otherwise.
    pub guard_body: bool,
    /// What the provider uses for one event only, where that is all it signs (Mailgun). The ledger takes it once.
    pub token: Option<String>,
    /// The request's `Content-Type`.
    pub content_type: Option<String>,
    /// The event's bytes: the request body, or one element of a batch.
    pub body: Bytes,
    /// The body parsed, numbers kept as written. `Null` if there is a defect.
    pub data: Arc<Value>,
    /// Why a genuine request could not be read as an event: not JSON, or without an id. Such an event is kept as failed.
    pub defect: Option<String>,
}

impl Event {
    /// An event whose body was stored, its data read again as the scheme reads it. What cannot be read is a defect; one
    /// that the event has stays.
    #[must_use]
    pub fn again(mut self, scheme: &Scheme) -> Self {
        if self.defect.is_none() {
            match scheme.data(&self.body, self.content_type.as_deref()) {
                Ok(data) => {
                    self.token = scheme.token(&data);
                    self.data = Arc::new(data);
                }
                Err(why) => self.defect = Some(format!("the stored body cannot be read again: {why}")),
            }
        }
        self
    }
}
