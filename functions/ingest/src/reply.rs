//! The answer for each case. A refusal carries no detail: the log has it.

use http::{HeaderValue, StatusCode, header};
use lambda_http::{Body, Response};
use oncehook_core::verify::Reply as Handshake;

/// The header of an answer that repeats an earlier one.
pub const REPLAYED: &str = "oncehook-replayed";
/// The header that says what became of the event.
pub const OUTCOME: &str = "oncehook-outcome";

/// How a request is answered.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Everything in the request is durable.
    Accepted {
        status: u16,
        body: Option<String>,
        replayed: bool,
        outcome: &'static str,
    },
    /// What the provider documents for its set-up request.
    Handshake(Handshake),
    /// No such source.
    NotFound,
    /// Not a POST.
    Method,
    /// The body is too large.
    TooLarge,
    /// Not a request that any provider makes, with the status that says so.
    Malformed(u16),
    /// The signature is missing, malformed, wrong or stale.
    Unauthorized,
    /// The sender's network is not among the source's.
    Forbidden,
    /// Come again in so many seconds.
    Later(u32),
    /// It will not work until somebody mends it.
    Broken,
}

impl Reply {
    pub(crate) fn into_response(self) -> Response<Body> {
        match self {
            Self::Accepted {
                status,
                body,
                replayed,
                outcome,
            } => {
                let mut response = respond(status, body);
                response
                    .headers_mut()
                    .insert(OUTCOME, HeaderValue::from_static(outcome));
                if replayed {
                    response
                        .headers_mut()
                        .insert(REPLAYED, HeaderValue::from_static("true"));
                }
                response
            }
            Self::Handshake(handshake) => {
                let body = Some(handshake.body).filter(|body| !body.is_empty());
                let mut response = respond(handshake.status, body);
                let headers = response.headers_mut();
                if headers.contains_key(header::CONTENT_TYPE)
                    && let Ok(value) = HeaderValue::try_from(handshake.content_type)
                {
                    headers.insert(header::CONTENT_TYPE, value);
                }
                if let Some((name, value)) = handshake.header
                    && let Ok(value) = HeaderValue::try_from(value)
                {
                    headers.insert(name, value);
                }
                // An echo is never a page.
                let nosniff = HeaderValue::from_static("nosniff");
                headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
                response
            }
            Self::NotFound => respond(404, None),
            Self::Method => {
                let mut response = respond(405, None);
                response
                    .headers_mut()
                    .insert(header::ALLOW, HeaderValue::from_static("POST"));
                response
            }
            Self::TooLarge => respond(413, None),
            Self::Malformed(status) => respond(status, None),
            Self::Unauthorized => respond(401, None),
            Self::Forbidden => respond(403, None),
            Self::Later(seconds) => {
                let mut response = respond(503, None);
                response
                    .headers_mut()
                    .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
                response
            }
            Self::Broken => respond(500, None),
        }
    }
}

fn respond(status: u16, body: Option<String>) -> Response<Body> {
    let json = body.is_some();
    let mut response = Response::new(body.map_or(Body::Empty, Body::Text));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    if json {
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    response
}
