//! API Gateway's HTTP API, in front of one handler: the request becomes the event that Lambda would get, and
//! is read by the same code.
//!
//! It has no throttling, authorizers, stages, TLS or 30-second limit, and it does not decode the path.

mod event;

use std::{net::SocketAddr, pin::Pin, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use jiff::Timestamp;
use lambda_http::Body;
use serde_json::json;
use tokio::net::TcpListener;
use uuid::Uuid;

pub use event::event_json;

use crate::server::{self, Answer, Dropped};

/// The largest body that API Gateway takes.
pub const MAX_BODY: usize = 10 * 1024 * 1024;

/// The largest body that what stands beside the webhooks takes.
const MAX_BESIDE: usize = 1024 * 1024;

type Beside =
    Arc<dyn Fn(Request<Bytes>) -> Pin<Box<dyn Future<Output = Response<Bytes>> + Send>> + Send + Sync>;

/// The gateway; [`Gateway::serve`] runs it.
#[derive(Clone)]
pub struct Gateway {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    beside: Option<Beside>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

impl Gateway {
    /// A gateway that takes the time of its events from `now`.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            now: Arc::new(now),
            beside: None,
        }
    }

    /// Has `handler` answer every request whose path is none of a webhook; without it they are answered with 404.
    #[must_use]
    pub fn beside<H, F>(mut self, handler: H) -> Self
    where
        H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Bytes>> + Send + 'static,
    {
        self.beside = Some(Arc::new(move |request| Box::pin(handler(request))));
        self
    }

    /// Serves `/webhooks/{source}` on `listener` until `shutdown`, then lets the requests under way finish.
    /// As on Lambda, a handler runs to its end even if its caller leaves, and a panic is answered with 500.
    pub async fn serve<H, F>(self, listener: TcpListener, handler: H, shutdown: impl Future<Output = ()>)
    where
        H: Fn(lambda_http::Request) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let respond = move |request, peer| {
            let (gateway, handler) = (self.clone(), handler.clone());
            async move { gateway.respond(request, peer, handler).await }
        };
        server::serve(listener, respond, shutdown).await;
    }

    async fn respond<H, F>(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        handler: H,
    ) -> Result<Answer, Dropped>
    where
        H: Fn(lambda_http::Request) -> F + Send + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let Some(source) = source_of(request.uri().path()).map(str::to_owned) else {
            return match &self.beside {
                Some(beside) => elsewhere(request, beside).await,
                None => Ok(message(StatusCode::NOT_FOUND, "Not Found")),
            };
        };
        if announced(request.headers()).is_some_and(|length| length > MAX_BODY) {
            return Ok(message(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large"));
        }
        let Some(request) = bounded(request, MAX_BODY).await? else {
            return Ok(message(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large"));
        };
        let id = Uuid::new_v4().to_string();
        let event = event_json(&request, &source, peer.ip(), (self.now)(), &id).to_string();
        let handled = tokio::spawn(async move {
            let request = lambda_http::request::from_str(&event).map_err(drop)?;
            Ok::<_, ()>(handler(request).await)
        });
        Ok(match handled.await {
            Ok(Ok(response)) => written(response),
            Ok(Err(())) => message(StatusCode::BAD_REQUEST, "Bad Request"),
            Err(_) => message(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
        })
    }
}

async fn elsewhere(request: Request<Incoming>, beside: &Beside) -> Result<Answer, Dropped> {
    match bounded(request, MAX_BESIDE).await? {
        Some(request) => Ok(beside(request).await.map(Full::new)),
        None => Ok(message(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large")),
    }
}

/// The whole request; none if its body is larger than `limit`, in bytes.
async fn bounded(request: Request<Incoming>, limit: usize) -> Result<Option<Request<Bytes>>, Dropped> {
    let (head, body) = request.into_parts();
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(Some(Request::from_parts(head, body.to_bytes()))),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Ok(None),
        Err(_) => Err(Dropped),
    }
}

/// The source that a path names: `/webhooks/{source}`, nothing before or after.
fn source_of(path: &str) -> Option<&str> {
    let source = path.strip_prefix("/webhooks/")?;
    (!source.is_empty() && !source.contains('/')).then_some(source)
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn message(status: StatusCode, text: &str) -> Answer {
    server::json(status, &json!({ "message": text }))
}

fn written(response: Response<Body>) -> Answer {
    let (mut head, body) = response.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.remove(header::TRANSFER_ENCODING);
    Answer::from_parts(head, Full::new(Bytes::copy_from_slice(body.as_ref())))
}
