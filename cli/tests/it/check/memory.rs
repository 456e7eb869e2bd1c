//! Changes of names that would forget or strand something.

use super::{CONFIG, Project, err};

/// Makes one change, which must be an error that can be accepted.
#[track_caller]
fn loses(change: (&str, &str), place: &str, parts: &[&str]) {
    let project = Project::new();
    project.change("oncehook.toml", change.0, change.1);
    project.fails(&["--no-template"], place, parts);
    project.fails(&["--no-template"], place, &["oncehook check --accept"]);
    project.remarks(&["--no-template", "--accept"], place, &["note: accepted: "]);
    let after = project.check(&["--no-template", "--strict"]);
    assert_eq!(after.status.code(), Some(0), "{}", err(&after));
    assert_eq!(err(&after), "");
}

#[test]
fn a_first_run_writes_nothing_and_says_what_to_do() {
    let project = Project::new();
    let lock = project.0.path().join("oncehook.lock");
    std::fs::remove_file(&lock).unwrap();
    project.remarks(
        &[],
        "oncehook.toml:1:1: warning: ",
        &["oncehook.lock", "oncehook check --accept"],
    );
    assert!(!lock.exists());
    // A project without a template is only tried out: nothing is asked of it.
    let template = project.0.path().join("template.yaml");
    std::fs::rename(&template, template.with_extension("off")).unwrap();
    let output = project.check(&["--strict"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    std::fs::rename(template.with_extension("off"), &template).unwrap();
    project.fails(
        &["--strict"],
        "oncehook.toml:1:1: warning: ",
        &["oncehook check --accept"],
    );
    project.remarks(&["--accept"], "note: ", &["oncehook.lock is written; commit it"]);
    assert!(std::fs::read_to_string(&lock).unwrap().contains("[rule.credit]"));
}

#[test]
fn what_is_new_is_added_without_a_fuss() {
    let project = Project::new();
    let more = "\n[destination.other]\nurl = \"https://example.com/\"\nsecret = \"mail\"\nidempotency = { retention = \"24h\" }\n";
    project.write("oncehook.toml", &format!("{CONFIG}{more}"));
    project.remarks(
        &[],
        "oncehook.lock:1:1: warning: ",
        &["destination `other`", "--accept"],
    );
    project.fails(
        &["--strict"],
        "oncehook.lock:1:1: warning: ",
        &["destination `other`"],
    );
    project.remarks(&["--accept"], "note: ", &["oncehook.lock is written"]);
    assert!(!err(&project.check(&[])).contains("warning"));
}

#[test]
fn another_namespace_forgets_events() {
    loses(
        ("secret = \"stripe\"", "secret = \"stripe\"\nnamespace = \"pay\""),
        "oncehook.toml:4:1: ",
        &["`stripe` to `pay`", "applied again", "namespace = \"stripe\""],
    );
}

#[test]
fn a_renamed_source_keeps_its_events_if_it_keeps_its_namespace() {
    let project = Project::new();
    let renamed = CONFIG
        .replace("[source.stripe]", "[source.pay]")
        .replace("source = \"stripe\"", "source = \"pay\"");
    project.write("oncehook.toml", &renamed);
    project.fails(
        &[],
        "oncehook.lock:",
        &["source `stripe` is gone", "no event is forgotten"],
    );
    project.write(
        "oncehook.toml",
        &renamed.replace("secret = \"stripe\"", "secret = \"stripe\"\nnamespace = \"pay\""),
    );
    project.fails(
        &[],
        "oncehook.lock:",
        &[
            "source `stripe` is gone",
            "namespace = \"stripe\"",
            "applied again",
        ],
    );
}

#[test]
fn a_renamed_rule_forgets_what_hangs_on_its_name() {
    loses(
        ("name = \"latest\"", "name = \"newest\""),
        "oncehook.lock:",
        &[
            "rule `latest` is gone",
            "older data may overwrite newer",
            "if `newest` is its new name",
        ],
    );
    loses(
        ("name = \"credit\"", "name = \"pay-in\""),
        "oncehook.lock:",
        &["rule `credit` is gone", "new idempotency keys"],
    );
}

#[test]
fn a_changed_guard_forgets() {
    loses(
        ("once_per = \"invoice:", "once_per = \"bill:"),
        "oncehook.toml:13:1: ",
        &["`once_per` of rule `credit`", "applied again"],
    );
    loses(
        ("at = \"/created\"", "at = \"/data/object/version\""),
        "oncehook.toml:34:1: ",
        &["`newer_by` of rule `latest` was /data/object/id at /created"],
    );
}

#[test]
fn a_renamed_effect_has_other_keys() {
    loses(
        ("name = \"receipt\"", "name = \"letter\""),
        "oncehook.toml:",
        &["effect `receipt` of rule `credit` is gone", "idempotency key"],
    );
}

#[test]
fn a_destination_that_is_gone_strands_its_effects() {
    let project = Project::new();
    project.write(
        "oncehook.toml",
        &CONFIG
            .replace("[destination.mail]", "[destination.post]")
            .replace("\"mail\"\n  body", "\"post\"\n  body"),
    );
    project.fails(&[], "oncehook.lock:", &["destination `mail` is gone", "parked"]);
    project.remarks(&["--accept"], "oncehook.lock:", &["note: accepted"]);
}

#[test]
fn shards_only_grow() {
    loses(
        ("shards = 4", "shards = 2"),
        "oncehook.toml:43:1: ",
        &["falls from 4 to 2"],
    );
    let project = Project::new();
    project.change("oncehook.toml", "shards = 4", "shards = 8");
    project.remarks(&[], "oncehook.lock:1:1: warning: ", &["8 shards"]);
}

#[test]
fn a_lock_file_that_cannot_be_read_is_no_acceptance() {
    let project = Project::new();
    project.write("oncehook.lock", "<<<<<<< ours\n");
    project.fails(&[], "oncehook.lock:1:1: ", &["cannot be read", "--accept"]);
    project.write("oncehook.lock", "version = 9\nshards = 1\ndestinations = []\n");
    project.fails(&[], "oncehook.lock:1:1: ", &["newer oncehook"]);
}
