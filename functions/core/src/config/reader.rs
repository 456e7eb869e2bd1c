//! Reads one TOML table key by key and notes what is wrong with it, without stopping at the first mistake.
//!
//! It knows types and spelling. What a value means is for the module that asks for it.

use std::{cell::RefCell, fmt::Display, str::FromStr};

use jiff::SignedDuration;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    report::{Report, suggestion},
    units,
};

/// A value with its place in the text.
pub(super) type Item<'a> = Spanned<DeValue<'a>>;

/// One table being read. Call [`finish`](Self::finish) when all keys have been asked for.
pub(super) struct Reader<'a> {
    table: &'a DeTable<'a>,
    /// Where the table begins, in bytes.
    pub(super) start: usize,
    /// What the table is called in messages, such as `[source.stripe]`.
    pub(super) place: String,
    pub(super) report: &'a Report<'a>,
    known: RefCell<Vec<&'static str>>,
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found<T> {
    pub(super) value: T,
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(table: &'a DeTable<'a>, start: usize, place: String, report: &'a Report<'a>) -> Self {
        Self {
            table,
            start,
            place,
            report,
            known: RefCell::default(),
        }
    }

    /// A table that is a value; anything else is noted.
    pub(super) fn of(item: &'a Item<'a>, place: String, report: &'a Report<'a>) -> Option<Self> {
        match item.get_ref().as_table() {
            Some(table) => Some(Self::new(table, item.span().start, place, report)),
            None => {
                report.at(
                    item.span().start,
                    format!("{place} is {}, not a table", kind(item.get_ref())),
                );
                None
            }
        }
    }

    /// Notes a mistake about the table as a whole.
    pub(super) fn wrong(&self, message: impl Display) {
        self.report.at(self.start, self.placed(message));
    }

    /// The value of a key, if it is there.
    pub(super) fn get(&self, key: &'static str) -> Option<&'a Item<'a>> {
        self.known.borrow_mut().push(key);
        self.table.get(key)
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &'static str) -> Option<&'a Item<'a>> {
        let item = self.get(key);
        if item.is_none() {
            self.wrong(format_args!("`{key}` is missing"));
        }
        item
    }

    /// All keys and values, for tables whose keys are names.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, usize, &'a Item<'a>)> {
        self.table
            .iter()
            .map(|(name, item)| (name.get_ref().as_ref(), name.span().start, item))
    }

    pub(super) fn string(&self, key: &'static str) -> Option<Found<String>> {
        let item = self.get(key)?;
        self.as_string(key, item)
    }

    pub(super) fn need_string(&self, key: &'static str) -> Option<Found<String>> {
        let item = self.need(key)?;
        self.as_string(key, item)
    }

    pub(super) fn boolean(&self, key: &'static str) -> Option<bool> {
        let item = self.get(key)?;
        item.get_ref()
            .as_bool()
            .or_else(|| self.wrong_type(key, item, "true or false"))
    }

    /// A whole number within these limits.
    pub(super) fn integer(&self, key: &'static str, least: u64, most: u64) -> Option<u64> {
        let item = self.get(key)?;
        let text = match item.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
            _ => return self.wrong_type(key, item, "a whole number"),
        };
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.or_else(|| self.note(item, format!("`{key}` is {text}, but must be {least} to {most}")))
    }

    /// A duration within these limits.
    pub(super) fn duration(&self, key: &'static str, least: &str, most: &str) -> Option<SignedDuration> {
        let duration = self.parsed(key, units::duration)?;
        let outside = units::duration(least).is_ok_and(|least| duration.value < least)
            || units::duration(most).is_ok_and(|most| duration.value > most);
        if outside {
            self.report.at(
                duration.at,
                format!(
                    "{}: `{key}` is {}, but must be {least} to {most}",
                    self.place,
                    units::show(duration.value)
                ),
            );
        }
        Some(duration.value).filter(|_| !outside)
    }

    /// A string put through a check of its own.
    pub(super) fn parsed<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<Found<T>> {
        let text = self.string(key)?;
        match parse(&text.value) {
            Ok(value) => Some(Found { value, at: text.at }),
            Err(reason) => {
                self.report
                    .at(text.at, format!("{}: `{key}`: {reason}", self.place));
                None
            }
        }
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let word = self.string(key)?;
        let found = words
            .iter()
            .find(|(name, _)| *name == word.value)
            .map(|(_, value)| *value);
        if found.is_none() {
            let nearest = suggestion(&word.value, words.iter().map(|(name, _)| *name));
            self.report.at(
                word.at,
                format!("{}: `{key}` cannot be `{}`{nearest}", self.place, word.value),
            );
        }
        found
    }

    /// A string, or a list of strings.
    pub(super) fn strings(&self, key: &'static str) -> Vec<Found<String>> {
        let Some(item) = self.get(key) else {
            return Vec::new();
        };
        match item.get_ref().as_array() {
            Some(list) => list.iter().filter_map(|item| self.as_string(key, item)).collect(),
            None if item.get_ref().is_str() => self.as_string(key, item).into_iter().collect(),
            None => {
                let _: Option<()> = self.wrong_type(key, item, "a string or a list of strings");
                Vec::new()
            }
        }
    }

    /// Strings with a form of their own.
    pub(super) fn parsed_list<T: FromStr>(&self, key: &'static str, what: &str) -> Vec<T> {
        let parse = |text: Found<String>| {
            let value = text.value.parse().ok();
            if value.is_none() {
                self.report.at(
                    text.at,
                    format!("{}: `{key}`: `{}` is not {what}", self.place, text.value),
                );
            }
            value
        };
        self.strings(key).into_iter().filter_map(parse).collect()
    }

    /// A table under a key.
    pub(super) fn table(&self, key: &'static str) -> Option<Self> {
        Self::of(self.get(key)?, format!("{} {key}", self.place), self.report)
    }

    /// Tables under a key: `[[key]]`.
    pub(super) fn tables(&self, key: &'static str) -> Vec<Self> {
        let Some(item) = self.get(key) else {
            return Vec::new();
        };
        match item.get_ref().as_array() {
            Some(list) => list
                .iter()
                .enumerate()
                .filter_map(|(at, item)| {
                    Self::of(
                        item,
                        format!("{} {key} {}", self.place, at + 1).trim_start().to_owned(),
                        self.report,
                    )
                })
                .collect(),
            None => {
                let _: Option<()> =
                    self.wrong_type(key, item, "a list of tables: write [[ ]] around its name");
                Vec::new()
            }
        }
    }

    /// Notes keys that nothing asked for.
    pub(super) fn finish(self) {
        let known = self.known.take();
        for (name, at, _) in self.entries().filter(|(name, ..)| !known.contains(name)) {
            let nearest = suggestion(name, known.iter().copied());
            self.report
                .at(at, self.placed(format_args!("unknown key `{name}`{nearest}")));
        }
    }

    /// Notes a mistake in a value; gives `None`, for the caller to pass on.
    pub(super) fn note<T>(&self, item: &Item<'_>, message: impl Display) -> Option<T> {
        self.report.at(item.span().start, self.placed(message));
        None
    }

    /// A message after its place; the document itself has none.
    fn placed(&self, message: impl Display) -> String {
        match self.place.as_str() {
            "" => message.to_string(),
            place => format!("{place}: {message}"),
        }
    }

    fn as_string(&self, key: &str, item: &Item<'_>) -> Option<Found<String>> {
        match item.get_ref().as_str() {
            Some(text) => Some(Found {
                value: text.to_owned(),
                at: item.span().start,
            }),
            None => self.wrong_type(key, item, "a string in quotes"),
        }
    }

    fn wrong_type<T>(&self, key: &str, item: &Item<'_>, wanted: &str) -> Option<T> {
        self.note(
            item,
            format!("`{key}` is {}, but must be {wanted}", kind(item.get_ref())),
        )
    }
}

/// A TOML type with its article.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date-time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
