//! Names: of keys, attributes and index partitions. Two different identities never make one key.

use std::fmt;

use oncehook_core::event::Event;
use sha2::{Digest, Sha256};

/// The item format this release writes. A reader that meets a newer one leaves the item alone.
pub const VERSION: u32 = 1;

/// The index of what is to be done, by `work` and `work_at` (milliseconds since the epoch).
pub(crate) const WORK_INDEX: &str = "work";

/// The sort key of an event's record.
pub(crate) const EVENT_SK: &str = "event";
/// The sort key of an event's body where it is kept for a shorter time than the record.
pub(crate) const BODY_SK: &str = "body";

/// Where an outbox item lies in the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct OutboxKey {
    pub(crate) pk: String,
    pub(crate) sk: String,
}

impl fmt::Display for OutboxKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.pk, self.sk)
    }
}

impl OutboxKey {
    pub(crate) fn new(event: &Event, rule: &str, effect: &str) -> Self {
        Self {
            pk: event_pk(event),
            sk: join("outbox", &[rule, effect]),
        }
    }

    /// A key as it shows itself: `event#.../outbox#rule#effect`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let at = text.rfind("/outbox#").filter(|_| text.starts_with("event#"))?;
        Some(Self::from_parts(&text[..at], &text[at + 1..]))
    }

    /// Its two parts: the event's key, and the item's within it.
    #[must_use]
    pub fn parts(&self) -> (&str, &str) {
        (&self.pk, &self.sk)
    }

    /// Namespace, scope and id of the event; none if one of them was too long to be kept in the key.
    #[must_use]
    pub fn event(&self) -> Option<(String, String, String)> {
        event_parts(&self.pk)
    }

    /// A key from its two parts, as [`Display`](fmt::Display) and the command line show them.
    #[must_use]
    pub fn from_parts(pk: &str, sk: &str) -> Self {
        Self {
            pk: pk.to_owned(),
            sk: sk.to_owned(),
        }
    }
}

pub(crate) fn event_pk(event: &Event) -> String {
    event_key(&event.namespace, &event.scope, &event.id)
}

/// The partition key of an event: `event#namespace#scope#id`.
#[must_use]
pub fn event_key(namespace: &str, scope: &str, id: &str) -> String {
    join("event", &[namespace, scope, id])
}

/// The parts of an event's key, if none of them was too long to be kept.
pub(crate) fn event_parts(pk: &str) -> Option<(String, String, String)> {
    let parts: Vec<&str> = pk.strip_prefix("event#")?.split('#').collect();
    let [namespace, scope, id] = parts[..] else {
        return None;
    };
    Some((unescape(namespace)?, unescape(scope)?, unescape(id)?))
}

pub(crate) fn once_pk(key: &str) -> String {
    join("once", &[key])
}

pub(crate) fn newer_pk(rule: &str, of: &str) -> String {
    join("newer", &[rule, of])
}

pub(crate) fn body_guard_pk(event: &Event, sha256: &str) -> String {
    join("body", &[&event.source, &event.scope, &event.kind, sha256])
}

pub(crate) fn token_guard_pk(event: &Event, token: &str) -> String {
    join("token", &[&event.source, token])
}

pub(crate) fn destination_pk(name: &str) -> String {
    join("destination", &[name])
}

/// The index partition of the open items of one destination and shard.
pub(crate) fn open_work(destination: &str, shard: u32) -> String {
    join("open", &[destination, &shard.to_string()])
}

/// The index partition of a list that a person sees: `parked`, `dead` (by destination), `failed`, `held` (by source).
pub(crate) fn list_work(list: &str, of: &str) -> String {
    join(list, &[of])
}

/// The shard of an outbox item: fixed by its key, spread evenly.
pub(crate) fn shard(key: &OutboxKey, shards: u32) -> u32 {
    let digest = Sha256::new()
        .chain_update(&key.pk)
        .chain_update([0])
        .chain_update(&key.sk)
        .finalize();
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) % shards.max(1)
}

/// `kind#part#part`, each part escaped so that the separator cannot come from a part.
fn join(kind: &str, parts: &[&str]) -> String {
    parts.iter().fold(kind.to_owned(), |mut key, part| {
        key.push('#');
        key.push_str(&escape(part));
        key
    })
}

/// Keys hold 2,048 bytes: a part that is longer once escaped is replaced by its digest, marked with an escape that
/// no other part has.
fn escape(part: &str) -> String {
    const LONGEST: usize = 400;
    let escaped = part.replace('%', "%25").replace('#', "%23");
    if escaped.len() > LONGEST {
        return format!("%s{}", hex::encode(Sha256::digest(part.as_bytes())));
    }
    escaped
}

/// The part again; none for a digest.
fn unescape(part: &str) -> Option<String> {
    (!part.starts_with("%s")).then(|| part.replace("%23", "#").replace("%25", "%"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn two_different_ids_never_share_a_key(a in "[a%#:0-9s]{0,6}", b in "[a%#:0-9s]{0,6}", c in "[a%#:0-9s]{0,6}", d in "[a%#:0-9s]{0,6}") {
            prop_assert_eq!(join("event", &[&a, &b]) == join("event", &[&c, &d]), (a, b) == (c, d));
        }

        #[test]
        fn the_parts_of_a_key_come_back(a in "[a%#:0-9s]{0,6}", b in "[a%#235s]{0,6}", c in "[a%#:0-9s]{0,6}") {
            let key = event_key(&a, &b, &c);
            prop_assert_eq!(event_parts(&key), Some((a, b, c)));
        }

        #[test]
        fn long_parts_stay_distinct_and_short(a in "[a#%]{100,500}", b in "[a#%]{100,500}") {
            prop_assert_eq!(escape(&a) == escape(&b), a == b);
            prop_assert!(escape(&a).len() <= 400);
        }
    }
}
