//! Embeds oncehook.toml in the binaries, and refuses to build with a mistake in it.

#![expect(clippy::disallowed_methods, reason = "a build script is an edge, too")]

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-env-changed=ONCEHOOK_CONFIG");
    let given = std::env::var("ONCEHOOK_CONFIG");
    let name = given.as_deref().unwrap_or("oncehook.toml");
    // A relative path is meant from the workspace, where cargo is called.
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(name);
    println!("cargo::rerun-if-changed={}", path.display());
    let path = match path.canonicalize() {
        Ok(path) => path,
        Err(error) => {
            println!("cargo::error=cannot read {}: {error}", path.display());
            return;
        }
    };
    let checked = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))
        .and_then(|text| {
            oncehook_core::config::Config::parse(&text, name).map_err(|errors| errors.to_string())
        });
    match checked {
        Ok(_) => println!("cargo::rustc-env=ONCEHOOK_EMBEDDED={}", path.display()),
        Err(errors) => errors.lines().for_each(|line| println!("cargo::error={line}")),
    }
}
