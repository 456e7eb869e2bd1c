//! The text of the parameter as an operator changes it: one name at a time, every other entry as it was.

use serde_json::{Map, Value};

/// All entries. No `Debug`: it would show them.
#[derive(Clone, Default)]
pub(crate) struct Values(Map<String, Value>);

impl Values {
    /// Reads the parameter's text; nothing if it is no JSON object.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match serde_json::from_str(text) {
            Ok(Value::Object(entries)) => Some(Self(entries)),
            _ => None,
        }
    }

    /// The parameter's text.
    pub(crate) fn text(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    /// Every name.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// The values of a name that are text, newest first.
    pub(crate) fn of(&self, name: &str) -> Vec<String> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match self.0.get(name) {
            Some(Value::Array(values)) => values.iter().filter_map(text).collect(),
            Some(value) => text(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Puts a value first, before the former ones or instead of them. Says whether that changed anything.
    pub(crate) fn set(&mut self, name: &str, value: &str, replace: bool) -> bool {
        let mut values = vec![value.to_owned()];
        if !replace {
            values.extend(self.of(name).into_iter().filter(|former| former != value));
        }
        self.put(name, &values)
    }

    /// Keeps so many of the values, from the first. Says whether that changed anything.
    pub(crate) fn keep(&mut self, name: &str, count: usize) -> bool {
        let mut values = self.of(name);
        values.truncate(count);
        self.put(name, &values)
    }

    fn put(&mut self, name: &str, values: &[String]) -> bool {
        let entry = match values {
            [] => return self.0.remove(name).is_some(),
            [one] => Value::from(one.as_str()),
            several => Value::from(several),
        };
        if self.0.get(name) == Some(&entry) {
            return false;
        }
        self.0.insert(name.to_owned(), entry);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_value_comes_first_and_everything_else_stays() {
        let mut values = Values::parse(r#"{"mail": "re_1", "odd": {"x": 1}, "stripe": "a"}"#).unwrap();
        assert!(values.set("stripe", "b", false));
        assert_eq!(
            values.text(),
            r#"{"mail":"re_1","odd":{"x":1},"stripe":["b","a"]}"#
        );
        assert!(!values.set("stripe", "b", false), "again");
        assert!(
            values.set("stripe", "a", false),
            "a former value becomes the first"
        );
        assert_eq!(values.of("stripe"), ["a", "b"]);
        assert!(values.keep("stripe", 1));
        assert_eq!(values.text(), r#"{"mail":"re_1","odd":{"x":1},"stripe":"a"}"#);
        assert!(values.set("stripe", "c", true));
        assert_eq!(values.of("stripe"), ["c"]);
        assert!(values.keep("stripe", 0) && values.of("stripe").is_empty());
        assert!(values.set("odd", "text", false), "what was no text gives way");
        assert_eq!(values.text(), r#"{"mail":"re_1","odd":"text"}"#);
    }
}
