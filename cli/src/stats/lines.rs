//! The metrics of `oncehook dev`: the lines that CloudWatch would read on AWS, kept in its folder and read again.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use oncehook_edge::metrics::METRICS;
use serde_json::Value;

use super::report::Sample;

const FILE: &str = "metrics.jsonl";
const OLDER: &str = "metrics.1.jsonl";
/// The file is put aside when it is so long, in bytes; of those that were, one is kept.
const LONGEST: u64 = 32 * 1024 * 1024;

/// Keeps lines in a folder.
struct Keeper {
    folder: PathBuf,
    file: File,
    length: u64,
}

impl Keeper {
    fn open(folder: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join(FILE))?;
        Ok(Self {
            folder: folder.to_owned(),
            length: file.metadata()?.len(),
            file,
        })
    }

    fn keep(&mut self, line: &str) -> io::Result<()> {
        if self.length > LONGEST {
            fs::rename(self.folder.join(FILE), self.folder.join(OLDER))?;
            *self = Self::open(&self.folder)?;
        }
        // Before, not after: what a process that was killed left unfinished ends here.
        let line = format!("\n{line}");
        self.length += line.len() as u64;
        self.file.write_all(line.as_bytes())
    }
}

/// From now on the metrics of this process are kept in this folder. Those of the sweep are not: it runs every few
/// seconds there, and what it says of open effects is read from the table.
///
/// # Errors
/// When the folder cannot be written.
pub(crate) fn keep(folder: &Path) -> anyhow::Result<()> {
    let keeper = Keeper::open(folder).with_context(|| format!("cannot write in {}", folder.display()))?;
    let keeper = Mutex::new(keeper);
    oncehook_edge::metrics::start("Oncehook".to_owned(), move |line| {
        if !line.contains("\"function\":\"sweep\"") {
            let mut keeper = keeper.lock().unwrap_or_else(PoisonError::into_inner);
            // A full disk stops no webhook.
            let _lost = keeper.keep(line);
        }
    });
    Ok(())
}

/// All samples in a folder.
///
/// # Errors
/// When nothing was ever kept there, or it cannot be read.
pub(super) fn read(folder: &Path) -> anyhow::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    if !folder.join(FILE).exists() {
        bail!(
            "no `oncehook dev` has run in {}: give the folder of one with --data, or a deployed stack with --stack",
            folder.display()
        );
    }
    for name in [OLDER, FILE] {
        let path = folder.join(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        for line in BufReader::new(file).lines() {
            let line = line.with_context(|| format!("cannot read {}", path.display()))?;
            // Half a line of a process that was killed, or an empty one.
            if let Ok(line) = serde_json::from_str(&line) {
                samples.extend(of_line(&line));
            }
        }
    }
    Ok(samples)
}

/// What one line says.
fn of_line(line: &Value) -> Vec<Sample> {
    let at = line["_aws"]["Timestamp"].as_i64();
    let Some(at) = at.and_then(|millis| Timestamp::from_millisecond(millis).ok()) else {
        return Vec::new();
    };
    let of_function = METRICS
        .iter()
        .filter(|metric| line["function"] == metric.function);
    of_function
        .filter_map(|metric| {
            Some(Sample {
                metric,
                of: line[*metric.by.first()?].as_str()?.to_owned(),
                at,
                value: line[metric.name].as_f64()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_is_left_out_and_a_long_file_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let nothing = read(folder.path()).unwrap_err().to_string();
        assert!(nothing.contains("--stack"), "{nothing}");
        let line =
            r#"{"function":"ingest","source":"stripe","Received":2.0,"_aws":{"Timestamp":1796083200000}}"#;
        let mut keeper = Keeper::open(folder.path()).unwrap();
        keeper.keep(line).unwrap();
        keeper.keep(&line[..30]).unwrap();
        keeper.length = LONGEST + 1;
        keeper.keep(line).unwrap();
        assert!(folder.path().join(OLDER).exists() && keeper.length < LONGEST);
        let samples = read(folder.path()).unwrap();
        let seen: Vec<(&str, f64)> = samples.iter().map(|one| (one.metric.name, one.value)).collect();
        assert_eq!(seen, [("Received", 2.0), ("Received", 2.0)]);
        assert_eq!(samples[0].at.to_string(), "2026-12-01T00:00:00Z");
    }
}
