//! Where the keys of a TOML file stand. Knows no key's meaning.

use oncehook_local::template::Place;
use toml::de::{DeTable, DeValue};

/// A TOML text, to look places up in.
#[derive(Debug)]
pub(super) struct Places<'t> {
    file: String,
    text: &'t str,
    table: DeTable<'t>,
}

impl<'t> Places<'t> {
    /// `None` if the text is no TOML.
    pub(super) fn new(file: String, text: &'t str) -> Option<Self> {
        let table = DeTable::parse(text).ok()?.into_inner();
        Some(Self { file, text, table })
    }

    /// The place of a key, or of the last of its parents that is there; numbers count the tables of a list.
    pub(super) fn of(&self, path: &[&str]) -> Place {
        self.walk(path).0
    }

    /// Whether a key is there.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        self.walk(path).1
    }

    fn walk(&self, path: &[&str]) -> (Place, bool) {
        let mut at = 0;
        let mut value: Option<&DeValue<'t>> = None;
        for (index, step) in path.iter().enumerate() {
            let table = if index == 0 {
                Some(&self.table)
            } else {
                value.and_then(DeValue::as_table)
            };
            let entry = table.and_then(|table| table.get_key_value(*step));
            let item = step
                .parse()
                .ok()
                .and_then(|number: usize| value?.as_array()?.get(number));
            match (entry, item) {
                (Some((key, item)), _) => (at, value) = (key.span().start, Some(item.get_ref())),
                (None, Some(item)) => (at, value) = (item.span().start, Some(item.get_ref())),
                (None, None) => return (self.place(at), false),
            }
        }
        (self.place(at), true)
    }

    fn place(&self, at: usize) -> Place {
        let before = self.text.get(..at).unwrap_or_default();
        Place {
            file: self.file.clone(),
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
        }
    }
}
