//! `oncehook secret list`: names, numbers and users. Values are looked at and never shown.

use oncehook_core::config::Config;
use serde_json::json;

use super::{parameter::Parameter, usage::Usage, values::Values};
use crate::{answer::Answer, output};

struct Row {
    name: String,
    values: usize,
    users: String,
    state: &'static str,
    why: Option<String>,
}

/// Lists; the answer is no if a secret that is used is missing or unusable.
pub(super) async fn run(config: &Config, parameter: &Parameter, as_json: bool) -> anyhow::Result<Answer> {
    let found = parameter.read().await?;
    let exists = found.is_some();
    let values = found.map(|found| found.values).unwrap_or_default();
    let mut rows: Vec<Row> = Usage::all(config)
        .iter()
        .map(|usage| row(usage, &values))
        .collect();
    for name in values.names() {
        let usage = Usage::of(config, name);
        if !usage.is_used() {
            rows.push(row(&usage, &values));
        }
    }
    let good = !rows.iter().any(|row| matches!(row.state, "missing" | "unusable"));
    if as_json {
        let rows = rows.iter().map(|row| {
            json!({ "secret": row.name, "values": row.values, "used_by": row.users, "state": row.state, "why": row.why })
        });
        output::json(&json!({
            "parameter": parameter.name(), "exists": exists, "secrets": rows.collect::<Vec<_>>(),
        }));
        return Ok(Answer::from_bool(good));
    }
    if !exists {
        output::line(format!("{} does not exist yet.", parameter.name()));
    }
    for row in &rows {
        if let Some(why) = &row.why {
            output::note(format!("`{}`: {why}", row.name));
        }
    }
    let cells = rows
        .into_iter()
        .map(|row| vec![row.name, row.values.to_string(), row.users, row.state.to_owned()])
        .collect();
    output::table(&["secret", "values", "used by", "state"], cells);
    Ok(Answer::from_bool(good))
}

fn row(usage: &Usage<'_>, values: &Values) -> Row {
    let own = values.of(&usage.name);
    let refused: Vec<String> = own
        .iter()
        .enumerate()
        .filter_map(|(index, value)| Some(format!("value {}: {}", index + 1, usage.check(value).err()?)))
        .collect();
    let state = match (usage.is_used(), own.len()) {
        (false, _) => "not used",
        (true, 0) => "missing",
        (true, count) if count == refused.len() => "unusable",
        (true, _) if !refused.is_empty() => "partly usable",
        (true, _) => "set",
    };
    Row {
        name: usage.name.clone(),
        values: own.len(),
        users: usage.to_string(),
        state,
        why: (!refused.is_empty()).then(|| refused.join("; ")),
    }
}
