//! What a function may do, as its template says: inline statements, the DynamoDB templates of SAM, and a role that
//! stands in the template. Anything else is listed as not read.

use super::{Part, Place, Resource, Template};

/// The statements of a function's policies.
#[derive(Debug, Default)]
pub struct Policy {
    /// What is allowed or denied.
    pub statements: Vec<Statement>,
    /// What grants something that this module cannot read.
    pub unread: Vec<(Place, String)>,
}

/// One statement of a policy.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Where it stands.
    pub place: Place,
    /// `Allow`, not `Deny`.
    pub allow: bool,
    /// Whether it holds only under a condition: of the template (`!If`), or its own (`Condition`).
    pub conditional: bool,
    /// Such as `dynamodb:UpdateItem`.
    pub actions: Vec<String>,
    /// ARNs, as far as they are known.
    pub resources: Vec<String>,
}

impl Statement {
    /// Whether it speaks of this action; `*` and `?` stand for anything, as in IAM.
    #[must_use]
    pub fn covers(&self, action: &str) -> bool {
        let action = action.to_lowercase();
        self.actions
            .iter()
            .any(|pattern| matches(&pattern.to_lowercase(), &action))
    }

    /// Whether it speaks of the table of one of these names; a name is one that DynamoDB knows, or a reference.
    #[must_use]
    pub fn reaches_table(&self, names: &[String]) -> bool {
        self.resources.iter().any(|resource| {
            let name = match resource.rsplit_once(":table/") {
                Some((_, name)) => name.to_owned(),
                None => resource.replace(".Arn}", "}"),
            };
            names.iter().any(|table| matches(&name, table))
        })
    }
}

impl Statement {
    /// Whether it speaks of what has one of these names in this service: names that AWS knows, or references.
    #[must_use]
    pub fn reaches(&self, service: &str, names: &[String]) -> bool {
        self.resources.iter().any(|resource| {
            let plain = resource.replace("${AWS::", "${AWS.").replace(".Arn}", "}");
            let parts: Vec<&str> = plain.splitn(6, ':').collect();
            let name = match parts[..] {
                ["arn", _, found, _, _, name] if matches(found, service) => name,
                ["arn", ..] => return false,
                _ => plain.as_str(),
            };
            let name = name.strip_prefix("function:").unwrap_or(name);
            let name = name.strip_prefix("event-bus/").unwrap_or(name);
            names.iter().any(|known| matches(name, known))
        })
    }
}

/// Whether a pattern with `*` and `?` covers a text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = &pattern[1..];
            matches(rest, text)
                || text
                    .char_indices()
                    .any(|(at, c)| matches(rest, &text[at + c.len_utf8()..]))
        }
        Some(first) => {
            let mut characters = text.chars();
            characters.next().is_some_and(|c| first == '?' || c == first)
                && matches(&pattern[first.len_utf8()..], characters.as_str())
        }
    }
}

impl Resource<'_> {
    /// What this function may do.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        if let Some(role) = self.property("Role") {
            policy.role(self.part.template, role);
        }
        for part in self.property("Policies").map(Part::items).unwrap_or_default() {
            policy.add(part);
        }
        policy
    }
}

impl Policy {
    fn role(&mut self, template: &Template, role: Part<'_>) {
        for text in role.texts() {
            let reference = text.replace(".Arn}", "}");
            let Some(found) = template.referred(&reference) else {
                self.unread
                    .push((role.place(), format!("the role `{text}` is not in the template")));
                continue;
            };
            for policy in found.property("Policies").map(Part::items).unwrap_or_default() {
                if let Some(document) = policy.get("PolicyDocument") {
                    self.statements(document);
                }
            }
            for managed in found
                .property("ManagedPolicyArns")
                .map(Part::items)
                .unwrap_or_default()
            {
                self.managed(managed);
            }
        }
    }

    fn add(&mut self, part: Part<'_>) {
        if part.get("Statement").is_some() {
            return self.statements(part);
        }
        if part.node.as_text().is_some() || part.node.function().is_some() {
            return self.managed(part);
        }
        for (name, arguments) in part.entries() {
            match (granted(name), arguments.get("TableName")) {
                (Some(actions), Some(table)) => {
                    let arn = |name| format!("arn:${{AWS::Partition}}:dynamodb:::table/{name}");
                    self.statements.push(Statement {
                        place: part.place(),
                        allow: true,
                        conditional: part.conditional,
                        actions: actions
                            .iter()
                            .map(|action| format!("dynamodb:{action}"))
                            .collect(),
                        resources: table.texts().into_iter().map(arn).collect(),
                    });
                }
                _ => self.unread.push((
                    part.place(),
                    format!("the policy `{name}` is not one that is read here"),
                )),
            }
        }
    }

    fn managed(&mut self, part: Part<'_>) {
        for text in part
            .texts()
            .into_iter()
            .filter(|text| !text.ends_with("AWSLambdaBasicExecutionRole"))
        {
            self.unread
                .push((part.place(), format!("the managed policy `{text}` is not read")));
        }
    }

    fn statements(&mut self, document: Part<'_>) {
        for statement in document.get("Statement").map(Part::items).unwrap_or_default() {
            let all = |key| -> Vec<String> {
                let items = statement.get(key).map(Part::items).unwrap_or_default();
                items.into_iter().flat_map(Part::texts).collect()
            };
            self.statements.push(Statement {
                place: statement.place(),
                allow: all("Effect").iter().any(|effect| effect == "Allow"),
                conditional: statement.conditional
                    || document.conditional
                    || statement.get("Condition").is_some(),
                actions: all("Action"),
                resources: all("Resource"),
            });
        }
    }
}

/// The actions of SAM's policy templates for tables, as far as a rule needs them.
fn granted(template: &str) -> Option<&'static [&'static str]> {
    match template {
        "DynamoDBCrudPolicy" => Some(&[
            "GetItem",
            "DeleteItem",
            "PutItem",
            "UpdateItem",
            "ConditionCheckItem",
        ]),
        "DynamoDBWritePolicy" => Some(&["PutItem", "UpdateItem"]),
        "DynamoDBReadPolicy" => Some(&["GetItem"]),
        _ => None,
    }
}
