//! Large bodies as objects in a bucket of S3. The bucket's lifecycle deletes what lies under `bodies/`, and what is tagged
//! under `kept/`; nothing is deleted here.

use std::{fmt, sync::OnceLock, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use jiff::Timestamp;
use oncehook_store::{Bodies, BodyAnswer, BodyError};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use crate::{
    connector::over_tls,
    signer::{SignError, Signer, Unsigned},
};

/// The variable with the name of the bucket. Without it, bodies above 64 KiB after compression are refused.
pub const BODIES: &str = "ONCEHOOK_BODIES";
/// The tag that lets an object under `kept/` expire; the lifecycle in template.yaml names it.
const RELEASED: &str = "<Tagging><TagSet><Tag><Key>released</Key><Value>yes</Value></Tag></TagSet></Tagging>";
/// The longest that opening a connection may take.
const CONNECT: Duration = Duration::from_secs(1);
/// The longest that one call may take, unless its caller has less time.
const LIMIT: Duration = Duration::from_secs(5);
/// Answers that say something are short.
const SHORT: usize = 16 * 1024;

type Https = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A bucket.
pub struct Bucket {
    signer: Signer,
    name: String,
    limit: Duration,
    client: OnceLock<Https>,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Bucket {
    /// The bucket of this name.
    #[must_use]
    pub fn new(signer: Signer, name: String) -> Self {
        Self {
            signer,
            name,
            limit: LIMIT,
            client: OnceLock::new(),
        }
    }

    /// With more time for each call: a person's line may be slow.
    #[must_use]
    pub fn patient(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Made at the first large body: most functions never meet one.
    fn client(&self) -> Result<&Https, BodyError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let https = over_tls(Some(CONNECT)).map_err(|error| BodyError::Broken(error.to_string()))?;
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .retry_canceled_requests(false)
            .build(https);
        Ok(self.client.get_or_init(|| client))
    }

    /// One call: its status, and its body up to `most` bytes.
    async fn call(
        &self,
        method: Method,
        name: &str,
        headers: &[(&'static str, String)],
        body: Bytes,
        most: usize,
    ) -> Result<(StatusCode, Bytes), BodyError> {
        let path = format!("/{}/{name}", self.name);
        let unsigned = Unsigned {
            service: "s3",
            method,
            region: None,
            origin: None,
            path: &path,
            headers,
            body,
        };
        let request = self.signer.sign(&unsigned, Timestamp::now()).await;
        let request = request.map_err(|error| match error {
            SignError::Credentials(_) => BodyError::Busy(error.to_string()),
            _ => BodyError::Broken(error.to_string()),
        })?;
        let client = self.client()?;
        let exchange = async {
            let answer = client
                .request(request)
                .await
                .map_err(|error| BodyError::Busy(error.to_string()))?;
            read(answer, most).await
        };
        timeout(self.limit, exchange)
            .await
            .map_err(|_| BodyError::Busy(format!("no answer within {} s", self.limit.as_secs())))?
    }
}

async fn read(answer: Response<Incoming>, most: usize) -> Result<(StatusCode, Bytes), BodyError> {
    let status = answer.status();
    let most = if status.is_success() { most } else { SHORT };
    let body = Limited::new(answer.into_body(), most).collect().await;
    let body = body.map_err(|error| BodyError::Busy(error.to_string()))?;
    Ok((status, body.to_bytes()))
}

/// What went wrong, without what S3 repeats of the request.
fn refused(what: &str, status: StatusCode, body: &Bytes) -> BodyError {
    let detail = format!("{what}: {status} {}", code(&String::from_utf8_lossy(body)));
    let busy = status.is_server_error()
        || matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT
        );
    if busy {
        BodyError::Busy(detail)
    } else {
        BodyError::Broken(format!(
            "{detail}; see to the bucket, and the function's rights to it"
        ))
    }
}

/// The error's name.
fn code(text: &str) -> &str {
    let code = text
        .split("<Code>")
        .nth(1)
        .and_then(|rest| rest.split('<').next());
    code.unwrap_or_default()
}

/// Whether an answer says that this object is not there. A bucket that is not there is another matter.
fn is_gone(status: StatusCode, body: &Bytes) -> bool {
    status == StatusCode::NOT_FOUND && code(&String::from_utf8_lossy(body)) == "NoSuchKey"
}

/// S3 compares it with what it got, and stores nothing that differs.
fn checksum(body: &Bytes) -> (&'static str, String) {
    (
        "x-amz-checksum-sha256",
        BASE64_STANDARD.encode(Sha256::digest(body)),
    )
}

impl Bodies for Bucket {
    fn put<'a>(&'a self, name: &'a str, body: Bytes) -> BodyAnswer<'a, ()> {
        Box::pin(async move {
            let headers = [
                ("content-type", "application/octet-stream".to_owned()),
                checksum(&body),
            ];
            let (status, text) = self.call(Method::PUT, name, &headers, body, SHORT).await?;
            if status.is_success() {
                return Ok(());
            }
            Err(refused("putting a body", status, &text))
        })
    }

    fn get<'a>(&'a self, name: &'a str, most: usize) -> BodyAnswer<'a, Option<Bytes>> {
        Box::pin(async move {
            let (status, body) = self.call(Method::GET, name, &[], Bytes::new(), most).await?;
            match status {
                status if is_gone(status, &body) => Ok(None),
                status if status.is_success() => Ok(Some(body)),
                status => Err(refused("getting a body", status, &body)),
            }
        })
    }

    fn copy<'a>(&'a self, from: &'a str, to: &'a str) -> BodyAnswer<'a, bool> {
        Box::pin(async move {
            let headers = [("x-amz-copy-source", format!("/{}/{from}", self.name))];
            let (status, text) = self.call(Method::PUT, to, &headers, Bytes::new(), SHORT).await?;
            // An error can also come after a 200, in the body.
            let done = String::from_utf8_lossy(&text).contains("CopyObjectResult");
            match status {
                status if is_gone(status, &text) => Ok(false),
                status if status.is_success() && done => Ok(true),
                status if status.is_success() => Err(BodyError::Busy("a copy was not finished".to_owned())),
                status => Err(refused("copying a body", status, &text)),
            }
        })
    }

    fn release<'a>(&'a self, name: &'a str) -> BodyAnswer<'a, ()> {
        Box::pin(async move {
            let body = Bytes::from_static(RELEASED.as_bytes());
            let headers = [("content-type", "application/xml".to_owned()), checksum(&body)];
            let tagging = format!("{name}?tagging=");
            let (status, text) = self.call(Method::PUT, &tagging, &headers, body, SHORT).await?;
            if status.is_success() {
                return Ok(());
            }
            Err(refused("releasing a body", status, &text))
        })
    }
}
