//! `oncehook check`: each thing that it looks at, broken once.

mod memory;
mod targets;
mod template;

use std::process::Output;

use serde_json::Value;

use super::{command, err, oncehook, out};

const CONFIG: &str = include_str!("check/oncehook.toml");
const TEMPLATE: &str = include_str!("check/template.yaml");

/// A folder in which nothing is wrong and everything is accepted.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        project.write("oncehook.toml", CONFIG);
        project.write("template.yaml", TEMPLATE);
        let accepted = project.check(&["--accept"]);
        assert_eq!(accepted.status.code(), Some(0), "{}", err(&accepted));
        project
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    /// Changes a file, which must have what is to be changed exactly once.
    fn change(&self, name: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.0.path().join(name)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{name} has not one `{from}`");
        self.write(name, &text.replace(from, to));
    }

    fn check(&self, further: &[&str]) -> Output {
        oncehook(self.0.path(), &[&["check"], further].concat())
    }

    /// Fails, and says this at this place.
    #[track_caller]
    fn fails(&self, further: &[&str], place: &str, parts: &[&str]) {
        let output = self.check(further);
        assert_eq!(output.status.code(), Some(2), "{}{}", out(&output), err(&output));
        says(&output, place, parts);
    }

    /// Passes, and says this at this place all the same.
    #[track_caller]
    fn remarks(&self, further: &[&str], place: &str, parts: &[&str]) {
        let output = self.check(further);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        says(&output, place, parts);
    }
}

#[track_caller]
fn says(output: &Output, place: &str, parts: &[&str]) {
    let shown = err(output);
    let said = |line: &str| line.starts_with(place) && parts.iter().all(|part| line.contains(part));
    assert!(shown.lines().any(said), "{place} {parts:?}\n{shown}");
}

#[test]
fn a_project_without_mistakes_passes_even_strictly() {
    let project = Project::new();
    let output = project.check(&["--strict"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        out(&output).contains("1 source, 2 rules, 1 table, 1 destination"),
        "{}",
        out(&output)
    );
    // What is stored elsewhere is said once, and is no complaint.
    let shown = err(&output);
    assert_eq!(shown.lines().count(), 1, "{shown}");
    assert!(
        shown.starts_with("note: ") && shown.contains("secrets `mail`, `stripe`"),
        "{shown}"
    );
}

#[test]
fn the_example_of_this_repository_passes_strictly() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let output = oncehook(root, &["check", "--strict"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
}

#[test]
fn findings_come_as_json_as_well() {
    let project = Project::new();
    project.change("template.yaml", "Default: 15", "Default: 31");
    let output = project.check(&["--json"]);
    assert_eq!(output.status.code(), Some(2));
    let answer: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(answer["valid"], false);
    let finding = answer["findings"].as_array().unwrap().last().unwrap();
    assert_eq!(finding["severity"], "error");
    assert_eq!(
        (finding["file"].as_str(), finding["line"].as_u64()),
        (Some("template.yaml"), Some(23))
    );
    assert!(
        finding["message"].as_str().unwrap().contains("API Gateway"),
        "{finding}"
    );
}

#[test]
fn a_mistake_in_the_configuration_is_the_only_thing_said() {
    let project = Project::new();
    project.change("oncehook.toml", "budget = \"2s\"", "budgt = \"2s\"");
    project.fails(&[], "oncehook.toml:4:1: ", &["`budgt`", "did you mean `budget`"]);
    assert_eq!(err(&project.check(&[])).lines().count(), 2);
}

#[test]
fn warnings_fail_only_strictly() {
    let project = Project::new();
    project.change("oncehook.toml", "idempotency = { retention = \"24h\" }\n", "");
    project.remarks(
        &[],
        "oncehook.toml:36:14: warning: ",
        &["idempotency", "on_ambiguous = \"park\""],
    );
    project.fails(&["--strict"], "oncehook: ", &["1 warning (--strict)"]);
    project.change(
        "oncehook.toml",
        "timeout = \"10s\"",
        "timeout = \"10s\"\non_ambiguous = \"park\"",
    );
    assert_eq!(project.check(&["--strict"]).status.code(), Some(0));
}

#[test]
fn a_destination_without_a_secret_says_that_it_is_meant() {
    let project = Project::new();
    project.change("oncehook.toml", "secret = \"mail\"\n", "");
    project.remarks(
        &[],
        "oncehook.toml:36:14: warning: ",
        &["no `secret`", "auth = \"none\""],
    );
    project.change(
        "oncehook.toml",
        "timeout = \"10s\"",
        "timeout = \"10s\"\nauth = \"none\"",
    );
    assert_eq!(project.check(&["--strict"]).status.code(), Some(0));
}

#[test]
fn a_deployed_function_does_not_reach_this_machine() {
    let project = Project::new();
    project.change(
        "oncehook.toml",
        "https://mail.example.com",
        "http://localhost:8000",
    );
    project.fails(&[], "oncehook.toml:37:1: ", &["ONCEHOOK_URL_MAIL"]);
    assert_eq!(project.check(&["--no-template"]).status.code(), Some(0));
}

#[test]
fn a_secret_is_missed_only_on_request_and_looked_at_where_it_is_set() {
    let project = Project::new();
    project.remarks(
        &["--secrets"],
        "oncehook.toml:3:1: warning: ",
        &["ONCEHOOK_SECRET_STRIPE is not set here"],
    );
    project.remarks(
        &["--secrets"],
        "oncehook.toml:38:1: warning: ",
        &["ONCEHOOK_SECRET_MAIL is not set here"],
    );
    let with = |value: &str| {
        let mut command = command(project.0.path(), &["check"]);
        command.env("ONCEHOOK_SECRET_MAIL", value).output().unwrap()
    };
    assert_eq!(with("re_123").status.code(), Some(0));
    let output = with("re_\u{7}123");
    assert_eq!(output.status.code(), Some(2));
    says(
        &output,
        "oncehook.toml:38:1: ",
        &[
            "[destination.mail]",
            "ONCEHOOK_SECRET_MAIL",
            "HTTP does not allow",
        ],
    );
    project.change(
        "oncehook.toml",
        "timeout = \"10s\"",
        "timeout = \"10s\"\nsign = \"standard-webhooks\"",
    );
    let output = with("not base64");
    assert_eq!(output.status.code(), Some(2));
    says(
        &output,
        "oncehook.toml:38:1: ",
        &["ONCEHOOK_SECRET_MAIL", "base64"],
    );
    assert!(
        !err(&output).contains("not base64"),
        "a secret is shown: {}",
        err(&output)
    );
}

#[test]
fn names_that_are_one_variable_are_refused() {
    let project = Project::new();
    project.change(
        "oncehook.toml",
        "secret = \"stripe\"",
        "secret = [\"stripe-a\", \"stripe_a\"]",
    );
    project.fails(
        &[],
        "oncehook.toml:3:1: ",
        &["`stripe_a` and `stripe-a` are both ONCEHOOK_SECRET_STRIPE_A"],
    );
}
