//! The configuration against the deployment template: what the functions will find when they run on AWS.
//!
//! Nothing is deployed or called. What only a deployment knows is noted, not guessed.

mod bodies;
mod rights;
mod tables;
mod targets;
mod timeouts;
mod variables;

use std::{collections::BTreeMap, path::Path};

use oncehook_core::config::Config;
use oncehook_local::template::{Mistake, Place, Resource, Template};

use super::{finding::Findings, places::Places};

/// What a check of the template looks at.
struct Context<'c> {
    config: &'c Config,
    places: &'c Places<'c>,
    template: &'c Template,
    start: Place,
}

/// Checks the configuration against a template file.
pub(super) fn check(
    config: &Config,
    places: &Places<'_>,
    file: &Path,
    parameters: &BTreeMap<String, String>,
    findings: &mut Findings,
) {
    let template = match Template::read(file, parameters) {
        Ok(template) => template,
        Err(Mistake { place, message }) => return findings.error(place, message),
    };
    let start = Place {
        file: file.display().to_string(),
        line: 1,
        column: 1,
    };
    for name in parameters
        .keys()
        .filter(|name| template.parameters().all(|known| known != *name))
    {
        findings.error(
            start.clone(),
            format!("the template has no parameter `{name}`, which --parameter sets"),
        );
    }
    for (place, why) in &template.unread {
        findings.note(Some(place.clone()), why);
    }
    let context = Context {
        config,
        places,
        template: &template,
        start,
    };
    tables::check(&context, findings);
    targets::check(&context, findings);
    timeouts::check(&context, findings);
    bodies::check(&context, findings);
    variables::check(&context, findings);
}

impl<'c> Context<'c> {
    /// A resource of the template by the name that Oncehook knows it by.
    fn resource(&self, id: &str, what: &str, findings: &mut Findings) -> Option<Resource<'c>> {
        let found = self.template.resource(id);
        if found.is_none() {
            findings.error(
                self.start.clone(),
                format!("there is no resource `{id}`, {what}: give it this name, or check without a template (--no-template)"),
            );
        }
        found
    }
}

/// Where a key of the configuration stands, to be named in a message about the template.
fn at(place: &Place) -> String {
    format!("{}:{}", place.file, place.line)
}
