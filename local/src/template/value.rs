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

    fn with(self, node: &'t Node) -> Self {
        Self { node, ..self }
    }

    /// Itself, or both branches of an `!If`; `AWS::NoValue` is nothing.
    fn branches(self) -> Vec<Self> {
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

    fn call(self, name: &str, argument: Self) -> Vec<String> {
        match name {
            "Ref" => argument
                .node
                .as_text()
                .map(|name| self.reference(name))
                .unwrap_or_default(),
            "Fn::GetAtt" => {
                let parts: Vec<String> = argument.items().into_iter().flat_map(Self::texts).collect();
                self.attribute(&parts.join("."))
            }
            "Fn::Sub" => self.sub(argument),
            "Fn::If" => self.branches().into_iter().flat_map(Self::texts).collect(),
            "Fn::Join" => {
                let Value::List(list) = &argument.node.value else {
                    return unknown(name);
                };
                let (Some(separator), Some(parts)) = (list.first().and_then(Node::as_text), list.get(1))
                else {
                    return unknown(name);
                };
                let parts = self.with(parts).items().into_iter().map(Self::texts);
                parts
                    .reduce(|before, next| product(&before, separator, &next))
                    .unwrap_or_default()
            }
            "Fn::FindInMap" => self.find_in_map(argument).unwrap_or_else(|| unknown(name)),
            other => unknown(other),
        }
    }

    /// `!Ref`: a parameter's values, or a resource.
    fn reference(self, name: &str) -> Vec<String> {
        let stack = &self.template.stacks[self.stack];
        match stack.parameters.get(name) {
            _ if name == "AWS::NoValue" => Vec::new(),
            Some(values) if !values.is_empty() => values.clone(),
            _ if name.starts_with("AWS::") => vec![format!("${{{name}}}")],
            _ => vec![format!("${{{}{name}}}", stack.prefix)],
        }
    }

    /// `!GetAtt`: an output of a nested template is what it says there.
    fn attribute(self, path: &str) -> Vec<String> {
        let stack = &self.template.stacks[self.stack];
        if let Some((id, output)) = path.split_once(".Outputs.") {
            let prefix = format!("{}{id}/", stack.prefix);
            let nested = self
                .template
                .stacks
                .iter()
                .position(|stack| stack.prefix == prefix);
            let value = nested.and_then(|stack| {
                self.template
                    .root(stack)
                    .get("Outputs")?
                    .get(output)?
                    .get("Value")
            });
            if let Some(value) = value {
                return value.texts();
            }
        }
        vec![format!("${{{}{path}}}", stack.prefix)]
    }

    /// `!Sub`: a text, or a text with values of its own.
    fn sub(self, argument: Self) -> Vec<String> {
        let (text, own) = match &argument.node.value {
            Value::List(list) => (list.first().and_then(Node::as_text), list.get(1)),
            _ => (argument.node.as_text(), None),
        };
        let mut texts = vec![String::new()];
        let mut rest = text.unwrap_or_default();
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            let values = match (name.strip_prefix('!'), own.and_then(|own| own.field(name))) {
                (Some(literal), _) => vec![format!("${{{literal}}}")],
                (None, Some(node)) => self.with(node).texts(),
                (None, None) if name.contains('.') => self.attribute(name),
                (None, None) => self.reference(name),
            };
            texts = product(&product(&texts, "", &[before.to_owned()]), "", &values);
            rest = after;
        }
        product(&texts, "", &[rest.to_owned()])
    }

    fn find_in_map(self, argument: Self) -> Option<Vec<String>> {
        let names: Vec<Vec<String>> = argument.items().into_iter().map(Self::texts).collect();
        let [map, first, second] = names.as_slice() else {
            return None;
        };
        let mappings = self.template.root(self.stack).get("Mappings")?;
        let mut found = Vec::new();
        for map in map {
            for first in first {
                for second in second {
                    found.extend(mappings.get(map)?.get(first)?.get(second)?.texts());
                }
            }
        }
        Some(found)
    }
}

fn unknown(function: &str) -> Vec<String> {
    vec![format!("${{{function}}}")]
}

fn product(before: &[String], separator: &str, next: &[String]) -> Vec<String> {
    let mut joined = Vec::new();
    for text in before {
        joined.extend(next.iter().map(|more| format!("{text}{separator}{more}")));
    }
    joined
}
