//! What an answer means beyond its status: a marker in a header, a code in the body, a success that reports a failure.

use http::HeaderMap;
use serde_json::Value;

use super::Preset;

/// A sign in an answer and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The lowest and the highest status that it is for.
    pub statuses: (u16, u16),
    /// What must be there.
    pub seen: Seen,
    /// What it means.
    pub means: Means,
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: the status says it.
    Status,
    /// A header that has this value.
    Header(&'static str, &'static str),
    /// A header that is there.
    AnyHeader(&'static str),
    /// A place in the JSON body that has one of these values. `*` stands for every member.
    Field(&'static str, &'static [&'static str]),
    /// A place in the JSON body where something is.
    AnyField(&'static str),
}

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// The key is known and nothing is done again. Whether it was done then, the answer does not say.
    Duplicate,
    /// Not now, under the same key.
    Later,
    /// Not now, for everything sent there; certainly not processed.
    Throttled,
    /// Not done; a repetition changes nothing.
    Refused,
    /// The key is known with another request.
    OtherBody,
    /// It may have acted; the key makes a repetition safe if there is one.
    Uncertain,
    /// It may have acted, and the key does not make a repetition safe.
    Unprotected,
}

impl Means {
    /// In words, for documents.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Duplicate => "known already: delivered, or parked if an earlier attempt got a server error",
            Self::Later => "in flight or not now: again later, same key",
            Self::Throttled => "not processed: the destination pauses",
            Self::Refused => "refused: dead, or parked if an earlier attempt may have acted",
            Self::OtherBody => "key reused with another request: parked",
            Self::Uncertain => "may have acted: again with the same key, or parked without keys",
            Self::Unprotected => "may have acted and the key would not help: parked",
        }
    }
}

impl Answer {
    fn fits(&self, status: u16, headers: &HeaderMap, body: Option<&Value>) -> bool {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        (self.statuses.0..=self.statuses.1).contains(&status)
            && match self.seen {
                Seen::Status => true,
                Seen::Header(name, wanted) => {
                    header(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(wanted))
                }
                Seen::AnyHeader(name) => headers.contains_key(name),
                Seen::Field(path, values) => {
                    body.is_some_and(|body| any(body, path, &|found| is(found, values)))
                }
                Seen::AnyField(path) => body.is_some_and(|body| any(body, path, &|found| !found.is_null())),
            }
    }

    fn needs_body(&self) -> bool {
        matches!(self.seen, Seen::Field(..) | Seen::AnyField(_))
    }
}

impl Preset {
    /// What an answer means, if this API says more than its status does. `body` is absent if it could not be read as JSON.
    #[must_use]
    pub fn means(&self, status: u16, headers: &HeaderMap, body: Option<&Value>) -> Option<Means> {
        let found = self
            .answers
            .iter()
            .find(|answer| answer.fits(status, headers, body));
        match found {
            Some(answer) => Some(answer.means),
            // The body of this success could have reported a failure.
            None if body.is_none() && (200..300).contains(&status) && self.success_needs_body() => {
                Some(Means::Uncertain)
            }
            None => None,
        }
    }

    /// Whether its answers are told apart by their bodies.
    #[must_use]
    pub fn needs_body(&self) -> bool {
        self.answers.iter().any(Answer::needs_body)
    }

    fn success_needs_body(&self) -> bool {
        self.answers
            .iter()
            .any(|answer| answer.statuses.0 < 300 && answer.needs_body())
    }
}

/// Whether an answer says that it is the one given before. Headers of this name are in use by several APIs, and say
/// nothing else anywhere.
#[must_use]
pub fn replayed(headers: &HeaderMap) -> bool {
    ["idempotent-replayed", "x-idempotent-replayed"]
        .iter()
        .any(|name| {
            headers
                .get(*name)
                .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
        })
}

/// Whether any place that a path with `*` leads to is as wanted.
fn any(value: &Value, path: &str, wanted: &dyn Fn(&Value) -> bool) -> bool {
    let Some(rest) = path.strip_prefix('/') else {
        return wanted(value);
    };
    let (step, rest) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    match (value, step) {
        (Value::Array(members), "*") => members.iter().any(|member| any(member, rest, wanted)),
        (Value::Object(members), "*") => members.values().any(|member| any(member, rest, wanted)),
        (Value::Array(members), _) => {
            let member = step.parse::<usize>().ok().and_then(|index| members.get(index));
            member.is_some_and(|member| any(member, rest, wanted))
        }
        (Value::Object(members), _) => members.get(step).is_some_and(|member| any(member, rest, wanted)),
        _ => false,
    }
}

fn is(found: &Value, values: &[&str]) -> bool {
    match found {
        Value::String(text) => values.contains(&text.as_str()),
        Value::Number(_) | Value::Bool(_) => values.contains(&found.to_string().as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_star_stands_for_every_member_of_lists_and_objects() {
        let body = json!({"data": {"refund": {"userErrors": [{"code": "A"}, {"code": "B"}]}}});
        let has = |path: &str, value: &'static str| any(&body, path, &|found| is(found, &[value]));
        assert!(has("/data/*/userErrors/*/code", "B") && has("/data/refund/userErrors/0/code", "A"));
        assert!(!has("/data/*/userErrors/*/code", "C") && !has("/data/*/code", "A") && !has("/x", "A"));
    }

    #[test]
    fn a_success_that_cannot_be_read_is_uncertain_where_it_can_report_a_failure() {
        let slack = Preset::find("slack").unwrap();
        let none = HeaderMap::new();
        assert_eq!(slack.means(200, &none, None), Some(Means::Uncertain));
        assert_eq!(slack.means(200, &none, Some(&json!({"ok": true}))), None);
        assert_eq!(Preset::find("resend").unwrap().means(200, &none, None), None);
    }
}
