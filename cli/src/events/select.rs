//! Which events a command is about: by key or id, or by filters over the lists. Reads; changes nothing.

use std::collections::BTreeSet;

use jiff::Timestamp;
use oncehook_core::{clock::Clock as _, config::Config};
use oncehook_edge::SystemClock;
use oncehook_store::{EventFilter, EventView, Ledger, List, OutboxKey, Outcome, event_key};

use crate::{answer::misuse, outbox, storage::Place, when};

/// Which events.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Which events")]
pub(crate) struct Filter {
    /// Only events of this source.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
    /// Only events of this type; `*` at the end stands for anything.
    #[arg(long, value_name = "TYPE")]
    kind: Option<String>,
    /// Only events received since then: a time, or how long ago, such as 2h.
    #[arg(long, value_name = "WHEN", value_parser = when::when)]
    since: Option<Timestamp>,
    /// Only events received before then.
    #[arg(long, value_name = "WHEN", value_parser = when::when)]
    before: Option<Timestamp>,
    /// Only failed events.
    #[arg(long)]
    failed: bool,
    /// Only held events.
    #[arg(long)]
    held: bool,
    /// Only ignored events; on AWS with --scan.
    #[arg(long)]
    ignored: bool,
    /// The scope of events given by id: the account, shop or mode that makes their ids unique.
    #[arg(long, value_name = "TEXT")]
    scope: Option<String>,
    /// Read the whole table, for what stands in no list. On AWS this is billed by its size.
    #[arg(long)]
    pub(crate) scan: bool,
}

impl Filter {
    /// The outcomes that are named.
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        let named = [
            (self.failed, Outcome::Failed),
            (self.held, Outcome::Held),
            (self.ignored, Outcome::Ignored),
        ];
        named
            .into_iter()
            .filter(|(named, _)| *named)
            .map(|(_, outcome)| outcome)
            .collect()
    }

    pub(crate) fn takes(&self, event: &EventView) -> bool {
        let received = event.record.received_at;
        self.source.as_ref().is_none_or(|source| *source == event.source)
            && when::kind_matches(self.kind.as_deref(), &event.kind)
            && self
                .since
                .is_none_or(|since| received.is_some_and(|at| at >= since))
            && self
                .before
                .is_none_or(|before| received.is_some_and(|at| at < before))
    }
}

/// Events that a filter takes, with these outcomes or any, newest first.
///
/// # Errors
/// When what is asked for needs a scan that was not asked for.
pub(crate) async fn by_filter(
    place: &Place,
    ledger: &Ledger,
    config: Option<&Config>,
    filter: &Filter,
    outcomes: &[Outcome],
) -> anyhow::Result<Vec<EventView>> {
    let listed = |outcome: &Outcome| matches!(outcome, Outcome::Failed | Outcome::Held);
    let all_listed = !outcomes.is_empty() && outcomes.iter().all(listed);
    let mut events = if filter.scan || (place.local && !all_listed) {
        let source = filter.source.clone();
        let (mut events, _) = ledger.scan(&EventFilter { source, id: None }).await?;
        events.retain(|event| outcomes.is_empty() || outcomes.contains(&event.record.outcome));
        events
    } else if !all_listed && !outcomes.is_empty() {
        return Err(misuse(
            "ignored events stand in no list: --scan reads the whole table, which is billed by its size; or give keys",
        ));
    } else {
        lists(ledger, config, filter, outcomes).await?
    };
    events.retain(|event| filter.takes(event));
    events.sort_by_key(|event| std::cmp::Reverse(event.record.received_at));
    Ok(events)
}

async fn lists(
    ledger: &Ledger,
    config: Option<&Config>,
    filter: &Filter,
    outcomes: &[Outcome],
) -> anyhow::Result<Vec<EventView>> {
    let configured = config.into_iter().flat_map(|config| config.sources.keys());
    let mut sources: BTreeSet<String> = configured.cloned().collect();
    if let Some(source) = &filter.source {
        sources = [source.clone()].into();
    }
    if sources.is_empty() {
        return Err(misuse(
            "of which source? Lists are kept by source: give --source NAME, or the configuration with --config",
        ));
    }
    let now = SystemClock.now();
    let wanted = |outcome| outcomes.is_empty() || outcomes.contains(&outcome);
    let mut events = Vec::new();
    for source in sources {
        for (outcome, list) in [
            (Outcome::Failed, List::Failed(source.clone())),
            (Outcome::Held, List::Held(source.clone())),
        ] {
            let mut from = None;
            while wanted(outcome) {
                let page = ledger.listed_events(&list, now, from).await?;
                events.extend(
                    page.items
                        .into_iter()
                        .filter(|event| event.record.outcome == outcome),
                );
                from = page.next;
                if from.is_none() {
                    break;
                }
            }
        }
    }
    Ok(events)
}

/// The keys of the events that a key or an id names: looked up by namespace and scope, then in the lists, and in the
/// whole table where that is asked for or costs nothing.
///
/// # Errors
/// When the database does not answer.
pub(crate) async fn keys_of(
    place: &Place,
    ledger: &Ledger,
    config: Option<&Config>,
    filter: &Filter,
    name: &str,
) -> anyhow::Result<Vec<String>> {
    if name.starts_with("event#") {
        let key = OutboxKey::parse(name);
        let pk = key.as_ref().map_or(name, |key| key.parts().0);
        let found = ledger.event_alone(pk).await?;
        return Ok(found.map(|event| event.pk).into_iter().collect());
    }
    if place.local || filter.scan {
        let wanted = EventFilter {
            source: filter.source.clone(),
            id: Some(name.to_owned()),
        };
        let (events, _) = ledger.scan(&wanted).await?;
        return Ok(events.into_iter().map(|event| event.pk).collect());
    }
    let mut found = BTreeSet::new();
    for source in config.into_iter().flat_map(|config| config.sources.values()) {
        if filter
            .source
            .as_ref()
            .is_some_and(|wanted| *wanted != source.name)
        {
            continue;
        }
        // Without a scope, or with the mode alone, as Stripe's are.
        const USUAL: [&str; 3] = ["", ":live", ":test"];
        let given = filter.scope.as_deref();
        for scope in given.as_ref().map_or(&USUAL[..], std::slice::from_ref) {
            let pk = event_key(&source.namespace, scope, name);
            found.extend(ledger.event_alone(&pk).await?.map(|event| event.pk));
        }
    }
    if found.is_empty() && (config.is_some() || filter.source.is_some()) {
        let events = lists(ledger, config, filter, &[]).await?;
        found.extend(
            events
                .into_iter()
                .filter(|event| event.id == name)
                .map(|event| event.pk),
        );
    }
    if found.is_empty() {
        use oncehook_core::outbox::OutboxState::{Dead, Open, Parked};
        let wanted = outbox::select::Filter::of_event(name);
        let items = outbox::select::by_filter(place, ledger, config, &wanted, &[Open, Parked, Dead]).await?;
        found.extend(items.into_iter().map(|item| item.key.parts().0.to_owned()));
    }
    Ok(found.into_iter().collect())
}

/// What to say when nothing was found by an id.
pub(crate) fn not_found(place: &Place, filter: &Filter, name: &str) -> String {
    if place.local || filter.scan || name.starts_with("event#") {
        return format!("no event `{name}` is stored here");
    }
    let scope = match &filter.scope {
        Some(scope) => format!("the scope `{scope}`"),
        None => "a usual scope".to_owned(),
    };
    format!(
        "no event `{name}` in the lists, nor under the namespace of a configured source and {scope}: give its --scope, its \
         whole key event#NAMESPACE#SCOPE#ID, or --scan"
    )
}
