//! Reads a template and the local ones nested in it, each with the values of its parameters.

use std::{collections::BTreeMap, path::Path};

use super::{Mistake, Part, Place, Stack, Template, yaml};

/// Nesting beyond this is a template that holds itself.
const DEEPEST: usize = 5;

impl Template {
    /// Reads a template. `parameters` replace defaults.
    ///
    /// # Errors
    /// When it, or one nested in it, cannot be read or is no YAML.
    pub fn read(file: &Path, parameters: &BTreeMap<String, String>) -> Result<Self, Mistake> {
        let mut template = Self {
            stacks: Vec::new(),
            unread: Vec::new(),
        };
        let given = parameters
            .iter()
            .map(|(name, value)| (name.clone(), vec![value.clone()]));
        let name = file.display().to_string();
        let start = Place {
            file: name.clone(),
            line: 1,
            column: 1,
        };
        template.load(file, name, String::new(), &given.collect(), start)?;
        Ok(template)
    }

    fn load(
        &mut self,
        file: &Path,
        name: String,
        prefix: String,
        given: &BTreeMap<String, Vec<String>>,
        place: Place,
    ) -> Result<(), Mistake> {
        let text = std::fs::read_to_string(file).map_err(|error| Mistake {
            place,
            message: format!("cannot read the template {name}: {error}"),
        })?;
        let root = yaml::parse(&text).map_err(|(line, column, message)| Mistake {
            place: Place {
                file: name.clone(),
                line,
                column,
            },
            message,
        })?;
        let deep = prefix.matches('/').count() >= DEEPEST;
        self.stacks.push(Stack {
            prefix,
            file: name,
            root,
            parameters: BTreeMap::new(),
        });
        let stack = self.stacks.len() - 1;
        let declared = self
            .root(stack)
            .get("Parameters")
            .map(Part::entries)
            .unwrap_or_default();
        let parameters = declared.into_iter().map(|(name, part)| {
            let default = || part.get("Default").map(Part::texts).unwrap_or_default();
            (name.to_owned(), given.get(name).cloned().unwrap_or_else(default))
        });
        self.stacks[stack].parameters = parameters.collect();
        for nested in self.nested(stack) {
            if deep {
                let message = "a template nested this deep is not read".to_owned();
                self.unread.push((nested.place, message));
            } else if nested.location.contains("://") || nested.location.contains("${") {
                let message = format!(
                    "the nested template `{}` is not a local file and was not read",
                    nested.location
                );
                self.unread.push((nested.place, message));
            } else {
                let folder = file.parent().unwrap_or(Path::new("")).join(&nested.location);
                self.load(
                    &folder,
                    folder.display().to_string(),
                    nested.prefix,
                    &nested.parameters,
                    nested.place,
                )?;
            }
        }
        Ok(())
    }

    /// The nested templates of one stack, each with the place that names it.
    fn nested(&self, stack: usize) -> Vec<Nested> {
        let prefix = &self.stacks[stack].prefix;
        let resources = self.resources().filter(|resource| resource.part.stack == stack);
        resources
            .filter_map(|resource| {
                let key = match resource.kind {
                    "AWS::Serverless::Application" => "Location",
                    "AWS::CloudFormation::Stack" => "TemplateURL",
                    _ => return None,
                };
                let location = resource.property(key)?;
                let parameters = resource
                    .property("Parameters")
                    .map(Part::entries)
                    .unwrap_or_default();
                Some(Nested {
                    location: location
                        .texts()
                        .into_iter()
                        .next()
                        .unwrap_or_else(|| "${..}".to_owned()),
                    place: location.place(),
                    prefix: format!("{prefix}{}/", resource.id),
                    parameters: parameters
                        .into_iter()
                        .map(|(name, part)| (name.to_owned(), part.texts()))
                        .collect(),
                })
            })
            .collect()
    }
}

struct Nested {
    location: String,
    place: Place,
    prefix: String,
    parameters: BTreeMap<String, Vec<String>>,
}
