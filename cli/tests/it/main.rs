//! The command line as people run it: arguments, output, exit codes. No test leaves this machine.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod audit;
mod check;
mod dev;
mod inspect;
mod kill;
mod offline;
mod operate;
mod park;
mod running;
mod secret;
mod services;
mod sources;
mod stats;

use std::{
    path::Path,
    process::{Command, Output},
};

/// A run of the real binary without any of this machine's settings.
fn oncehook(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oncehook"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ONCEHOOK_")) {
        command.env_remove(name);
    }
    command.current_dir(folder).args(arguments);
    command
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
