//! docs/providers.md. A test compares the file with this.

use std::fmt::Write as _;

use oncehook_core::verify::{Description, Scheme};

/// What providers do with answers that are no success. Oncehook answers 401 to a bad signature, 503 to what it could
/// not store or could not check for want of a secret or key.
const STATUSES: &str = "\n## Answers that lose events\n\n\
    What could not be stored, and what cannot be checked for want of a secret or key, is answered with 503, after which \
    all of these come again. A wrong signature is answered with 401. With these providers that is the end of the event, \
    or of more, so that a wrong secret has to be put right at once:\n\n\
    | provider | answer | what it does |\n|---|---|---|\n\
    | Postmark | any 4xx but 408 and 429 | drops the event |\n\
    | HubSpot | 400, 401, 403, 404, 405 | drops the batch |\n\
    | Mailgun | 406 (never sent here) | drops the event |\n\
    | GitLab | 4xx | disables the webhook |\n\
    | Typeform | 404, 410 | disables the webhook |\n\
    | Calendly | 410 (never sent here) | deletes the subscription |\n";

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
    page.push_str(
        "\n## Left out\n\nLooked at, and not among the schemes:\n\n| provider | why: it |\n|---|---|\n",
    );
    for out in Scheme::left_out() {
        let _ = writeln!(page, "| {} | {} |", out.title, escaped(out.reason));
    }
    page.push_str(STATUSES);
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
