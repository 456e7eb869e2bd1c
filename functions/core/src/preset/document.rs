//! The presets as text and JSON: for docs/destinations.md and `oncehook destinations`.

use std::fmt::Write as _;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Answer, Keys, Known, Login, Preset, Seen, Spot};
use crate::{config::show, outbox::KeyFormat};

const HEAD: &str = "\
# Destinations with a preset

Made by `oncehook destinations --markdown` from the tables in `functions/core/src/preset/` and `message/document.rs`: change it
there. [Queues, functions and buses](#queues-functions-and-buses) come after the presets.

`preset = \"NAME\"` in `[destination.X]` says how that API treats a repeated request. You give `url`, `secret` and what else you
want; a key that you write yourself counts instead of the preset's, except where that would make a repetition less safe.

**With keys** an effect whose outcome is unknown is sent again with the same key and the same bytes, and acts once, for as long
as the API's document promises to remember the key. After that it is parked for a person. **Without keys** nothing can promise
that: it is parked at once (`on_ambiguous = \"park\"`), or sent again and may act twice (`\"resend\"`): at least once.

The facts were read on 2026-12-01, mostly in stored copies of the documents; *cited* marks those that were read in a text of
others. \"Not documented\" is treated as uncertain. A document can change: before money depends on it, read it.
";

/// docs/destinations.md.
#[must_use]
pub fn markdown() -> String {
    let mut text = HEAD.to_owned();
    text.push_str("\n| preset | API | key | kept | a lost answer |\n|---|---|---|---|---|\n");
    for preset in Preset::all() {
        let _infallible = writeln!(
            text,
            "| [`{}`](#{}) | {} | {} | {} | {} |",
            preset.name,
            preset.name,
            preset.title,
            preset.key_place(),
            preset.keys.map_or("", |keys| keys.kept),
            preset.promise()
        );
    }
    for preset in Preset::all() {
        let _infallible = write!(text, "\n## {}\n\n{}", preset.name, preset.section());
    }
    text.push_str(&crate::message::markdown());
    text
}

impl Preset {
    /// All that is known of it, in Markdown.
    #[must_use]
    pub fn section(&self) -> String {
        let mut text = format!("{}, `{}`. {}\n\n", self.title, self.url, self.login());
        if let Some(why) = self.barred {
            let _infallible = writeln!(text, "**Not callable directly**: {why}.\n");
        }
        match &self.keys {
            Some(keys) => text.push_str(&self.keys_text(keys)),
            None => text.push_str("- No idempotency keys: at least once. A lost answer parks the effect.\n"),
        }
        if self.gap > SignedDuration::ZERO {
            let _infallible = writeln!(text, "- At least {} between two attempts.", show(self.gap));
        }
        for answer in self.answers {
            let _infallible = writeln!(text, "- {}", answer.describe());
        }
        for note in self.notes {
            let _infallible = writeln!(text, "- {note}");
        }
        text.push_str("\nRead in:\n\n");
        for fact in self.facts {
            let cited = if fact.known == Known::Cited {
                " (cited)"
            } else {
                ""
            };
            let _infallible = writeln!(text, "- {}{cited}: {}", fact.what, fact.source);
        }
        text
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let keys = self.keys.map(|keys| {
            json!({
                "place": self.key_place(), "length": keys.length(), "longest": keys.longest, "kept": keys.kept,
                "retention_seconds": keys.retention.map(|retention| retention.as_secs()), "stores_errors": keys.stores_errors,
                "other_body": keys.other_body, "in_flight": keys.in_flight,
            })
        });
        let facts = self.facts.iter().map(
            |fact| json!({ "what": fact.what, "source": fact.source, "cited": fact.known == Known::Cited }),
        );
        json!({
            "name": self.name, "title": self.title, "url": self.url, "methods": self.methods, "paths": self.paths.describe(),
            "auth": self.login(), "barred": self.barred, "keys": keys, "lost_answer": self.promise(),
            "answers": self.answers.iter().map(Answer::describe).collect::<Vec<_>>(), "notes": self.notes,
            "facts": facts.collect::<Vec<_>>(),
        })
    }

    /// What a lost answer comes to, in few words.
    #[must_use]
    pub fn promise(&self) -> &'static str {
        match (self.barred, &self.keys) {
            (Some(_), _) => "not callable directly",
            (None, Some(_)) => "again with the same key",
            (None, None) => "parked: at least once",
        }
    }

    /// Where its key goes, in few words.
    #[must_use]
    pub fn key_place(&self) -> String {
        match self.keys.map(|keys| keys.place) {
            Some(Spot::Header(name)) => format!("header `{name}`"),
            Some(Spot::Field(pointer)) => format!("body `{pointer}`"),
            None => "none".to_owned(),
        }
    }

    fn login(&self) -> String {
        if self.barred.is_some() {
            return "Signed requests.".to_owned();
        }
        match self.auth {
            Login::Bearer => "The secret is a bearer token.".to_owned(),
            Login::Header(name) => format!("The secret goes into the header `{name}`."),
            Login::Basic(user) => {
                format!("The secret is the password of the user `{user}` (basic authentication).")
            }
            Login::BasicPair => "The secret is `user:password` (basic authentication).".to_owned(),
        }
    }

    fn keys_text(&self, keys: &Keys) -> String {
        let longest = keys.longest.map_or_else(
            || "no limit documented".to_owned(),
            |longest| format!("{longest} allowed"),
        );
        let form = match keys.shape.format {
            KeyFormat::Hex => "hex digits",
            KeyFormat::Uuid => "characters, a UUID",
        };
        let stored = match keys.stores_errors {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not documented",
        };
        format!(
            "- Key: {}, {} {form} ({longest}). For {}; paths: {}.\n- Kept: {}.\n- Same key, other request: {}.\n- First \
             request under way: {}.\n- Errors stored and repeated: {stored}.\n",
            self.key_place(),
            keys.length(),
            self.methods.join(", "),
            self.paths.describe(),
            keys.kept,
            keys.other_body,
            keys.in_flight
        )
    }
}

impl Keys {
    /// The length of the keys that are sent.
    fn length(&self) -> usize {
        match self.shape.format {
            KeyFormat::Hex => self.shape.max_length,
            KeyFormat::Uuid => 36,
        }
    }
}

impl Answer {
    fn describe(&self) -> String {
        let statuses = match self.statuses {
            (one, other) if one == other => one.to_string(),
            (from, to) => format!("{from} to {to}"),
        };
        let seen = match self.seen {
            Seen::Status => String::new(),
            Seen::Header(name, value) => format!(" with the header `{name}: {value}`"),
            Seen::AnyHeader(name) => format!(" with the header `{name}`"),
            Seen::Field(path, values) => format!(" with `{}` at `{path}`", values.join("` or `")),
            Seen::AnyField(path) => format!(" with something at `{path}`"),
        };
        format!("{statuses}{seen}: {}.", self.means.describe())
    }
}
