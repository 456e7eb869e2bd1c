//! How results look: tables, JSON, times, bodies. Decides nothing about what is shown.

use std::io::Write as _;

use comfy_table::{ContentArrangement, Table, presets};
use jiff::Timestamp;
use serde_json::Value;

/// Text on standard output, as it is. A closed pipe (`| head`) is no error.
pub(crate) fn text(text: &str) {
    let mut out = std::io::stdout().lock();
    let _closed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A line on standard output.
pub(crate) fn line(line: impl AsRef<str>) {
    text(&format!("{}\n", line.as_ref()));
}

/// Something beside the result, on standard error.
pub(crate) fn note(line: impl AsRef<str>) {
    eprintln!("{}", line.as_ref());
}

/// A result as JSON.
pub(crate) fn json(value: &Value) {
    line(format!("{value:#}"));
}

/// A table without borders; as wide as its content when the output is no terminal.
pub(crate) fn table(head: &[&str], rows: Vec<Vec<String>>) {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(head.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    for row in table.lines() {
        line(row.trim_end());
    }
}

/// Named values below one another.
pub(crate) fn fields(fields: &[(&str, Option<String>)]) {
    let width = fields
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or_default();
    for (name, value) in fields {
        if let Some(value) = value {
            line(format!("  {name:width$}  {value}"));
        }
    }
}

/// A time to the second.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// A time that may be absent.
pub(crate) fn time_or_dash(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "-".to_owned(), time)
}

/// Text that may be absent.
pub(crate) fn or_dash(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned()
}

/// A body for reading: JSON indented, other text as it is, anything else by its length.
pub(crate) fn body(bytes: &[u8]) -> String {
    match (serde_json::from_slice::<Value>(bytes), std::str::from_utf8(bytes)) {
        (Ok(value), _) => format!("{value:#}"),
        (_, Ok(text)) => text.to_owned(),
        _ => format!("({} bytes that are not text)", bytes.len()),
    }
}

/// A body in JSON output: JSON itself where it is, text otherwise.
pub(crate) fn body_json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned().into())
}

/// Every line moved to the right.
pub(crate) fn indent(text: &str, by: usize) -> String {
    let space = " ".repeat(by);
    text.lines()
        .map(|line| format!("{space}{line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
