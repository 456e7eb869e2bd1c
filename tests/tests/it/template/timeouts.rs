//! How time-outs hang together, for every value that the template offers for the longest call.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use oncehook_core::{
    config::{Config, ConfigErrors, DestinationConfig},
    timing::{DRAIN_BEYOND_CALL, GATEWAY_LIMIT, INGEST_BEYOND_BUDGET, LEASE_BEYOND_CALL, VISIBILITY_FACTOR},
};
use oncehook_drain::Destination;
use oncehook_local::template::{Part, Template};
use oncehook_store::{Ledger, Queue};
use oncehook_sweep::Sweep;

use super::{read, resource, same, text};

/// What the code says about time-outs.
pub(super) struct Facts {
    longest_call: i64,
    longest_budget: i64,
    client: oncehook_drain::Client,
}

impl Facts {
    pub(super) fn read() -> Self {
        Self {
            longest_call: longest_allowed("timeout"),
            longest_budget: longest_allowed("budget"),
            client: oncehook_drain::client().unwrap(),
        }
    }
}

pub(super) fn compare(text: &str, facts: &Facts, found: &mut Vec<String>) {
    let template = read(text, &[]);
    let offered = parameter(&template, "LongestCall", "AllowedValues");
    let longest = offered.iter().max().copied().unwrap_or_default();
    same(
        found,
        "the longest call that the configuration allows",
        longest,
        facts.longest_call,
    );
    for call in offered {
        let (config, grace) = code(call);
        let template = read(text, &[("LongestCall", &call.to_string())]);
        let what = format!("a call of {call} s");
        let call = SignedDuration::from_secs(call);
        let whole = (call + DRAIN_BEYOND_CALL).as_secs();
        same(found, &what, timeout(&template, "Drain", "Timeout"), whole);
        same(
            found,
            &what,
            timeout(&template, "Queue", "VisibilityTimeout"),
            whole * i64::from(VISIBILITY_FACTOR),
        );
        let lease = Destination::new(config, None, facts.client.clone()).lease();
        same(found, "the lease", lease, call + LEASE_BEYOND_CALL);
        assert!(grace > lease, "the sweep looks while a lease may be held");
        assert!(
            lease < call + DRAIN_BEYOND_CALL,
            "a lease outlives its invocation"
        );
    }
    let ingest = timeout(&template, "Ingest", "Timeout");
    let budget = SignedDuration::from_secs(facts.longest_budget);
    let fits = |seconds: i64| SignedDuration::from_secs(seconds) >= budget + INGEST_BEYOND_BUDGET;
    same(
        found,
        "Ingest has time for the longest budget",
        fits(ingest),
        true,
    );
    let most = parameter(&template, "IngestTimeout", "MaxValue")
        .into_iter()
        .max()
        .unwrap_or(i64::MAX);
    same(
        found,
        "Ingest answers before API Gateway gives up",
        most.max(ingest) < GATEWAY_LIMIT.as_secs(),
        true,
    );
}

fn timeout(template: &Template, id: &str, property: &str) -> i64 {
    text(&resource(template, id), &[property])
        .parse()
        .unwrap_or_default()
}

fn parameter(template: &Template, name: &str, key: &str) -> Vec<i64> {
    let part = template
        .section("Parameters")
        .and_then(|part| part.get(name)?.get(key));
    let texts = part
        .map(Part::items)
        .unwrap_or_default()
        .into_iter()
        .flat_map(Part::texts);
    texts.filter_map(|text| text.parse().ok()).collect()
}

fn config(key: &str, seconds: i64) -> Result<Config, ConfigErrors> {
    let (source, destination) = if key == "budget" {
        (format!("budget = \"{seconds}s\""), String::new())
    } else {
        (String::new(), format!("{key} = \"{seconds}s\""))
    };
    let text = format!(
        "[source.stripe]\nscheme = \"stripe\"\nsecret = \"stripe\"\n{source}\n\
         [destination.mail]\nurl = \"https://mail.example.com/\"\nsecret = \"mail\"\n{destination}\n"
    );
    Config::parse(&text, "oncehook.toml")
}

/// The most seconds that the configuration takes for a key.
fn longest_allowed(key: &str) -> i64 {
    (1..=900)
        .rev()
        .find(|seconds| config(key, *seconds).is_ok())
        .unwrap()
}

/// The destination and the grace of a sweep, for a call of so many seconds.
fn code(call: i64) -> (DestinationConfig, SignedDuration) {
    let config = config("timeout", call).unwrap();
    let client = oncehook_edge::local_dynamodb("http://127.0.0.1:1");
    let ledger = Ledger::new(client, "none".to_owned(), BTreeMap::new(), 4);
    let (sender, _) = tokio::sync::mpsc::unbounded_channel();
    let sweep = Sweep::new(&config, ledger, Queue::Local(sender));
    (config.destinations["mail"].clone(), sweep.grace)
}
