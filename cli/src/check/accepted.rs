//! The file of what was accepted (`oncehook.lock`), beside the configuration: read, compared, and written on request.
//!
//! What a change means is said in `memory`.

use std::path::Path;

use oncehook_core::config::Config;
use oncehook_local::template::Place;

use super::{finding::Findings, memory::Memory, places::Places};
use crate::answer::misuse;

/// What would be forgotten or stranded, compared with what was accepted.
pub(super) fn check(
    config: &Config,
    places: &Places<'_>,
    file: &Path,
    (accept, deployed): (bool, bool),
    findings: &mut Findings,
) -> anyhow::Result<()> {
    let lock = file.with_extension("lock");
    let name = lock.display().to_string();
    let start = Place {
        file: name.clone(),
        line: 1,
        column: 1,
    };
    let now = Memory::of(config);
    let text = match std::fs::read_to_string(&lock) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(misuse(format!("cannot read {name}: {error}"))),
    };
    let before = match text.as_deref().map(Memory::parse) {
        Some(Err(why)) if !accept => {
            findings.error(
                start,
                format!("cannot be read: {why}; restore it, or write it anew with --accept"),
            );
            return Ok(());
        }
        Some(Ok(before)) => Some(before),
        Some(Err(_)) | None => None,
    };
    let changes = before
        .as_ref()
        .map(|before| before.changes(&now))
        .unwrap_or_default();
    let memory = text.as_deref().and_then(|text| Places::new(name.clone(), text));
    for loss in changes.losses {
        let path: Vec<&str> = loss.path.iter().map(String::as_str).collect();
        let place = match &memory {
            Some(memory) if loss.in_memory => memory.of(&path),
            _ => places.of(&in_config(config, &path)
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()),
        };
        if accept {
            findings.note(Some(place), format!("accepted: {}", loss.message));
        } else {
            findings.error(
                place,
                format!("{}. Undo it, or accept it: oncehook check --accept", loss.message),
            );
        }
    }
    if accept {
        if before.as_ref() != Some(&now) {
            now.write(&lock)?;
            findings.note(None, format!("{name} is written; commit it"));
        }
    } else if before.is_none() {
        if !deployed {
            return Ok(());
        }
        let message = format!(
            "there is no {name}: without it, nobody notices when a changed name forgets events or strands effects; write it \
             with `oncehook check --accept` and commit it"
        );
        findings.warning(
            Place {
                file: file.display().to_string(),
                line: 1,
                column: 1,
            },
            message,
        );
    } else if !changes.additions.is_empty() {
        let message = format!(
            "does not know {} yet: add what is new with `oncehook check --accept` and commit it",
            changes.additions.join(", ")
        );
        findings.warning(start, message);
    }
    Ok(())
}

/// The path of a key in the configuration, where rules are a list.
fn in_config(config: &Config, path: &[&str]) -> Vec<String> {
    let mut path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
    if let [kind, name, ..] = path.as_mut_slice()
        && kind == "rule"
        && let Some(index) = config.rules.iter().position(|rule| rule.name == *name)
    {
        *name = index.to_string();
    }
    path
}
