//! The sums for people, as tables.

use std::collections::BTreeMap;

use super::report::{Counts, Report, counted, key, rate, whole};
use crate::output;

impl Report {
    /// For people.
    pub(super) fn show(&self) {
        output::note(format!(
            "from {} to {}",
            output::time(self.from),
            output::time(self.until)
        ));
        table("source", "ingest", &self.sources, |_, counts| {
            let share = rate(counts.total("Received"), counts.total("Duplicates"));
            ("duplicates %", percent(share))
        });
        let days = self.sources.iter().flat_map(|(name, counts)| {
            let days = counts.days.iter().filter(|(_, (received, _))| *received > 0);
            days.map(move |(day, (received, duplicates))| {
                let share = percent(rate(*received, *duplicates));
                let numbers = [received.to_string(), duplicates.to_string(), share];
                [day.to_string(), name.clone()]
                    .into_iter()
                    .chain(numbers)
                    .collect()
            })
        });
        let mut days: Vec<Vec<String>> = days.collect();
        days.sort();
        if !days.is_empty() {
            output::line("");
            output::table(&["day", "source", "received", "duplicates", "duplicates %"], days);
        }
        if !self.destinations.is_empty() {
            output::line("");
            table("destination", "drain", &self.destinations, |name, _| {
                let age = self.oldest_open.get(name);
                (
                    "oldest open",
                    age.map_or_else(|| "-".to_owned(), |age| duration(*age)),
                )
            });
        }
    }
}

fn table(
    what: &str,
    function: &str,
    all: &BTreeMap<String, Counts>,
    last: impl Fn(&str, &Counts) -> (&'static str, String),
) {
    let names: Vec<String> = counted(function)
        .map(|metric| key(metric.name).replace('_', " "))
        .collect();
    let (title, _) = last("", &Counts::default());
    let head: Vec<&str> = [what]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .chain([title])
        .collect();
    let row = |(name, counts): (&String, &Counts)| {
        let numbers = counted(function).map(|metric| counts.total(metric.name).to_string());
        let end = last(name, counts).1;
        [name.clone()].into_iter().chain(numbers).chain([end]).collect()
    };
    output::table(&head, all.iter().map(row).collect());
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| format!("{:.1}", rate * 100.0))
}

fn duration(seconds: f64) -> String {
    let seconds = whole(seconds);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}
