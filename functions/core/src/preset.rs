//! What the documents of well-known APIs say about repeated requests. One entry for each `preset = ".."`: where the key
//! goes, how long it is remembered, what the answers mean, and where each fact was read.
//!
//! This is the one home of that knowledge: delivery, `oncehook destinations` and docs/destinations.md are made from it.
//! Nothing here calls anything. What no document says is `None`, and is treated as uncertain.

mod answer;
mod document;
mod field;
mod keyless;
mod keyless_mail;
mod mail;
mod messages;
mod money;
mod payments;
mod shops;

use jiff::SignedDuration;

pub use answer::{Answer, Means, Seen, replayed};
pub use document::markdown;
pub use field::put;

use crate::{
    config::suggestion,
    outbox::{KeyFormat, KeyShape},
};

/// One API.
#[derive(Debug)]
pub struct Preset {
    /// As in `preset = ".."`.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Where it is called: an example, `{..}` for what differs. Never used by itself.
    pub url: &'static str,
    /// The methods that this describes.
    pub methods: &'static [&'static str],
    /// The paths for which the keys are documented.
    pub paths: Paths,
    /// How it wants to be authenticated, unless `auth` says otherwise.
    pub auth: Login,
    /// The content type of its requests, unless `content_type` says otherwise.
    pub content_type: &'static str,
    /// Why it cannot be called directly. Its facts are still worth knowing.
    pub barred: Option<&'static str>,
    /// Its keys; absent if it has none.
    pub keys: Option<Keys>,
    /// What its answers mean, where the status does not say it. The first that fits counts.
    pub answers: &'static [Answer],
    /// Where it says how long to wait, beside `Retry-After`.
    pub wait: Option<Wait>,
    /// The shortest time between two attempts of which the first may have acted.
    pub gap: SignedDuration,
    /// What somebody who uses it must know.
    pub notes: &'static [&'static str],
    /// Where all this was read.
    pub facts: &'static [Fact],
}

/// Which paths take keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paths {
    /// All.
    All,
    /// Those that begin so.
    Begin(&'static str),
    /// Those that end in one of these.
    End(&'static [&'static str]),
    /// Those that do not end so.
    NotEnd(&'static str),
}

/// How an API is authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// `Authorization: Bearer SECRET`.
    Bearer,
    /// This header holds the secret.
    Header(&'static str),
    /// HTTP's basic authentication with this user.
    Basic(&'static str),
    /// The same; the secret is `user:password`.
    BasicPair,
}

/// How an API takes idempotency keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    /// Where.
    pub place: Spot,
    /// What is sent.
    pub shape: KeyShape,
    /// The longest that its document allows, in characters.
    pub longest: Option<usize>,
    /// How long it is remembered, as documented for certain.
    pub retention: Option<SignedDuration>,
    /// The same in the document's words.
    pub kept: &'static str,
    /// Whether a repetition gets a stored error, server errors included.
    pub stores_errors: Option<bool>,
    /// Text that the body must contain, as a part of it: without it, the key is not looked at.
    pub needs: Option<(&'static str, &'static str)>,
    /// What a repetition with another body gets.
    pub other_body: &'static str,
    /// What a repetition gets while the first is under way.
    pub in_flight: &'static str,
}

/// Where a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// In this header.
    Header(&'static str),
    /// At this JSON Pointer of the body.
    Field(&'static str),
}

/// A header that says how long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Its name.
    pub header: &'static str,
    /// Whether it is a time in epoch seconds; seconds from now otherwise.
    pub epoch: bool,
}

/// Where something was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// What.
    pub what: &'static str,
    /// How well it is known.
    pub known: Known,
    /// Where: a URL, or what was read.
    pub source: &'static str,
}

/// How well a fact is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Read in the provider's own document or source.
    Read,
    /// Read in a text of others that cites the provider's.
    Cited,
}

impl Preset {
    /// What an entry begins with.
    const NEW: Self = Self {
        name: "",
        title: "",
        url: "",
        methods: &["POST"],
        paths: Paths::All,
        auth: Login::Bearer,
        content_type: "application/json",
        barred: None,
        keys: None,
        answers: &[],
        wait: None,
        gap: SignedDuration::ZERO,
        notes: &[],
        facts: &[],
    };

    /// All of them, those with keys first.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        [
            payments::ALL,
            money::ALL,
            shops::ALL,
            mail::ALL,
            messages::ALL,
            keyless_mail::ALL,
            keyless::ALL,
        ]
        .into_iter()
        .flatten()
    }

    /// The one of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::all().find(|preset| preset.name == name)
    }
}

impl Preset {
    /// The one of this name, or a message with the nearest that there is.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        Self::find(name).ok_or_else(|| {
            let nearest = suggestion(name, Self::all().map(|preset| preset.name));
            format!("there is no preset `{name}`{nearest}")
        })
    }
}

impl Keys {
    const NEW: Self = Self {
        place: Spot::Header("Idempotency-Key"),
        shape: HEX,
        longest: None,
        retention: None,
        kept: "not documented",
        stores_errors: None,
        needs: None,
        other_body: "not documented",
        in_flight: "not documented",
    };
}

impl Paths {
    /// Whether the path of a URL, without its query, is one of these.
    #[must_use]
    pub fn fit(self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        match self {
            Self::All => true,
            Self::Begin(start) => path.starts_with(start),
            Self::End(ends) => ends.iter().any(|end| path.ends_with(end)),
            Self::NotEnd(end) => !path.ends_with(end),
        }
    }

    /// In words, for messages and documents.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Begin(start) => format!("those that begin with `{start}`"),
            Self::End(ends) => format!("those that end in `{}`", ends.join("` or `")),
            Self::NotEnd(end) => format!("those that do not end in `{end}`"),
        }
    }
}

/// 128 bits in hex: fits every limit known.
const HEX: KeyShape = KeyShape {
    format: KeyFormat::Hex,
    max_length: KeyShape::SHORTEST,
};
/// For APIs that advise a UUID.
const UUID: KeyShape = KeyShape {
    format: KeyFormat::Uuid,
    max_length: 36,
};

const fn read(what: &'static str, source: &'static str) -> Fact {
    Fact {
        what,
        known: Known::Read,
        source,
    }
}

const fn cited(what: &'static str, source: &'static str) -> Fact {
    Fact {
        what,
        known: Known::Cited,
        source,
    }
}
