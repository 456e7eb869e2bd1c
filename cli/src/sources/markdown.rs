//! docs/providers.md. A test compares the file with this.

use std::fmt::Write as _;

use oncehook_core::verify::Description;

/// The whole page.
pub(super) fn page(all: &[Description]) -> String {
    let mut page = String::from(
        "# Providers\n\n\
         Made by `make providers` from the table in `functions/core/src/verify/providers/`; a test fails if it is stale. \
         `oncehook sources NAME` prints the same.\n\n\
         Any other provider that signs the body with an HMAC is described in `oncehook.toml` with `scheme = \"hmac\"`: see \
         [Configuration](configuration.md).\n\n\
         **Tolerance** is how far the signed time may be away; where a provider's documents or libraries name none, none \
         is checked unless the source sets `tolerance`, and ids are remembered for 400 days. **Id signed**: if not, a body \
         that was seen under another id is recorded as held.\n\n\
         | scheme | provider | proof | tolerance | id signed | answer within |\n|---|---|---|---|---|---|\n",
    );
    for found in all {
        let _ = writeln!(
            page,
            "| [`{0}`](#{0}) | {1} | {2} | {3} | {4} | {5} |",
            found.name,
            found.title,
            found.proof,
            found.tolerance.as_deref().unwrap_or("-"),
            if found.id_signed { "yes" } else { "no" },
            found.timeout.as_deref().unwrap_or("-"),
        );
    }
    for found in all {
        section(&mut page, found);
    }
    page
}

fn section(page: &mut String, found: &Description) {
    let _ = writeln!(page, "\n## {}\n\n{}\n\n| | |\n|---|---|", found.name, found.title);
    for (name, value) in super::facts(found) {
        let _ = writeln!(page, "| {name} | {} |", escaped(&value));
    }
    let _ = writeln!(page, "\n```toml\n{}\n```\n", super::example(found));
    for (index, step) in found.setup.iter().enumerate() {
        let step = step.replace("{url}", "the endpoint's URL");
        let _ = writeln!(page, "{}. {}", index + 1, escaped(&step));
    }
    if !found.notes.is_empty() {
        page.push('\n');
    }
    for note in found.notes {
        let _ = writeln!(page, "- {}", escaped(note));
    }
    let documents: Vec<String> = found
        .documents
        .iter()
        .map(|document| format!("<{document}>"))
        .collect();
    let _ = writeln!(page, "\nFrom {}.", documents.join(", "));
}

/// Nothing of a fact is markup.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('>', "&gt;")
}
