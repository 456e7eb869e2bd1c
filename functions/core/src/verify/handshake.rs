//! Requests about the endpoint itself, and their answers: signed ones, and the GET requests of Meta and Braintree.
//!
//! Nothing here is an event, so nothing reaches the database. An answer never is something that a stranger could
//! use: the echo of an unsigned request needs the verify token, and only what has the shape of a challenge is signed.

use subtle::ConstantTimeEq as _;

use super::{
    Source,
    facts::{Answer, Challenge, Mark},
    key::Piece,
    read::Reply,
    signed::Location,
    url,
    view::View,
};
use crate::request::SignedRequest;

/// The longest challenge that is echoed.
const MAX_CHALLENGE: usize = 512;

impl Source {
    /// The answer to a signed request, if it is a handshake. `secret` is the position of the one that matched.
    pub(super) fn handshake(&self, view: &View<'_>, secret: usize) -> Option<Reply> {
        let handshake = self
            .facts
            .handshakes
            .iter()
            .find(|handshake| handshake.marks.iter().all(|mark| marked(mark, view)))?;
        let text = |pointer: &str| view.text(&[Location::Pointer(pointer.to_owned())]);
        let (status, content_type, body) = match handshake.answer {
            Answer::Echo(pointer) => (200, "text/plain", text(pointer)?),
            Answer::Json(json) => (200, "application/json", json.to_owned()),
            Answer::Empty => (200, "text/plain", String::new()),
            Answer::NoContent => (204, "text/plain", String::new()),
            Answer::Token(pointer) => {
                let plain = text(pointer)?;
                let signature = self.keys.get(secret)?.sign(plain.as_bytes(), &[Piece::Body])?;
                let json = serde_json::json!({"plainToken": plain, "encryptedToken": hex::encode(signature)});
                (200, "application/json", json.to_string())
            }
        };
        Some(Reply {
            status,
            content_type,
            body,
        })
    }

    /// The answer to an unsigned GET request about the endpoint; none if it is not one that may be answered.
    #[must_use]
    pub fn challenge(&self, request: &SignedRequest) -> Option<Reply> {
        if request.method != http::Method::GET {
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
        })
    }
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
        Mark::Header(name, value) => view.request.header(name).as_deref() == Some(value),
    }
}
