//! What a value of a template can be: every text that its functions may give, as far as that is known before a
//! deployment. Anything unknown stays in the text as `${..}`.

use super::{
    Place, Template,
    yaml::{Node, Value},
};

/// A value in a template.
#[derive(Debug, Clone, Copy)]
pub struct Part<'t> {
    pub(super) template: &'t Template,
    pub(super) stack: usize,
    pub(super) node: &'t Node,
    /// Whether it is a branch of an `!If`.
    pub conditional: bool,
}

impl<'t> Part<'t> {
    /// Where it stands.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            file: self.template.stacks[self.stack].file.clone(),
            line: self.node.line,
            column: self.node.column,
        }
    }

    /// The value of a key; of an `!If`, that of the first branch that has it.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        self.branches()
            .into_iter()
            .find_map(|part| Some(part.with(part.node.field(key)?)))
    }

    /// The keys and values of a map; of an `!If`, those of all branches.
    #[must_use]
    pub fn entries(self) -> Vec<(&'t str, Self)> {
        let entries = |part: Self| match &part.node.value {
            Value::Map(entries) => entries
                .iter()
                .map(|(key, node)| (key.as_str(), part.with(node)))
                .collect(),
            _ => Vec::new(),
        };
        self.branches().into_iter().flat_map(entries).collect()
    }

    /// The items of a list, or the one value that stands in its place; each `!If` as its branches.
    #[must_use]
    pub fn items(self) -> Vec<Self> {
        let items = |part: Self| match &part.node.value {
            Value::List(nodes) => nodes.iter().flat_map(|node| part.with(node).branches()).collect(),
            _ => vec![part],
        };
        self.branches().into_iter().flat_map(items).collect()
    }

    /// Every text that it may be. What is not known before a deployment stands as `${..}` in it.
    #[must_use]
    pub fn texts(self) -> Vec<String> {
        match (&self.node.value, self.node.function()) {
            (Value::Text(text), _) => vec![text.clone()],
            (_, Some((name, argument))) => self.call(name, self.with(argument)),
            _ => Vec::new(),
        }
    }

    /// Every number that it may be.
    ///
    /// # Errors
    /// The text that is no number, or that only a deployment knows.
    pub fn numbers(self) -> Result<Vec<u64>, String> {
        self.texts()
            .into_iter()
            .map(|text| text.parse().map_err(|_| text))
            .collect()
    }

    /// The parameters that it depends on.
    #[must_use]
    pub fn parameters(self) -> Vec<&'t str> {
        let mut found = Vec::new();
        self.collect(self.node, &mut found);
        found.dedup();
        found
    }

    fn collect(self, node: &'t Node, found: &mut Vec<&'t str>) {
        let stack = &self.template.stacks[self.stack];
        match (node.function(), &node.value) {
            (Some(("Ref", name)), _) => {
                let name = name.as_text().filter(|name| stack.parameters.contains_key(*name));
                found.extend(name);
            }
            (_, Value::List(nodes)) => nodes.iter().for_each(|node| self.collect(node, found)),
            (_, Value::Map(entries)) => entries.iter().for_each(|(_, node)| self.collect(node, found)),
            (_, Value::Text(_)) => {}
        }
    }

    pub(super) fn with(self, node: &'t Node) -> Self {
        Self { node, ..self }
    }

    /// Itself, or both branches of an `!If`; `AWS::NoValue` is nothing.
    pub(super) fn branches(self) -> Vec<Self> {
        match self.node.function() {
            Some(("Fn::If", argument)) => match &argument.value {
                Value::List(list) => list
                    .iter()
                    .skip(1)
                    .flat_map(|node| {
                        Self {
                            node,
                            conditional: true,
                            ..self
                        }
                        .branches()
                    })
                    .collect(),
                _ => Vec::new(),
            },
            Some(("Ref", argument)) if argument.as_text() == Some("AWS::NoValue") => Vec::new(),
            _ => vec![self],
        }
    }
}
