//! Every mistake in a configuration at once, each with its file, line, column and remedy.

use std::{cell::RefCell, fmt};

/// What is wrong with a configuration: one line for each mistake, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(Vec<String>);

impl ConfigErrors {
    /// `file:line:column: message` for each mistake.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.0
    }

    pub(crate) fn new(lines: Vec<String>) -> Self {
        Self(lines)
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for ConfigErrors {}

/// Collects mistakes while a text is read.
#[derive(Debug)]
pub(super) struct Report<'a> {
    file: &'a str,
    text: &'a str,
    found: RefCell<Vec<(usize, String)>>,
}

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            found: RefCell::default(),
        }
    }

    /// Notes a mistake at this byte of the text.
    pub(super) fn at(&self, offset: usize, message: impl Into<String>) {
        self.found.borrow_mut().push((offset, message.into()));
    }

    /// `Err` with everything noted, if anything was.
    pub(super) fn finish(self) -> Result<(), ConfigErrors> {
        let mut found = self.found.take();
        if found.is_empty() {
            return Ok(());
        }
        found.sort_by_key(|(offset, _)| *offset);
        found.dedup();
        let line = |(offset, message): (usize, String)| {
            let before = self.text.get(..offset).unwrap_or(self.text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            format!("{}:{line}:{column}: {message}", self.file)
        };
        Err(ConfigErrors(found.into_iter().map(line).collect()))
    }
}

/// ` Did you mean ..?` with the nearest of the right words, or all of them where none is near.
pub(crate) fn suggestion<'n>(wrong: &str, right: impl IntoIterator<Item = &'n str>) -> String {
    let mut right: Vec<&str> = right.into_iter().collect();
    right.sort_unstable();
    let near = right
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&wrong.to_lowercase(), name), name))
        .filter(|(distance, name)| *distance <= (name.chars().count().max(wrong.chars().count()) / 2).min(3))
        .min();
    match near {
        Some((_, name)) => format!("; did you mean `{name}`?"),
        None if right.is_empty() => "; there is none yet".to_owned(),
        None => format!("; there is `{}`", right.join("`, `")),
    }
}
