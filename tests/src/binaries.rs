//! The programs of this workspace, as cargo builds them for this machine.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use oncehook_edge::Environment;
use serde_json::Value;

/// The folder of the workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The path of a program: `oncehook`, or a function such as `oncehook-ingest`.
///
/// A function comes from the folder in `ONCEHOOK_TEST_BIN_DIR`, if it is set: as `oncehook-ingest`, or as cargo-lambda
/// leaves it, `oncehook-ingest/bootstrap`.
///
/// # Panics
/// When the program is not there or does not build.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let given = Environment::process().get("ONCEHOOK_TEST_BIN_DIR");
    if let Some(folder) = given.filter(|_| name != "oncehook") {
        let path = workspace().join(folder).join(name);
        let bootstrap = path.join("bootstrap");
        let path = if bootstrap.is_file() { bootstrap } else { path };
        assert!(path.is_file(), "ONCEHOOK_TEST_BIN_DIR has no {}", path.display());
        return path;
    }
    static BUILT: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(build);
    built.get(name).expect("a program of this workspace").clone()
}

/// Builds them: `cargo test` alone leaves out a program whose package has no tests around it. With the tests, so that
/// the same features are on and nothing is compiled twice.
fn build() -> BTreeMap<String, PathBuf> {
    let cargo = Environment::process()
        .get("CARGO")
        .unwrap_or_else(|| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command
        .current_dir(workspace())
        .args(["build", "--quiet", "--workspace", "--bins", "--tests"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit());
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.output().expect("cargo runs");
    assert!(
        output.status.success(),
        "the programs do not build; cargo says why"
    );
    let messages = output.stdout.split(|byte| *byte == b'\n');
    messages
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(|message| message["profile"]["test"] == false)
        .filter_map(|message| {
            let name = message["target"]["name"].as_str()?.to_owned();
            Some((name, PathBuf::from(message["executable"].as_str()?)))
        })
        .collect()
}
