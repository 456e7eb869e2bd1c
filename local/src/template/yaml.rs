//! YAML (and so JSON) as a tree with positions. Short tags become the functions that they stand for: `!Ref X` is the
//! map `Ref: X`, `!Sub x` is `Fn::Sub: x`. Knows nothing of CloudFormation beyond that.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScanError, Span, StrInput, Tag};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    List(Vec<Node>),
    /// In the order of the text.
    Map(Vec<(String, Node)>),
}

impl Node {
    pub(super) fn field(&self, key: &str) -> Option<&Self> {
        let Value::Map(entries) = &self.value else {
            return None;
        };
        entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The name and the argument of a function: a map with this one key.
    pub(super) fn function(&self) -> Option<(&str, &Self)> {
        match &self.value {
            Value::Map(entries) => match entries.as_slice() {
                [(name, argument)] if name == "Ref" || name == "Condition" || name.starts_with("Fn::") => {
                    Some((name, argument))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Why a text is not YAML: line, column and message.
pub(super) type Wrong = (usize, usize, String);

/// Nesting beyond this is no template.
const DEEPEST: usize = 100;

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Node>,
}

/// Reads the first document of a text.
pub(super) fn parse(text: &str) -> Result<Node, Wrong> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        anchors: HashMap::new(),
    };
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd => return Err(wrong(span.start, "there is nothing in this file")),
            event => return reader.node(event, span, 0),
        }
    }
}

fn wrong(at: Marker, message: &str) -> Wrong {
    (at.line(), at.col() + 1, message.to_owned())
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Wrong> {
        let scan = |error: ScanError| wrong(*error.marker(), error.info());
        match self.parser.next_event() {
            Some(event) => event.map_err(scan),
            None => Err((1, 1, "the text ends too early".to_owned())),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Wrong> {
        if depth > DEEPEST {
            return Err(wrong(span.start, "nested too deeply"));
        }
        let (value, anchor, tag) = match event {
            Event::Scalar(text, _, anchor, tag) => (Value::Text(text.into_owned()), anchor, tag),
            Event::SequenceStart(anchor, tag) => (self.list(depth)?, anchor, tag),
            Event::MappingStart(anchor, tag) => (self.map(depth)?, anchor, tag),
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                return known.ok_or_else(|| wrong(span.start, "this alias has no anchor before it"));
            }
            _ => return Err(wrong(span.start, "a value is missing here")),
        };
        let (line, column) = (span.start.line(), span.start.col() + 1);
        let node = Node { line, column, value };
        let node = match tag.as_deref().and_then(function) {
            Some(name) => Node {
                line,
                column,
                value: Value::Map(vec![(name, node)]),
            },
            None => node,
        };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Value, Wrong> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Wrong> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Value::Map(entries));
            }
            let key = self.node(event, span, depth + 1)?;
            let Some(key) = key.as_text().map(str::to_owned) else {
                return Err(wrong(span.start, "a key must be text"));
            };
            if entries.iter().any(|(other, _)| *other == key) {
                return Err(wrong(
                    span.start,
                    &format!("`{key}` stands twice in one map: remove one"),
                ));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            entries.push((key, value));
        }
    }
}

/// The function that a short tag stands for.
fn function(tag: &Tag) -> Option<String> {
    match (tag.handle.as_str(), tag.suffix.as_str()) {
        ("!", name @ ("Ref" | "Condition")) => Some(name.to_owned()),
        ("!", name) if !name.is_empty() => Some(format!("Fn::{name}")),
        _ => None,
    }
}
