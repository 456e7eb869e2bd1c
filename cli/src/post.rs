//! One HTTP request on a connection of its own: what a provider's delivery is. Retries and redirects are off.

use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{
    client::legacy::{
        Client,
        connect::{Connect, HttpConnector},
    },
    rt::TokioExecutor,
};

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The status.
    pub(crate) status: u16,
    /// Whether it repeats an earlier answer.
    pub(crate) replayed: bool,
    /// What became of the event, if Oncehook answered.
    pub(crate) outcome: Option<String>,
    /// The body, as text.
    pub(crate) body: String,
}

/// How long an answer may take: as long as an HTTP API waits.
const LIMIT: Duration = Duration::from_secs(30);
/// How much of an answer is read, in bytes.
const LONGEST: usize = 64 * 1024;

/// Posts a body.
pub(crate) async fn post(url: &str, headers: &HeaderMap, body: Bytes) -> anyhow::Result<Answer> {
    call(Method::POST, url, headers, body).await
}

/// Asks for what is there.
pub(crate) async fn get(url: &str) -> anyhow::Result<Answer> {
    call(Method::GET, url, &HeaderMap::new(), Bytes::new()).await
}

async fn call(method: Method, url: &str, headers: &HeaderMap, body: Bytes) -> anyhow::Result<Answer> {
    let uri: Uri = url.parse().with_context(|| format!("`{url}` is not a URL"))?;
    let secure = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => bail!("`{url}` is not an http or https URL"),
    };
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers.clone();
    let answer = async {
        // Certificates are read only where they are needed: it takes longer than a whole local delivery.
        if secure {
            let tls = HttpsConnectorBuilder::new()
                .with_native_roots()
                .context("the system's certificates")?;
            send(tls.https_only().enable_http1().build(), request).await
        } else {
            send(HttpConnector::new(), request).await
        }
    };
    tokio::time::timeout(LIMIT, answer)
        .await
        .with_context(|| format!("no answer from {url} within 30 seconds"))?
        .with_context(|| format!("no answer from {url}"))
}

/// Sends over a client of its own, whose one connection nobody else uses.
async fn send<C>(connector: C, request: Request<Full<Bytes>>) -> anyhow::Result<Answer>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let client = Client::builder(TokioExecutor::new())
        .retry_canceled_requests(false)
        .pool_max_idle_per_host(0)
        .build(connector);
    let (head, body) = client.request(request).await?.into_parts();
    let text = |name: &str| {
        head.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let body = Limited::new(body, LONGEST)
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    Ok(Answer {
        status: head.status.as_u16(),
        replayed: text(oncehook_ingest::REPLAYED).as_deref() == Some("true"),
        outcome: text(oncehook_ingest::OUTCOME),
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}
