//! What a change of names forgets or strands, in words for the one who made it.

use super::{Memory, Rule};

/// How a configuration differs from what was accepted.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// What would forget or strand something, with the path of its key in the configuration or, if it is gone there, in
    /// the file of what was accepted.
    pub(crate) losses: Vec<Loss>,
    /// What is new, and forgets nothing.
    pub(crate) additions: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Loss {
    pub(crate) in_memory: bool,
    pub(crate) path: Vec<String>,
    pub(crate) message: String,
}

impl Memory {
    /// What changes from this to that.
    pub(crate) fn changes(&self, now: &Self) -> Changes {
        let mut changes = Changes::default();
        self.sources(now, &mut changes);
        self.rules(now, &mut changes);
        for name in self
            .destinations
            .iter()
            .filter(|name| !now.destinations.contains(name))
        {
            changes.gone(
                &["destinations"],
                format!(
                    "the destination `{name}` is gone: an hour after the next deployment its open effects are parked for a person \
                     (`oncehook outbox --state parked`)"
                ),
            );
        }
        if now.shards < self.shards {
            changes.lost(
                &["outbox", "shards"],
                format!(
                    "`shards` falls from {} to {}: it only grows, or open effects of the others may be overlooked",
                    self.shards, now.shards
                ),
            );
        }
        let mut new = |kind: &str, names: Vec<&String>| {
            changes
                .additions
                .extend(names.into_iter().map(|name| format!("{kind} `{name}`")));
        };
        new(
            "source",
            now.source
                .keys()
                .filter(|name| !self.source.contains_key(*name))
                .collect(),
        );
        new(
            "rule",
            now.rule
                .keys()
                .filter(|name| !self.rule.contains_key(*name))
                .collect(),
        );
        new(
            "destination",
            now.destinations
                .iter()
                .filter(|name| !self.destinations.contains(name))
                .collect(),
        );
        if now.shards > self.shards {
            changes.additions.push(format!("{} shards", now.shards));
        }
        changes
    }

    fn sources(&self, now: &Self, changes: &mut Changes) {
        for (name, before) in &self.source {
            let namespace = &before.namespace;
            match now.source.get(name) {
                Some(source) if source.namespace == *namespace => {}
                Some(source) => changes.lost(
                    &["source", name, "namespace"],
                    format!(
                        "the namespace of source `{name}` changes from `{namespace}` to `{}`: all events received so far are \
                         forgotten, and one that is delivered again is applied again; write namespace = \"{namespace}\"",
                        source.namespace
                    ),
                ),
                None if now.source.values().any(|source| source.namespace == *namespace) => changes.gone(
                    &["source", name],
                    format!(
                        "the source `{name}` is gone: /webhooks/{name} answers 404, and its failed and held events stay in lists \
                         of that name; another source keeps its namespace, so no event is forgotten"
                    ),
                ),
                None => changes.gone(
                    &["source", name],
                    format!(
                        "the source `{name}` is gone: /webhooks/{name} answers 404, and its failed and held events stay in lists \
                         of that name; if it has a new name now, write namespace = \"{namespace}\" there, or an event that is \
                         delivered again is applied again"
                    ),
                ),
            }
        }
    }

    fn rules(&self, now: &Self, changes: &mut Changes) {
        let renamed = now.rule.iter().find(|(name, _)| !self.rule.contains_key(*name));
        for (name, before) in &self.rule {
            let Some(rule) = now.rule.get(name) else {
                let hint = renamed.map_or_else(String::new, |(new, _)| {
                    format!("; if `{new}` is its new name, take the old one")
                });
                changes.gone(
                    &["rule", name],
                    format!("the rule `{name}` is gone: {}{hint}", before.meaning()),
                );
                continue;
            };
            if before.once_per.is_some() && before.once_per != rule.once_per {
                changes.lost(
                    &["rule", name, "once_per"],
                    format!(
                        "`once_per` of rule `{name}` was `{}`: what it was applied to is forgotten, and may be applied again",
                        before.once_per.as_deref().unwrap_or_default()
                    ),
                );
            }
            if before.newer_by.is_some() && before.newer_by != rule.newer_by {
                changes.lost(
                    &["rule", name, "newer_by"],
                    format!(
                        "`newer_by` of rule `{name}` was {}: how new the newest event was is forgotten or compared with another \
                         measure, and older data may overwrite newer",
                        before.newer_by.as_deref().unwrap_or_default()
                    ),
                );
            }
            for effect in before
                .effects
                .iter()
                .filter(|effect| !rule.effects.contains(effect))
            {
                changes.lost(
                    &["rule", name],
                    format!(
                        "the effect `{effect}` of rule `{name}` is gone: stored ones are still sent; under a new name, an event that \
                         is applied again would send it again, because the name is part of the idempotency key"
                    ),
                );
            }
        }
    }
}

impl Rule {
    /// What hangs on its name.
    fn meaning(&self) -> String {
        let mut lost = Vec::new();
        if self.newer_by.is_some() {
            lost.push("how new its newest event was is forgotten, and older data may overwrite newer");
        }
        if self.once_per.is_some() {
            lost.push("what it was applied to stays remembered only for a rule with the same `once_per`");
        }
        if !self.effects.is_empty() {
            lost.push("its stored effects are still sent, but under a new name it would send them under new idempotency keys");
        }
        lost.join("; ")
    }
}

impl Changes {
    fn lost(&mut self, path: &[&str], message: String) {
        self.add(false, path, message);
    }

    fn gone(&mut self, path: &[&str], message: String) {
        self.add(true, path, message);
    }

    fn add(&mut self, in_memory: bool, path: &[&str], message: String) {
        let path = path.iter().map(|step| (*step).to_owned()).collect();
        self.losses.push(Loss {
            in_memory,
            path,
            message,
        });
    }
}
