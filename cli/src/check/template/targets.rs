//! Every queue, function and bus that is a destination: where its name comes from, whether drain may call it, whether it
//! is what the configuration says.

use oncehook_core::config::{DestinationConfig, Kind};
use oncehook_edge::target_variable;
use oncehook_local::template::{Part, Place, Resource, Statement};

use super::{
    Context, at,
    rights::{self, Right},
};
use crate::check::finding::Findings;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let destinations = context.config.destinations.values();
    let services: Vec<_> = destinations
        .filter(|destination| destination.kind.is_aws())
        .collect();
    if services.is_empty() {
        return;
    }
    let found = (
        context.resource("Ingest", "the function that takes webhooks", findings),
        context.resource("Drain", "the function that makes the calls", findings),
    );
    let (Some(ingest), Some(drain)) = found else {
        return;
    };
    for (place, why) in &drain.policy().unread {
        findings.note(Some(place.clone()), format!("Drain: {why}"));
    }
    for destination in services {
        let target = Target {
            context,
            destination,
            mapped: ingest
                .variables()
                .get(target_variable(destination).as_str())
                .copied(),
        };
        let texts = target.texts();
        if texts.iter().all(|text| text.trim().is_empty()) {
            target.unknown(&ingest, findings);
        }
        for text in texts.iter().filter(|text| !text.trim().is_empty()) {
            target.one(text, &drain, findings);
        }
    }
}

/// A destination, and what the template says of its target.
struct Target<'c> {
    context: &'c Context<'c>,
    destination: &'c DestinationConfig,
    /// The variable of Ingest that names it.
    mapped: Option<Part<'c>>,
}

impl Target<'_> {
    fn texts(&self) -> Vec<String> {
        self.mapped
            .map_or_else(|| vec![self.destination.url.clone()], Part::texts)
    }

    fn configured(&self) -> Place {
        let places = self.context.places;
        places.of(&[
            "destination",
            &self.destination.name,
            self.destination.kind.target(),
        ])
    }

    fn place(&self) -> Place {
        self.mapped.map_or_else(|| self.configured(), |part| part.place())
    }

    fn unknown(&self, ingest: &Resource<'_>, findings: &mut Findings) {
        let place = ingest.property("Environment");
        let place = place.map_or_else(|| ingest.part.place(), |part| part.place());
        let what = self.destination.kind.target();
        findings.error(
            place,
            format!(
                "Ingest does not know the {what} of [destination.{}] ({}): add {}: !Ref ITS_ID to Ingest's Environment, or write \
                 `{what}` in oncehook.toml",
                self.destination.name,
                at(&self.configured()),
                target_variable(self.destination),
            ),
        );
    }

    fn one(&self, text: &str, drain: &Resource<'_>, findings: &mut Findings) {
        let mut names = vec![name(&self.destination.kind, text)];
        let declared = self.context.template.referred(text);
        match &declared {
            Some(resource) => {
                self.fits(resource, findings);
                for property in ["QueueName", "FunctionName", "Name"] {
                    names.extend(resource.property(property).map(Part::texts).unwrap_or_default());
                }
            }
            None if !text.contains("${") => {
                let checked = self
                    .context
                    .config
                    .clone()
                    .override_target(&self.destination.name, text);
                if let Err(why) = checked {
                    findings.error(
                        self.place(),
                        format!("[destination.{}]: {why}", self.destination.name),
                    );
                    return;
                }
            }
            None if text.ends_with(".Arn}") && matches!(self.destination.kind, Kind::Sqs { .. }) => findings
                .error(
                    self.place(),
                    format!(
                        "[destination.{}]: an ARN is no queue's URL: write !Ref",
                        self.destination.name
                    ),
                ),
            None => {}
        }
        let action = self.destination.kind.action().unwrap_or_default();
        let right = Right {
            action,
            needs: format!(
                "[destination.{}] in {} needs {action} on {text}",
                self.destination.name,
                at(&self.configured())
            ),
            remedy: format!(
                "add to its policy {{ Effect: Allow, Action: {action}, Resource: {} }}",
                arn(&self.destination.kind, text)
            ),
        };
        let service = action.split(':').next().unwrap_or_default();
        let reaches = |statement: &Statement| statement.reaches(service, &names);
        rights::demand(&right, reaches, &drain.policy(), drain, findings);
    }

    /// Whether a resource of the template is what the destination says.
    fn fits(&self, resource: &Resource<'_>, findings: &mut Findings) {
        let name = &self.destination.name;
        let is = |kinds: &[&str]| kinds.contains(&resource.kind);
        let right = match self.destination.kind {
            Kind::Sqs { .. } => is(&["AWS::SQS::Queue"]),
            Kind::Lambda => is(&["AWS::Serverless::Function", "AWS::Lambda::Function"]),
            Kind::EventBridge { .. } => is(&["AWS::Events::EventBus"]),
            Kind::Http => true,
        };
        if !right {
            findings.error(
                self.place(),
                format!(
                    "[destination.{name}] is kind = \"{}\", and `{}` is an {}",
                    self.destination.kind.name(),
                    resource.id,
                    resource.kind
                ),
            );
            return;
        }
        let text = |property: &str| {
            let part = resource.property(property)?;
            Some((part.place(), part.texts().first().cloned().unwrap_or_default()))
        };
        if let Kind::Sqs { fifo } = self.destination.kind {
            let declared = text("FifoQueue").is_some_and(|(_, value)| value == "true");
            if resource.id == "Queue" {
                findings.error(
                    self.place(),
                    format!(
                        "[destination.{name}]: this is Oncehook's own queue of wake-ups: make another for it"
                    ),
                );
            }
            if declared != fifo {
                let remedy = if declared {
                    "write fifo = true"
                } else {
                    "remove `fifo`"
                };
                findings.error(
                    self.configured(),
                    format!(
                        "[destination.{name}]: `{}` in {} is {} FIFO queue: {remedy}",
                        resource.id,
                        at(&resource.part.place()),
                        if declared { "a" } else { "no" }
                    ),
                );
            }
            if let Some((place, key)) = text("KmsMasterKeyId") {
                findings.note(
                    Some(place),
                    format!(
                        "[destination.{name}]: drain also needs kms:GenerateDataKey and kms:Decrypt on {key}, and the key's policy \
                         must let it"
                    ),
                );
            }
        }
        if self.destination.kind == Kind::Lambda
            && let Some((place, seconds)) = text("Timeout")
            && let Ok(seconds) = seconds.parse::<i64>()
            && seconds > self.destination.timeout.as_secs()
        {
            findings.warning(
                place,
                format!(
                    "`{}` may run for {seconds} s, and [destination.{name}] in {} waits {} s: what takes longer is uncertain; raise \
                     its `timeout` (60 s at most), or put a queue between",
                    resource.id,
                    at(&self.configured()),
                    self.destination.timeout.as_secs()
                ),
            );
        }
    }
}

/// What a policy calls a target: the last part of its ARN, or a reference.
fn name(kind: &Kind, text: &str) -> String {
    let last = match kind {
        Kind::Sqs { .. } if !text.starts_with("${") => text.rsplit('/').next(),
        Kind::Lambda if text.starts_with("arn:") => text.split(":function:").nth(1),
        Kind::EventBridge { .. } if text.starts_with("arn:") => text.split(":event-bus/").nth(1),
        _ => None,
    };
    last.unwrap_or(text).to_owned()
}

/// How to write the ARN of a target in the template.
fn arn(kind: &Kind, text: &str) -> String {
    if let Some(id) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
        return match id.contains('.') {
            true => format!("!Sub \"{text}\""),
            false => format!("!GetAtt {id}.Arn"),
        };
    }
    let last = name(kind, text);
    let place = "${AWS::Region}:${AWS::AccountId}";
    match kind {
        _ if text.starts_with("arn:") => text.to_owned(),
        Kind::Sqs { .. } => format!("!Sub \"arn:${{AWS::Partition}}:sqs:{place}:{last}\""),
        Kind::Lambda => format!("!Sub \"arn:${{AWS::Partition}}:lambda:{place}:function:{last}\""),
        _ => format!("!Sub \"arn:${{AWS::Partition}}:events:{place}:event-bus/{last}\""),
    }
}
