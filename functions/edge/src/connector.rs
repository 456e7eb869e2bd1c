//! The HTTP client beneath the clients of AWS: hyper over rustls, HTTP/1.1, as drain calls destinations. The SDK's own brings HTTP/2
//! along, a tenth of each function; DynamoDB does not speak it. It retries nothing but what never left on a closed connection.

use std::{io, sync::OnceLock, time::Duration};

use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn},
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};
use aws_smithy_types::body::SdkBody;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect},
    rt::TokioExecutor,
};

type Https = Client<HttpsConnector<connect::HttpConnector>, SdkBody>;

/// A client whose connections are made when the first request needs one. The limit for making one is that of the settings of
/// the first client of AWS that asks.
pub(crate) fn client() -> SharedHttpClient {
    let made: OnceLock<SharedHttpConnector> = OnceLock::new();
    http_client_fn(move |settings, _| {
        let make = || {
            let https = over_tls(settings.connect_timeout());
            let client = https.map(|https| Client::builder(TokioExecutor::new()).build(https));
            SharedHttpConnector::new(Connector(client.map_err(|error| error.to_string())))
        };
        made.get_or_init(make).clone()
    })
}

/// Connections over TLS, or in the clear where the URL says so.
///
/// # Errors
/// When the system's certificates cannot be read.
pub(crate) fn over_tls(limit: Option<Duration>) -> io::Result<HttpsConnector<connect::HttpConnector>> {
    let mut http = connect::HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(limit);
    http.set_nodelay(true);
    let https = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|error| io::Error::new(error.kind(), format!("the system's certificates: {error}")))?;
    Ok(https.https_or_http().enable_http1().wrap_connector(http))
}

/// Absent if the system's certificates could not be read: then every request says so.
#[derive(Debug)]
struct Connector(Result<Https, String>);

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let client = self.0.clone();
        HttpConnectorFuture::new(async move {
            let client = client.map_err(|why| ConnectorError::user(why.into()))?;
            let request = request
                .try_into_http1x()
                .map_err(|error| ConnectorError::user(error.into()))?;
            let answer = client
                .request(request)
                .await
                .map_err(|error| ConnectorError::io(error.into()))?;
            HttpResponse::try_from(answer.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}
