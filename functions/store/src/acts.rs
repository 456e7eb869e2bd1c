//! What people did to an item or event, as recorded on it. Builds and reads attributes; writes nothing.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use uuid::Uuid;

use crate::attr::{self, Item};

/// So many acts are kept on one item, the latest ones.
const KEPT: usize = 20;

/// Who acts, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// A name that others understand: `user@host`, the ARN of a caller.
    pub by: String,
    /// The reason given.
    pub why: Option<String>,
}

/// One act of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// retry, resend, park, discard, replay or release.
    pub act: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: Option<Timestamp>,
    /// The reason given.
    pub why: Option<String>,
    /// The state or outcome before.
    pub before: String,
    /// What else is worth knowing: the key left behind, what came of a replay.
    pub detail: Option<String>,
    pub(crate) id: String,
}

impl Act {
    pub(crate) fn new(
        act: &str,
        actor: &Actor,
        before: &str,
        detail: Option<String>,
        now: Timestamp,
    ) -> Self {
        Self {
            act: act.to_owned(),
            by: actor.by.clone(),
            at: Some(now),
            why: actor.why.clone(),
            before: before.to_owned(),
            detail,
            id: Uuid::new_v4().to_string(),
        }
    }

    fn store(&self) -> AttributeValue {
        let mut map = attr::item([
            ("id", attr::s(&self.id)),
            ("act", attr::s(&self.act)),
            ("by", attr::s(&self.by)),
            ("before", attr::s(&self.before)),
        ]);
        if let Some(at) = self.at {
            map.insert("at".to_owned(), attr::millis(at));
        }
        for (name, text) in [("why", &self.why), ("detail", &self.detail)] {
            if let Some(text) = text {
                map.insert(name.to_owned(), attr::s(text));
            }
        }
        AttributeValue::M(map)
    }
}

/// The attribute with one act more.
pub(crate) fn with(acts: &[Act], act: &Act) -> AttributeValue {
    let all: Vec<AttributeValue> = acts.iter().chain([act]).map(Act::store).collect();
    let skipped = all.len().saturating_sub(KEPT);
    AttributeValue::L(all.into_iter().skip(skipped).collect())
}

/// The acts on an item, oldest first.
pub(crate) fn load(item: &Item) -> Vec<Act> {
    let list = item.get("acts").and_then(|acts| acts.as_l().ok());
    let one = |value: &AttributeValue| {
        let map = value.as_m().ok()?;
        Some(Act {
            id: attr::text(map, "id")?,
            act: attr::text(map, "act")?,
            by: attr::text(map, "by")?,
            at: attr::time(map, "at"),
            why: attr::text(map, "why"),
            before: attr::text(map, "before").unwrap_or_default(),
            detail: attr::text(map, "detail"),
        })
    };
    list.map(|list| list.iter().filter_map(one).collect())
        .unwrap_or_default()
}
