//! docs/metrics.md, docs/runbook.md and the template say what the code does.

use std::{collections::BTreeSet, fs};

use oncehook_edge::metrics::METRICS;

fn read(path: &str) -> String {
    fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_table_of_metrics_is_that_of_the_code() {
    let page = read("docs/metrics.md");
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
        .collect();
    let expected: Vec<String> = METRICS
        .iter()
        .map(|one| {
            let by: Vec<String> = one.by.iter().map(|name| format!("`{name}`")).collect();
            let by = by.join(", ");
            format!(
                "| {} | {} | {by} | {} | {} |",
                one.name, one.function, one.unit, one.meaning
            )
        })
        .collect();
    assert_eq!(rows, expected);
}

#[test]
fn every_alarm_that_tells_somebody_has_its_section_in_the_runbook() {
    let (template, page) = (read("template.yaml"), read("docs/runbook.md"));
    let sections: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|title| title.to_lowercase().replace(' ', "-"))
        .collect();
    let mut alarms = 0;
    for resource in template
        .split("\n\n")
        .filter(|text| text.contains("Type: AWS::CloudWatch::Alarm\n"))
    {
        if resource.contains("Condition: Gradual") {
            continue;
        }
        alarms += 1;
        let name = resource
            .lines()
            .find(|line| line.ends_with("Alarm:"))
            .unwrap()
            .trim()
            .trim_end_matches(':');
        let (_, anchor) = resource
            .split_once("${RunbookUrl}#")
            .unwrap_or_else(|| panic!("{name} names no section"));
        let anchor = anchor.split('"').next().unwrap();
        assert!(sections.contains(anchor), "{name}: no section {anchor}");
        assert!(page.contains(name), "{name} is not in the runbook");
    }
    assert_eq!(alarms, template.matches("AlarmActions:").count());
}
