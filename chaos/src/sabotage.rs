//! Ways to break the protocol on purpose, each by a change to one kind of request on its way to the database. A chaos run
//! that does not notice one of them proves nothing.

use serde_json::{Map, Value, json};

/// One way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    FenceDropped,
    SettledUnconditionally,
    AnsweredBeforeCommit,
    WindowSlides,
    ClaimUncounted,
    KeyPerAttempt,
    CommitIdIgnored,
    BodyGuardDropped,
    EventGuardDropped,
    OnceGuardDropped,
    NewerGuardDropped,
    NotKept,
    Unlisted,
    ParkedExpires,
    AlwaysUnsent,
    WindowTooLong,
    NeverSwept,
    BodyAfterRecord,
    BodyNotMoved,
    ReleasedAtOnce,
}

impl Sabotage {
    pub(crate) const ALL: [Self; 20] = [
        Self::FenceDropped,
        Self::SettledUnconditionally,
        Self::AnsweredBeforeCommit,
        Self::WindowSlides,
        Self::ClaimUncounted,
        Self::KeyPerAttempt,
        Self::CommitIdIgnored,
        Self::BodyGuardDropped,
        Self::EventGuardDropped,
        Self::OnceGuardDropped,
        Self::NewerGuardDropped,
        Self::NotKept,
        Self::Unlisted,
        Self::ParkedExpires,
        Self::AlwaysUnsent,
        Self::WindowTooLong,
        Self::NeverSwept,
        Self::BodyAfterRecord,
        Self::BodyNotMoved,
        Self::ReleasedAtOnce,
    ];

    /// What is broken.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::FenceDropped => "an attempt is settled without its lease",
            Self::SettledUnconditionally => "an attempt is settled without any condition",
            Self::AnsweredBeforeCommit => "the answer and the wake-up come before the commit",
            Self::WindowSlides => "the window is measured from the latest attempt",
            Self::ClaimUncounted => "a claim does not note that the effect may have happened",
            Self::KeyPerAttempt => "each attempt has a key of its own",
            Self::CommitIdIgnored => "a commit does not recognise itself",
            Self::BodyGuardDropped => "a known body under a new id is not noticed",
            Self::EventGuardDropped => "an event is written whether it is there or not",
            Self::OnceGuardDropped => "once_per is not checked",
            Self::NewerGuardDropped => "newer_by is not checked",
            Self::NotKept => "an event may expire before its outbox",
            Self::Unlisted => "an outbox item is not put into the index",
            Self::ParkedExpires => "a parked item expires",
            Self::AlwaysUnsent => "an attempt that may have acted counts as unsent",
            Self::WindowTooLong => "the window is longer than the destination remembers",
            Self::NeverSwept => "nothing is swept",
            Self::BodyAfterRecord => "a record names a large body that is not there yet",
            Self::BodyNotMoved => "the large body of a kept event stays where it expires",
            Self::ReleasedAtOnce => "a body that is kept is released before nothing names it",
        }
    }

    /// Changes a request; tells whether it did.
    pub(crate) fn of_request(self, operation: &str, request: &mut Value) -> bool {
        let before = request.clone();
        match operation {
            "TransactWriteItems" => {
                let actions = request["TransactItems"].as_array_mut().into_iter().flatten();
                for action in actions.filter_map(Value::as_object_mut) {
                    for (kind, write) in action.iter_mut() {
                        self.of_write(kind, write);
                    }
                }
            }
            "UpdateItem" => self.of_write("Update", request),
            "PutItem" => self.of_write("Put", request),
            _ => {}
        }
        *request != before
    }

    fn of_write(self, kind: &str, write: &mut Value) {
        let part = |name: &str| write[name].as_str().unwrap_or_default().to_owned();
        let (condition, update) = (part("ConditionExpression"), part("UpdateExpression"));
        let claims = update.contains("maybe_sent_at = if_not_exists");
        let settles = update.contains("#server_errors = :server_errors") && update.contains("lease_id");
        let (pk, sk) = (of(write, "pk"), of(write, "sk"));
        let put = kind == "Put";
        match self {
            Self::FenceDropped if settles && condition.contains("lease_id = :lease") => {
                set(write, "ConditionExpression", "#state = :open");
                drop_value(write, ":lease");
            }
            Self::SettledUnconditionally if settles => {
                remove(write, "ConditionExpression");
                for value in [":lease", ":open", ":generation"] {
                    drop_value(write, value);
                }
            }
            Self::WindowSlides if claims => set(
                write,
                "UpdateExpression",
                &update.replace("if_not_exists(maybe_sent_at, :now)", ":now"),
            ),
            Self::ClaimUncounted if claims => set(
                write,
                "UpdateExpression",
                &update.replace("maybe_sent_at = if_not_exists(maybe_sent_at, :now), ", ""),
            ),
            Self::CommitIdIgnored if put && sk == "event" => {
                write["Item"]["commit_id"] = json!({ "S": uuid::Uuid::new_v4().to_string() });
            }
            Self::BodyGuardDropped if put && sk == "body" && pk.starts_with("body#") => {
                anyway(write, &condition);
            }
            Self::EventGuardDropped if put && (sk == "event" || sk.starts_with("outbox#")) => {
                anyway(write, &condition);
            }
            Self::OnceGuardDropped if put && sk == "once" => anyway(write, &condition),
            Self::NewerGuardDropped if put && sk == "newer" => anyway(write, &condition),
            Self::NotKept if update == "REMOVE expires_at ADD keeps :one" => {
                set(write, "UpdateExpression", "ADD keeps :one");
            }
            Self::BodyNotMoved if update.starts_with("SET body_at = :to REMOVE") => {
                set(write, "UpdateExpression", "REMOVE expires_at ADD keeps :one");
                drop_value(write, ":to");
            }
            Self::Unlisted if put && sk.starts_with("outbox#") => {
                if let Some(item) = write["Item"].as_object_mut() {
                    item.remove("work");
                }
            }
            Self::ParkedExpires if settles && of_values(write, ":state") == "parked" => {
                set(
                    write,
                    "UpdateExpression",
                    &update.replacen("SET ", "SET expires_at = :soon, ", 1),
                );
                write["ExpressionAttributeValues"][":soon"] = json!({ "N": "1" });
            }
            Self::AlwaysUnsent
                if settles
                    && update.contains("#work_at = :work_at")
                    && !update.contains("#maybe_sent_at") =>
            {
                let update = format!("{update}, maybe_sent_at, maybe_sent_by");
                set(write, "UpdateExpression", &update);
            }
            _ => {}
        }
    }

    /// Whether this commit is answered before it is written.
    pub(crate) fn answers_before_writing(self, operation: &str, body: &str) -> bool {
        self == Self::AnsweredBeforeCommit && operation == "TransactWriteItems" && body.contains("commit_id")
    }

    /// Changes an answer.
    pub(crate) fn of_answer(self, operation: &str, request: &str, answer: &mut String) {
        if self != Self::KeyPerAttempt || operation != "UpdateItem" || !request.contains("maybe_sent_by") {
            return;
        }
        let mut value: Value = serde_json::from_str(answer).unwrap();
        let item = &mut value["Attributes"];
        if let (Some(key), Some(attempts)) = (
            item["idempotency_key"]["S"].as_str(),
            item["attempts"]["N"].as_str(),
        ) {
            let key = format!("{key}-{attempts}");
            item["idempotency_key"]["S"] = json!(key);
            *answer = value.to_string();
        }
    }
}

/// A part of the key.
fn of(write: &Value, name: &str) -> String {
    let key = write.get("Key").or_else(|| write.get("Item"));
    key.and_then(|key| crate::database::text(key, name))
        .unwrap_or_default()
}

fn of_values<'a>(write: &'a Value, name: &str) -> &'a str {
    write["ExpressionAttributeValues"][name]["S"]
        .as_str()
        .unwrap_or_default()
}

fn object(value: &mut Value) -> Option<&mut Map<String, Value>> {
    value.as_object_mut()
}

fn set(write: &mut Value, name: &str, text: &str) {
    write[name] = json!(text);
}

fn remove(write: &mut Value, name: &str) {
    if let Some(write) = object(write) {
        write.remove(name);
    }
}

fn drop_value(write: &mut Value, name: &str) {
    if let Some(values) = object(&mut write["ExpressionAttributeValues"]) {
        values.remove(name);
    }
}

/// The condition always holds. (What it names must still be named.)
fn anyway(write: &mut Value, condition: &str) {
    set(
        write,
        "ConditionExpression",
        &format!("attribute_exists(pk) OR {condition}"),
    );
}
