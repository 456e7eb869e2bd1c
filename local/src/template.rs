//! Deployment templates (CloudFormation with SAM) as far as they can be read without deploying them, each value with
//! its file, line and column.
//!
//! Parameters stand for their defaults or for what the caller gives; `!If` stands for both of its branches; nested
//! local templates are read as well. What only a deployment knows stays a reference: `!Ref Table` is `${Table}`,
//! `!GetAtt Table.Arn` is `${Table.Arn}`, a resource of a nested stack is `${Nested/Table}`. It judges nothing.

mod functions;
mod load;
mod policy;
mod value;
mod yaml;

use std::{collections::BTreeMap, fmt};

pub use policy::{Policy, Statement};
pub use value::Part;

use yaml::Node;

/// A template with all local templates nested in it.
#[derive(Debug)]
pub struct Template {
    /// The template itself first.
    stacks: Vec<Stack>,
    /// Nested templates that were not read, and why.
    pub unread: Vec<(Place, String)>,
}

#[derive(Debug)]
struct Stack {
    /// The path of its nesting: empty, or `Nested/`.
    prefix: String,
    file: String,
    root: Node,
    /// The values that each parameter may have; none if only a deployment gives one.
    parameters: BTreeMap<String, Vec<String>>,
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as given or as its parent names it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Why a template cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub place: Place,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for Mistake {}

/// One resource of a template.
#[derive(Debug, Clone, Copy)]
pub struct Resource<'t> {
    /// Its logical id.
    pub id: &'t str,
    /// Its type, such as `AWS::SQS::Queue`.
    pub kind: &'t str,
    /// All that is said about it.
    pub part: Part<'t>,
}

impl Template {
    /// Every resource, those of nested templates included.
    pub fn resources(&self) -> impl Iterator<Item = Resource<'_>> {
        let parts = (0..self.stacks.len()).filter_map(|stack| self.root(stack).get("Resources"));
        parts.flat_map(Part::entries).filter_map(|(id, part)| {
            let kind = part.node.field("Type")?.as_text()?;
            Some(Resource { id, kind, part })
        })
    }

    /// The resource of this logical id, outermost first.
    #[must_use]
    pub fn resource(&self, id: &str) -> Option<Resource<'_>> {
        self.resources().find(|resource| resource.id == id)
    }

    /// The resource that a reference such as `${Table}` or `${Nested/Table}` names.
    #[must_use]
    pub fn referred(&self, reference: &str) -> Option<Resource<'_>> {
        self.resources()
            .find(|resource| resource.reference() == reference)
    }

    /// The names of the parameters of the template itself.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.stacks
            .iter()
            .take(1)
            .flat_map(|stack| stack.parameters.keys().map(String::as_str))
    }

    /// A section of the template itself, such as `Outputs`.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<Part<'_>> {
        self.root(0).get(name)
    }

    fn root(&self, stack: usize) -> Part<'_> {
        Part {
            template: self,
            stack,
            node: &self.stacks[stack].root,
            conditional: false,
        }
    }
}

impl<'t> Resource<'t> {
    /// What stands for it wherever it is referred to.
    #[must_use]
    pub fn reference(&self) -> String {
        format!(
            "${{{}{}}}",
            self.part.template.stacks[self.part.stack].prefix, self.id
        )
    }

    /// A property: its own, or else the one in `Globals`.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<Part<'t>> {
        let own = self
            .part
            .get("Properties")
            .and_then(|properties| properties.get(name));
        own.or_else(|| self.global()?.get(name))
    }

    /// The environment variables of a function, those of `Globals` included.
    #[must_use]
    pub fn variables(&self) -> BTreeMap<&'t str, Part<'t>> {
        let own = self.part.get("Properties");
        let parts = [self.global(), own].into_iter().flatten();
        parts
            .filter_map(|part| part.get("Environment")?.get("Variables"))
            .flat_map(Part::entries)
            .collect()
    }

    /// What `Globals` says about resources of this type.
    fn global(&self) -> Option<Part<'t>> {
        let section = self.kind.strip_prefix("AWS::Serverless::")?;
        self.part
            .template
            .root(self.part.stack)
            .get("Globals")?
            .get(section)
    }
}
