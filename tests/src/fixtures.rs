//! The fixtures of `events/` with the replies that its README documents.

use std::process::{Command, Output};

use serde_json::{Map, Value, json};

use crate::binaries::{program, workspace};

/// A row of the table in events/README.md.
#[derive(Debug, Clone)]
pub struct Fixture {
    /// Its name: `applied` for `events/applied.json`.
    pub name: String,
    /// The logical id of the function that gets it.
    pub function: String,
    /// What it is.
    pub about: String,
    /// The answer to `oncehook event NAME`.
    pub reply: Value,
    /// The answer to the file as it is.
    pub reply_to_file: Value,
}

/// All of them, in the order of the table.
///
/// # Panics
/// When the table cannot be read.
#[must_use]
pub fn documented() -> Vec<Fixture> {
    let text = std::fs::read_to_string(workspace().join("events/README.md")).unwrap();
    text.lines()
        .filter(|line| line.starts_with("| ["))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [link, function, about, reply, file] = cells[..] else {
                panic!("events/README.md has a row without five cells: {line}");
            };
            let name = link.trim_start_matches('[').split(']').next().unwrap_or_default();
            assert_eq!(link, format!("[{name}]({name}.json)"), "a name links to its file");
            let json = |cell: &str| serde_json::from_str::<Value>(cell.trim_matches('`')).unwrap();
            let reply = json(reply);
            Fixture {
                name: name.to_owned(),
                function: function.to_owned(),
                about: about.to_owned(),
                reply_to_file: if file == "the same" {
                    reply.clone()
                } else {
                    json(file)
                },
                reply,
            }
        })
        .collect()
}

impl Fixture {
    /// The text of its file.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn file(&self) -> String {
        let path = workspace().join(format!("events/{}.json", self.name));
        std::fs::read_to_string(path).expect("a fixture has a file")
    }
}

/// A function's answer as the table writes it: a response of the gateway's without what is empty, its body as JSON.
#[must_use]
pub fn as_documented(answer: &Value) -> Value {
    if answer["statusCode"].is_null() {
        return answer.clone();
    }
    let mut short = Map::new();
    short.insert("statusCode".to_owned(), answer["statusCode"].clone());
    if answer["headers"]
        .as_object()
        .is_some_and(|headers| !headers.is_empty())
    {
        short.insert("headers".to_owned(), answer["headers"].clone());
    }
    let text = answer["body"].as_str().unwrap_or_default();
    if !text.is_empty() {
        let body = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        short.insert("body".to_owned(), body);
    }
    Value::Object(short)
}

/// Runs `oncehook event` in the workspace, with this secret for Stripe instead of the one for development.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn oncehook_event(arguments: &[&str], secret: Option<&str>) -> Output {
    let mut command = Command::new(program("oncehook"));
    command.current_dir(workspace()).arg("event").args(arguments);
    command
        .env_remove("ONCEHOOK_TABLE")
        .env_remove("ONCEHOOK_SECRET_STRIPE");
    if let Some(secret) = secret {
        command.env("ONCEHOOK_SECRET_STRIPE", secret);
    }
    command.output().expect("the command line runs")
}
