//! Requests about the endpoint itself, and their answers: signed ones, and the unsigned ones of Meta,
//! Braintree, Microsoft Graph and Asana.
//!
//! Nothing here is an event, so nothing reaches the database. An answer never is something that a stranger could
//! use: the echo of an unsigned request needs the verify token, and only what has the shape of a challenge is signed.

use jiff::Timestamp;
use subtle::ConstantTimeEq as _;

use super::{
    Source,
    facts::{Answer, Challenge, Facts, KeyForm, Mark},
    key::Piece,
    read::{Received, Reply},
    signed::Location,
    url,
    view::View,
};
use crate::{config::SourceConfig, request::SignedRequest};

/// The header in which Asana hands over a secret.
const HOOK_SECRET: &str = "x-hook-secret";
/// The longest challenge that is echoed.
const MAX_CHALLENGE: usize = 512;

impl Source {
    /// The answer to a signed request, if it is a handshake. `secret` is the position of the one that matched.
    pub(super) fn handshake(&self, view: &View<'_>, secret: usize) -> Option<Received> {
        let handshake = self
            .facts
            .handshakes
            .iter()
            .find(|handshake| handshake.marks.iter().all(|mark| marked(mark, view)))?;
        let text = |pointer: &str| view.text(&[Location::Pointer(pointer.to_owned())]);
        let (status, content_type, body) = match handshake.answer {
            Answer::Echo(pointer) => (200, "text/plain", text(pointer)?),
            Answer::Json(json) => (200, "application/json", json.to_owned()),
            Answer::Empty | Answer::Visit(_) => (200, "text/plain", String::new()),
            Answer::NoContent => (204, "text/plain", String::new()),
            Answer::Token(pointer) => {
                let plain = text(pointer)?;
                let signature = self.keys.get(secret)?.sign(plain.as_bytes(), &[Piece::Body])?;
                let json = serde_json::json!({"plainToken": plain, "encryptedToken": hex::encode(signature)});
                (200, "application/json", json.to_string())
            }
        };
        let reply = Reply {
            status,
            content_type,
            body,
            header: None,
        };
        Some(match handshake.answer {
            Answer::Visit(pointer) => Received::Confirm {
                url: self.visited(&text(pointer)?)?,
                reply,
            },
            _ => Received::Handshake(reply),
        })
    }

    /// A URL that may be visited: on one of the provider's own hosts.
    fn visited(&self, url: &str) -> Option<String> {
        match &self.facts.key {
            KeyForm::Named(issued) => issued.path_of(url).map(|_| url.to_owned()),
            _ => None,
        }
    }

    /// The answer to an unsigned request about the endpoint; none if it is not one that may be answered.
    #[must_use]
    pub fn challenge(&self, request: &SignedRequest) -> Option<Reply> {
        if !self.facts.challenge?.is_asked_by(request) {
            return None;
        }
        let parameter = |name: &str| {
            let text = url::parameter(&request.path_and_query, name)?;
            String::from_utf8(super::form::decoded(text)).ok()
        };
        let body = match self.facts.challenge? {
            Challenge::Hub => {
                let token = self.verify_token.as_ref()?;
                let given = parameter("hub.verify_token")?;
                let known = bool::from(given.as_bytes().ct_eq(token.expose().as_bytes()));
                let challenge = parameter("hub.challenge").filter(|it| it.len() <= MAX_CHALLENGE)?;
                (known && parameter("hub.mode")? == "subscribe").then_some(challenge)?
            }
            // No secret is needed for it, and a time is: see `enrolment`.
            Challenge::Asana => return None,
            // It is the same whoever asks, and never anything that a browser would run.
            Challenge::Graph => parameter("validationToken").filter(|it| is_plain(it))?,
            Challenge::Braintree => {
                let challenge = parameter("bt_challenge").filter(|it| is_challenge(it))?;
                let key = self.keys.first()?;
                let signature = key.sign(challenge.as_bytes(), &[Piece::Body])?;
                format!("{}|{}", key.label(), hex::encode(signature))
            }
        };
        Some(Reply {
            status: 200,
            content_type: "text/plain",
            body,
            header: None,
        })
    }
}

/// The answer to a request that hands over a secret, as Asana's does while a webhook is made: the same secret, until the
/// time that the configuration names. It is not kept: who made the webhook gets it in the answer of Asana's API. So a
/// stranger who asks meanwhile has only his own text back.
///
/// <https://developers.asana.com/reference/createwebhook>
#[must_use]
pub fn enrolment(config: &SourceConfig, request: &SignedRequest, now: Timestamp) -> Option<Reply> {
    if Facts::of(&config.scheme).challenge != Some(Challenge::Asana) || now >= config.enrol_until? {
        return None;
    }
    let secret = request.header(HOOK_SECRET)?;
    let plain = secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (plain && (1..=MAX_CHALLENGE).contains(&secret.len())).then_some(Reply {
        status: 200,
        content_type: "text/plain",
        body: String::new(),
        header: Some((HOOK_SECRET, secret)),
    })
}

impl Challenge {
    /// Whether a request is of the kind that asks this. What an event could be is never asked.
    pub(super) fn is_asked_by(self, request: &SignedRequest) -> bool {
        match self {
            Self::Hub | Self::Braintree => request.method == http::Method::GET,
            Self::Asana => {
                request.method == http::Method::POST
                    && request.headers.contains_key(HOOK_SECRET)
                    && !request.headers.contains_key("x-hook-signature")
            }
            Self::Graph => {
                request.method == http::Method::POST
                    && request.body.is_empty()
                    && url::parameter(&request.path_and_query, "validationToken").is_some()
            }
        }
    }
}

/// Text that is safe to send back.
fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'<';
    (1..=MAX_CHALLENGE).contains(&text.len()) && text.bytes().all(plain)
}

/// What Braintree's libraries take for a challenge. The same key signs notifications, so nothing else is ever signed,
/// and nothing of this shape is ever taken for a notification.
pub(super) fn is_challenge(text: &str) -> bool {
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (20..=32).contains(&text.len()) && text.bytes().all(hex)
}

fn marked(mark: &Mark, view: &View<'_>) -> bool {
    let at = |pointer: &str| view.data.pointer(pointer);
    match mark {
        Mark::Text(pointer, text) => at(pointer).and_then(|value| value.as_str()) == Some(text),
        Mark::Number(pointer, number) => at(pointer).and_then(|value| value.as_u64()) == Some(*number),
        Mark::Absent(pointer) => at(pointer).is_none(),
        Mark::Empty(pointer) => at(pointer)
            .and_then(|value| value.as_array())
            .is_some_and(Vec::is_empty),
        Mark::Header(name, value) => view.request.header(name).as_deref() == Some(value),
    }
}
