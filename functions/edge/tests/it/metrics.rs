//! docs/metrics.md says what the code does. (What the template says is compared in the tests of the whole.)

use std::fs;

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
