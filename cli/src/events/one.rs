//! One event with all that belongs to it, for people and for scripts.

use oncehook_store::{EventView, OutboxView};
use serde_json::{Value, json};

use crate::{outbox, output};

/// For scripts.
pub(crate) fn to_json(event: &EventView, outbox: &[OutboxView], with_body: bool) -> Value {
    let mut value = super::summary(event);
    let response = event
        .record
        .response
        .as_deref()
        .map(|text| output::body_json(text.as_bytes()));
    value["response"] = response.unwrap_or_default();
    let item = |view: &OutboxView| {
        let mut item = outbox::to_json(view);
        if !with_body && let Some(request) = item["request"].as_object_mut() {
            request.remove("body");
        }
        item
    };
    value["outbox"] = json!(outbox.iter().map(item).collect::<Vec<_>>());
    if with_body {
        value["body"] = event.body.as_deref().map(output::body_json).unwrap_or_default();
    }
    value
}

/// For people.
pub(crate) fn show(event: &EventView, outbox: &[OutboxView], with_body: bool) {
    let record = &event.record;
    output::line(format!(
        "{} {} of {}: {}",
        event.kind,
        event.id,
        event.source,
        record.outcome.as_str()
    ));
    output::fields(&[
        ("why", record.reason.clone()),
        ("occurred", event.occurred_at.clone()),
        ("received", record.received_at.map(output::time)),
        ("answered", record.response.clone()),
        ("expires", event.expires_at.map(output::time)),
        ("key", Some(event.pk.clone())),
    ]);
    for act in &event.acts {
        output::line(format!("  {}", outbox::act_line(act)));
    }
    output::line("\nrules");
    if record.rules.is_empty() {
        output::line("  none");
    }
    for result in &record.rules {
        match &result.skipped {
            Some(why) => output::line(format!("  {}  skipped: {why}", result.rule)),
            None => output::line(format!("  {}  applied", result.rule)),
        }
    }
    output::line("\noutbox");
    if outbox.is_empty() {
        output::line("  nothing");
    }
    for view in outbox {
        outbox::show(view, with_body);
    }
    if !with_body {
        return;
    }
    output::line("\nbody");
    let body = event
        .body
        .as_deref()
        .map_or_else(|| "(no longer kept)".to_owned(), output::body);
    output::line(output::indent(&body, 2));
}
