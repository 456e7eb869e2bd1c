//! One effect waiting to be delivered, and the key under which the destination recognises it.
//!
//! How an item is stored and addressed is the store's matter; what an attempt means is `settle`'s.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use crate::plan::RenderedRequest;

/// An effect in the outbox, as read by a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxItem {
    /// The source of its event.
    pub source: String,
    /// Whose event it was (for fair queues).
    pub tenant: String,
    /// The rule that asked for it.
    pub rule: String,
    /// The effect's name within the rule.
    pub effect: String,
    /// The destination's name.
    pub destination: String,
    /// The request, rendered at commit.
    pub request: RenderedRequest,
    /// The key sent with every attempt of this generation.
    pub idempotency_key: String,
    /// 0 at commit; one more each time a person decides to send under a new key.
    pub generation: u32,
    /// Attempts claimed, this one included.
    pub attempts: u32,
    /// When it was committed.
    pub created_at: Timestamp,
    /// Since when it is due. What lies between this and a claim was our waiting (a pause, a queue), not an attempt.
    pub due_at: Timestamp,
    /// After this, delivery is given up; waiting does not count.
    pub give_up_at: Timestamp,
    /// The first time under this key that the request may have reached the destination.
    pub maybe_sent_at: Option<Timestamp>,
    /// Answers of the server-error kind in a row, all with the same status.
    pub server_errors: u32,
    /// The status of the last such answer.
    pub last_status: Option<u16>,
    /// How long its event, the body included, is kept for certain; unknown for an item of an odd make.
    pub kept_until: Option<Timestamp>,
    /// Its event has been kept beyond that already: it expires only once all its items are done.
    pub kept: bool,
}

/// Where an outbox item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxState {
    /// Waiting for delivery.
    Open,
    /// Delivered.
    Done,
    /// Refused or given up, and certainly without effect; a person decides.
    Dead,
    /// May have had an effect and cannot safely be sent again; a person decides.
    Parked,
    /// Dropped by a person.
    Discarded,
}

/// How a destination wants its idempotency keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyShape {
    /// Hex digits or a UUID.
    pub format: KeyFormat,
    /// The longest key accepted, in characters.
    pub max_length: usize,
}

/// The characters of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFormat {
    /// Lower-case hex digits.
    Hex,
    /// A UUID of version 8 (RFC 9562, section 5.8): 122 bits of the hash.
    Uuid,
}

impl KeyShape {
    /// 64 hex digits, which every API with a header of its own accepts.
    pub const DEFAULT: Self = Self {
        format: KeyFormat::Hex,
        max_length: 64,
    };
    /// The shortest key that still cannot collide by chance: 128 bits of the hash.
    pub const SHORTEST: usize = 32;
}

/// The identity of an effect: what its idempotency key is made of.
#[derive(Debug, Clone, Copy)]
pub struct EffectId<'a> {
    /// The event's namespace.
    pub namespace: &'a str,
    /// The event's scope.
    pub scope: &'a str,
    /// The event's id.
    pub id: &'a str,
    /// The rule.
    pub rule: &'a str,
    /// The effect.
    pub effect: &'a str,
    /// The generation.
    pub generation: u32,
}

impl EffectId<'_> {
    /// The idempotency key: SHA-256 over the parts, each preceded by its length, so that no two identities
    /// share an input; cut or formatted as the destination wants.
    #[must_use]
    pub fn key(&self, shape: KeyShape) -> String {
        let mut hash = Sha256::new();
        for part in [self.namespace, self.scope, self.id, self.rule, self.effect] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(self.generation.to_be_bytes());
        let digest = hash.finalize();
        match shape.format {
            KeyFormat::Hex => {
                let mut key = hex::encode(digest);
                key.truncate(shape.max_length.max(KeyShape::SHORTEST));
                key
            }
            KeyFormat::Uuid => {
                let mut bytes = [0_u8; 16];
                bytes.copy_from_slice(&digest[..16]);
                bytes[6] = (bytes[6] & 0x0f) | 0x80;
                bytes[8] = (bytes[8] & 0x3f) | 0x80;
                let text = hex::encode(bytes);
                format!(
                    "{}-{}-{}-{}-{}",
                    &text[..8],
                    &text[8..12],
                    &text[12..16],
                    &text[16..20],
                    &text[20..]
                )
            }
        }
    }
}

/// How long delivery is tried unless the destination says otherwise.
pub const GIVE_UP_AFTER: SignedDuration = SignedDuration::from_hours(72);
