//! The commands that the documents and the alarms quote exist, with their subcommands, flags and values.

use std::path::Path;

use clap::{
    CommandFactory as _, Parser as _,
    error::{ContextKind, ErrorKind},
};

use super::Cli;

const FILES: [&str; 12] = [
    "README.md",
    "CONTRIBUTING.md",
    "template.yaml",
    "docs/architecture.md",
    "docs/configuration.md",
    "docs/deployment.md",
    "docs/destinations.md",
    "docs/faq.md",
    "docs/metrics.md",
    "docs/operating.md",
    "docs/runbook.md",
    "docs/troubleshooting.md",
];

/// The command lines of a text: in code spans, and lines of code blocks.
fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut prose = String::new();
    for line in text.lines() {
        let code = line.strip_prefix("    ").filter(|_| !line.contains('`'));
        match code.filter(|code| code.starts_with("oncehook ")) {
            Some(code) => found.push(code.to_owned()),
            None => prose += &format!("{} ", line.trim()),
        }
    }
    let spans = prose.split('`').skip(1).step_by(2);
    found.extend(
        spans
            .filter(|span| span.starts_with("oncehook "))
            .map(str::to_owned),
    );
    found
}

/// Words as a shell has them, up to a comment or the next command.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in line.chars() {
        match (character, quote) {
            ('\'' | '"', None) => quote = Some(character),
            (end, Some(start)) if end == start => quote = None,
            (' ', None) => words.push(String::new()),
            (character, _) => words.last_mut().expect("there is one").push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    let end = words
        .iter()
        .position(|word| word.starts_with('#') || ["|", ">", "&&", "\\"].contains(&word.as_str()));
    words.truncate(end.unwrap_or(words.len()));
    words
}

/// What is wrong with a command line. One that only names a command may lack its arguments.
fn wrong(line: &str) -> Option<String> {
    match Cli::try_parse_from(words(line)) {
        Ok(_) => None,
        Err(error) => match error.kind() {
            ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::DisplayHelp => None,
            ErrorKind::InvalidValue if stands_for_any(&error) => None,
            _ => Some(error.to_string()),
        },
    }
}

/// Whether the value is a placeholder, such as NAME.
fn stands_for_any(error: &clap::Error) -> bool {
    let value = error.get(ContextKind::InvalidValue).map(ToString::to_string);
    value.is_some_and(|value| !value.is_empty() && value.chars().all(|c| c.is_ascii_uppercase()))
}

#[test]
fn the_arguments_are_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn what_documents_and_alarms_quote_exists() {
    let mut count = 0;
    let mut found = Vec::new();
    for file in FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
        let text = std::fs::read_to_string(path).expect("the file is there");
        for line in quoted(&text) {
            count += 1;
            found.extend(wrong(&line).map(|why| format!("{file}: `{line}`: {why}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(count > 60, "only {count} commands were found");
}

#[test]
fn a_wrong_word_flag_or_value_is_noticed() {
    for line in [
        "oncehook outbx",
        "oncehook outbox parked",
        "oncehook outbox --stat parked",
        "oncehook outbox --state parkd",
        "oncehook events --since yesterday",
    ] {
        assert!(wrong(line).is_some(), "{line}");
    }
    assert_eq!(quoted("see\n`oncehook outbox\nretry`"), ["oncehook outbox retry"]);
    assert_eq!(
        words("oncehook events --kind 'a b*'  # why"),
        ["oncehook", "events", "--kind", "a b*"]
    );
}
