//! Which outbox items a command is about: by key, or by filters over the lists. Reads; changes nothing.

use std::collections::BTreeSet;

use jiff::Timestamp;
use oncehook_core::{clock::Clock as _, config::Config, outbox::OutboxState};
use oncehook_edge::SystemClock;
use oncehook_store::{Ledger, List, OutboxKey, StoredItem};

use crate::{answer::misuse, storage::Place, when};

/// Which items.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Which items")]
pub(crate) struct Filter {
    /// Only items in these states: open, parked, dead; done and discarded need --scan on AWS.
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = ["open", "done", "dead", "parked", "discarded"])]
    pub(crate) state: Vec<String>,
    /// Only items for this destination.
    #[arg(long, value_name = "NAME")]
    pub(crate) destination: Option<String>,
    /// Only items of events of this source.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only items of this rule.
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Only items of events of this type; `*` at the end stands for anything.
    #[arg(long, value_name = "TYPE")]
    kind: Option<String>,
    /// Only items of the event with this id.
    #[arg(long, value_name = "ID")]
    pub(crate) event: Option<String>,
    /// Only items made since then: a time, or how long ago, such as 2h.
    #[arg(long, value_name = "WHEN", value_parser = when::when)]
    since: Option<Timestamp>,
    /// Only items made before then.
    #[arg(long, value_name = "WHEN", value_parser = when::when)]
    before: Option<Timestamp>,
    /// Read the whole table, for what stands in no list. On AWS this is billed by its size.
    #[arg(long)]
    pub(crate) scan: bool,
}

impl Filter {
    /// Only items of this event.
    pub(crate) fn of_event(id: &str) -> Self {
        Self {
            event: Some(id.to_owned()),
            ..Self::default()
        }
    }

    /// Whether it leaves anything out.
    pub(crate) fn is_narrow(&self) -> bool {
        let texts = [
            &self.destination,
            &self.source,
            &self.rule,
            &self.kind,
            &self.event,
        ];
        !self.state.is_empty()
            || texts.iter().any(|text| text.is_some())
            || self.since.is_some()
            || self.before.is_some()
    }

    fn takes(&self, item: &StoredItem) -> bool {
        let same = |want: &Option<String>, is: &str| want.as_ref().is_none_or(|want| want == is);
        if !same(&self.destination, &item.destination) {
            return false;
        }
        let Some(view) = &item.view else {
            // What cannot be read is shown unless something is asked about it that nobody can know.
            let texts = [&self.source, &self.rule, &self.kind, &self.event];
            return texts.iter().all(|text| text.is_none());
        };
        same(&self.source, &view.item.source)
            && same(&self.rule, &view.item.rule)
            && same(&self.event, &view.event_id)
            && when::kind_matches(self.kind.as_deref(), &view.kind)
            && self.since.is_none_or(|since| view.item.created_at >= since)
            && self.before.is_none_or(|before| view.item.created_at < before)
    }
}

/// Items by their keys.
///
/// # Errors
/// When a key is none, or there is no such item.
pub(crate) async fn by_keys(ledger: &Ledger, keys: &[String]) -> anyhow::Result<Vec<StoredItem>> {
    let mut items = Vec::new();
    for text in keys {
        let key = OutboxKey::parse(text).ok_or_else(|| {
            misuse(format!(
                "`{text}` is not the key of an outbox item: `oncehook show EVENT_ID` prints it, \
                 event#NAMESPACE#SCOPE#ID/outbox#RULE#EFFECT; or use --event EVENT_ID"
            ))
        })?;
        let item = ledger.item(&key).await?;
        items.push(item.ok_or_else(|| anyhow::anyhow!("there is no outbox item `{text}`"))?);
    }
    Ok(items)
}

/// Items that a filter takes, in these states, oldest first. Lists are read from the index; the table is read whole only
/// if that is asked for, or costs nothing.
///
/// # Errors
/// When what is asked for needs a scan that was not asked for.
pub(crate) async fn by_filter(
    place: &Place,
    ledger: &Ledger,
    config: Option<&Config>,
    filter: &Filter,
    states: &[OutboxState],
) -> anyhow::Result<Vec<StoredItem>> {
    let unlisted = |state: &OutboxState| matches!(state, OutboxState::Done | OutboxState::Discarded);
    let mut items = if filter.scan || (place.local && states.iter().any(unlisted)) {
        let mut items = ledger.scan_items().await?;
        items.retain(|item| item.state.is_some_and(|state| states.contains(&state)));
        items
    } else if let Some(state) = states.iter().find(|state| unlisted(state)) {
        return Err(misuse(format!(
            "{} items stand in no list: --scan reads the whole table, which is billed by its size; an event's items are \
             shown by `oncehook show KEY`",
            state.as_str()
        )));
    } else {
        listed(ledger, config, filter, states).await?
    };
    items.retain(|item| filter.takes(item));
    let created = |item: &StoredItem| item.view.as_ref().map(|view| view.item.created_at);
    items.sort_by(|a, b| created(a).cmp(&created(b)).then_with(|| a.key.cmp(&b.key)));
    Ok(items)
}

/// All items of the lists, as they stand now: what comes in later is not taken, so that this ends.
async fn listed(
    ledger: &Ledger,
    config: Option<&Config>,
    filter: &Filter,
    states: &[OutboxState],
) -> anyhow::Result<Vec<StoredItem>> {
    let now = SystemClock.now();
    let registered = ledger.destinations().await?;
    let configured = config.into_iter().flat_map(|config| config.destinations.keys());
    let mut names: BTreeSet<String> = configured.chain(registered.keys()).cloned().collect();
    // An item that lost its destination stands under none.
    names.insert(String::new());
    if let Some(name) = &filter.destination {
        names = [name.clone()].into();
    }
    let mut lists = Vec::new();
    for name in names {
        let shards = registered.get(&name).copied().unwrap_or(1);
        let shards = shards.max(config.map_or(1, |config| config.shards));
        for state in states {
            match state {
                OutboxState::Open => lists.extend((0..shards).map(|shard| List::Open(name.clone(), shard))),
                OutboxState::Parked => lists.push(List::Parked(name.clone())),
                OutboxState::Dead => lists.push(List::Dead(name.clone())),
                OutboxState::Done | OutboxState::Discarded => {}
            }
        }
    }
    let mut items = Vec::new();
    for list in lists {
        // Open items stand by when they are due, which may be later.
        let until = match list {
            List::Open(..) => Timestamp::MAX,
            _ => now,
        };
        let mut from = None;
        loop {
            let page = ledger.listed_items(&list, until, from).await?;
            items.extend(page.items);
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    // The index is behind the items: what has moved on is not what was asked for.
    items.retain(|item| item.state.is_some_and(|state| states.contains(&state)));
    Ok(items)
}

/// The states of these words; a default where there are none.
pub(crate) fn states(words: &[String], default: &[OutboxState]) -> Vec<OutboxState> {
    let named: Vec<OutboxState> = words.iter().filter_map(|word| OutboxState::parse(word)).collect();
    if named.is_empty() { default.to_vec() } else { named }
}
