//! The HTTP client beneath the clients of AWS: hyper over rustls, HTTP/1.1, as drain calls destinations. The SDK's own brings HTTP/2
//! along, a tenth of each function; DynamoDB does not speak it. It retries nothing but what never left on a closed connection.

use std::{sync::OnceLock, time::Duration};

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

/// A client whose connections are made when the first request needs one.
pub(crate) fn client(connect_limit: Duration) -> SharedHttpClient {
    let made: OnceLock<SharedHttpConnector> = OnceLock::new();
    http_client_fn(move |_, _| {
        let make = || SharedHttpConnector::new(Connector(https(connect_limit)));
        made.get_or_init(make).clone()
    })
}

fn https(connect_limit: Duration) -> Result<Https, String> {
    let mut http = connect::HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(Some(connect_limit));
    http.set_nodelay(true);
    let https = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|error| format!("the system's certificates: {error}"))?
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    Ok(Client::builder(TokioExecutor::new()).build(https))
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
