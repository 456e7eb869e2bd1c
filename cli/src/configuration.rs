//! oncehook.toml and other files as commands read them, with mistakes that name their remedy.
//!
//! The rules of the file are the core's.

use std::{
    io::{ErrorKind, Read as _},
    path::Path,
};

use oncehook_core::{
    config::{Config, SourceConfig},
    verify::Scheme,
};

use crate::{answer::misuse, signing};

/// Reads and checks the configuration.
///
/// # Errors
/// When it cannot be read, or with all its mistakes.
pub(crate) fn load(file: &Path) -> anyhow::Result<Config> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        misuse(format!(
            "cannot read {}: {error}; give another with --config",
            file.display()
        ))
    })?;
    Config::parse(&text, &file.display().to_string())
        .map_err(|errors| misuse(format!("the configuration has mistakes:\n{errors}")))
}

/// Reads the configuration, or where there is none, takes every scheme as a source of its own name.
///
/// # Errors
/// As [`load`], but not for a missing file.
pub(crate) fn load_or_schemes(file: &Path) -> anyhow::Result<Config> {
    let missing = std::fs::metadata(file).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    if !missing {
        return load(file);
    }
    let plain = |name: &str| {
        Some((
            name.to_owned(),
            signing::plain_source(name, Scheme::from_name(name)?),
        ))
    };
    Ok(Config {
        sources: Scheme::names().filter_map(plain).collect(),
        tables: Default::default(),
        rules: Vec::new(),
        destinations: Default::default(),
        shards: 1,
    })
}

/// A source by its name.
///
/// # Errors
/// When there is none, with the names that there are.
pub(crate) fn source<'c>(config: &'c Config, name: &str) -> anyhow::Result<&'c SourceConfig> {
    config.sources.get(name).ok_or_else(|| {
        let names: Vec<String> = config.sources.keys().map(|name| format!("`{name}`")).collect();
        misuse(format!(
            "there is no source `{name}`; there is {}",
            names.join(", ")
        ))
    })
}

/// The bytes of a file; `-` is standard input.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let read = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map_err(|error| misuse(format!("cannot read {}: {error}", file.display())))
}
