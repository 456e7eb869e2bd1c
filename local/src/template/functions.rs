//! CloudFormation's functions, as far as they are known before a deployment.

use super::{
    Part,
    yaml::{Node, Value},
};

impl Part<'_> {
    /// Every text that a function may give.
    pub(super) fn call(self, name: &str, argument: Self) -> Vec<String> {
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
            "Fn::Join" => self.join(argument).unwrap_or_else(|| unknown(name)),
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

    /// `!Join`: an `!If` in the list is one of its branches, `AWS::NoValue` is left out.
    fn join(self, argument: Self) -> Option<Vec<String>> {
        let Value::List(list) = &argument.node.value else {
            return None;
        };
        let [
            separator,
            Node {
                value: Value::List(parts),
                ..
            },
        ] = list.as_slice()
        else {
            return None;
        };
        let separator = separator.as_text()?;
        let texts = parts.iter().map(|part| self.with(part).texts());
        let joined = texts
            .filter(|texts| !texts.is_empty())
            .reduce(|before, next| product(&before, separator, &next));
        Some(joined.unwrap_or_else(|| vec![String::new()]))
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
