//! Signs requests to services of AWS that have no client here: a client for each would double the functions' size.
//!
//! Credentials, Region and endpoints are those that the clients of the SDK would take. It sends nothing.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use aws_config::SdkConfig;
use aws_credential_types::{
    Credentials,
    provider::{ProvideCredentials, SharedCredentialsProvider},
};
use aws_sigv4::{
    http_request::{
        PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
        UriPathNormalizationMode, sign,
    },
    sign::v4::SigningParams,
};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use jiff::{SignedDuration, Timestamp};

use crate::environment::Environment;

/// Services as endpoints and signatures name them, and as the SDK's variables do (`AWS_ENDPOINT_URL_EVENTBRIDGE`).
const SERVICES: [(&str, &str); 5] = [
    ("sqs", "SQS"),
    ("lambda", "LAMBDA"),
    ("events", "EVENTBRIDGE"),
    ("s3", "S3"),
    ("monitoring", "CLOUDWATCH"),
];
/// The longest that finding credentials may take.
const CREDENTIALS: Duration = Duration::from_secs(2);
/// Credentials that end sooner are asked for again.
const LEFT: SignedDuration = SignedDuration::from_mins(2);

/// A request to be signed.
#[derive(Debug, Clone)]
pub struct Unsigned<'a> {
    /// The service: `sqs`, `lambda`, `events`, `s3`, `monitoring`.
    pub service: &'a str,
    /// The method.
    pub method: Method,
    /// The Region, if it is not that of this process.
    pub region: Option<&'a str>,
    /// `https://host`, if it is not the service's usual one.
    pub origin: Option<&'a str>,
    /// The path, percent-encoded, and the query.
    pub path: &'a str,
    /// Headers; all of them are signed.
    pub headers: &'a [(&'static str, String)],
    /// The body.
    pub body: Bytes,
}

/// Why a request was not signed. Nothing of the credentials is in it.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// There are none, or they could not be had in time.
    #[error("no AWS credentials: {0}")]
    Credentials(String),
    /// Nothing names a Region.
    #[error("no AWS Region: set AWS_REGION, or give the ARN")]
    Region,
    /// It cannot be a request.
    #[error("the request cannot be signed: {0}")]
    Request(String),
}

/// Signs as this process.
pub struct Signer {
    region: Option<String>,
    credentials: Option<SharedCredentialsProvider>,
    /// Instead of the usual host, by service.
    endpoints: BTreeMap<&'static str, String>,
    kept: Mutex<Option<Credentials>>,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("region", &self.region)
            .field("endpoints", &self.endpoints)
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// With the credentials and Region of these settings, and their endpoint where no variable names another.
    #[must_use]
    pub fn new(config: &SdkConfig, environment: &Environment) -> Self {
        let endpoint = |name: &str| {
            let own = environment.get(&format!("AWS_ENDPOINT_URL_{name}"));
            own.filter(|url| !url.trim().is_empty())
                .or_else(|| config.endpoint_url().map(str::to_owned))
        };
        let endpoints = SERVICES
            .iter()
            .filter_map(|(service, name)| Some((*service, endpoint(name)?.trim_end_matches('/').to_owned())));
        Self {
            region: config.region().map(|region| region.as_ref().to_owned()),
            credentials: config.credentials_provider(),
            endpoints: endpoints.collect(),
            kept: Mutex::default(),
        }
    }

    /// For services on this machine; the credentials mean nothing.
    #[must_use]
    pub fn local(endpoint: &str) -> Self {
        let environment = Environment::new(|_| None);
        Self::new(&crate::clients::local(endpoint), &environment)
    }

    /// Whether a service is reached at an address that the environment names.
    #[must_use]
    pub fn has_endpoint(&self, service: &str) -> bool {
        self.endpoints.contains_key(service)
    }

    /// What must not be shown of the credentials that were used last, should an answer repeat it.
    #[must_use]
    pub fn hidden(&self) -> Vec<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(credentials) = kept.as_ref() else {
            return Vec::new();
        };
        let forms = [Some(credentials.secret_access_key()), credentials.session_token()];
        forms.into_iter().flatten().map(str::to_owned).collect()
    }

    /// The request, signed for this moment.
    ///
    /// # Errors
    /// When there are no credentials, no Region, or it is no request. Nothing was sent.
    pub async fn sign(&self, call: &Unsigned<'_>, now: Timestamp) -> Result<Request<Full<Bytes>>, SignError> {
        let wrong = |error: &dyn fmt::Display| SignError::Request(error.to_string());
        let region = call.region.or(self.region.as_deref()).ok_or(SignError::Region)?;
        let origin = self
            .endpoints
            .get(call.service)
            .map(String::as_str)
            .or(call.origin);
        let origin = origin.map_or_else(|| usual(call.service, region), str::to_owned);
        let url = format!("{origin}{}", call.path);
        let credentials = self.credentials(now).await?;
        let identity = credentials.into();
        let parameters = SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name(call.service)
            .time(moment(now))
            .settings(settings(call.service))
            .build()
            .map_err(|error| wrong(&error))?
            .into();
        let headers = call.headers.iter().map(|(name, value)| (*name, value.as_str()));
        let body = SignableBody::Bytes(&call.body);
        let signable =
            SignableRequest::new(call.method.as_str(), &url, headers, body).map_err(|error| wrong(&error))?;
        let (signature, _) = sign(signable, &parameters)
            .map_err(|error| wrong(&error))?
            .into_parts();
        let mut request = Request::builder().method(&call.method).uri(&url);
        for (name, value) in call.headers {
            request = request.header(*name, value);
        }
        let mut request = request
            .body(Full::new(call.body.clone()))
            .map_err(|error| wrong(&error))?;
        signature.apply_to_request_http1x(&mut request);
        for name in ["authorization", "x-amz-security-token"] {
            if let Some(value) = request.headers_mut().get_mut(name) {
                value.set_sensitive(true);
            }
        }
        Ok(request)
    }

    /// The credentials at hand, or fresh ones before those end.
    async fn credentials(&self, now: Timestamp) -> Result<Credentials, SignError> {
        let lasting = |credentials: &Credentials| {
            let end = credentials.expiry().and_then(|end| Timestamp::try_from(end).ok());
            end.is_some_and(|end| end.duration_since(now) > LEFT)
        };
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(credentials) = kept().clone().filter(lasting) {
            return Ok(credentials);
        }
        let none = "this process has no source of them".to_owned();
        let provider = self.credentials.as_ref().ok_or(SignError::Credentials(none))?;
        let found = tokio::time::timeout(CREDENTIALS, provider.provide_credentials()).await;
        let found = found
            .map_err(|_| SignError::Credentials("not found in time".to_owned()))?
            .map_err(|error| SignError::Credentials(error.to_string()))?;
        *kept() = Some(found.clone());
        Ok(found)
    }
}

/// S3 signs paths as they are, and the hash of the body in a header.
/// <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>
fn settings(service: &str) -> SigningSettings {
    let mut settings = SigningSettings::default();
    if service == "s3" {
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    }
    settings
}

fn moment(now: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(now.as_second()).unwrap_or_default())
}

/// `https://SERVICE.REGION.amazonaws.com`, with the suffix of the Region's partition.
/// <https://github.com/boto/botocore/blob/develop/botocore/data/partitions.json>
fn usual(service: &str, region: &str) -> String {
    let suffixes = [
        ("cn-", "amazonaws.com.cn"),
        ("eusc-", "amazonaws.eu"),
        ("us-iso-", "c2s.ic.gov"),
        ("us-isob-", "sc2s.sgov.gov"),
        ("eu-isoe-", "cloud.adc-e.uk"),
        ("us-isof-", "csp.hci.ic.gov"),
    ];
    let suffix = suffixes
        .iter()
        .find(|(start, _)| region.starts_with(start))
        .map_or("amazonaws.com", |(_, suffix)| suffix);
    format!("https://{service}.{region}.{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(path: &'a str, region: Option<&'a str>, origin: Option<&'a str>) -> Unsigned<'a> {
        Unsigned {
            service: "lambda",
            method: Method::POST,
            region,
            origin,
            path,
            headers: &[],
            body: Bytes::from_static(b"{}"),
        }
    }

    fn signer(variables: &'static [(&str, &str)]) -> Signer {
        let mut signer = Signer::new(
            &SdkConfig::builder().build(),
            &Environment::new(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            }),
        );
        let credentials = Credentials::new("AKID", "the-secret", Some("the-token".into()), None, "test");
        signer.credentials = Some(SharedCredentialsProvider::new(credentials));
        signer
    }

    #[tokio::test]
    async fn the_endpoint_is_the_variables_else_the_targets_else_the_regions() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let plain = signer(&[]);
        let uri = |request: Result<Request<_>, SignError>| request.unwrap().uri().to_string();
        let region = Some("eu-west-1");
        assert_eq!(
            uri(plain.sign(&call("/x", region, None), now).await),
            "https://lambda.eu-west-1.amazonaws.com/x"
        );
        assert_eq!(
            uri(plain.sign(&call("/x", Some("cn-north-1"), None), now).await),
            "https://lambda.cn-north-1.amazonaws.com.cn/x"
        );
        let origin = Some("https://queue.example");
        assert_eq!(
            uri(plain.sign(&call("/x", region, origin), now).await),
            "https://queue.example/x"
        );
        let local = signer(&[("AWS_ENDPOINT_URL_LAMBDA", "http://127.0.0.1:4566/")]);
        assert_eq!(
            uri(local.sign(&call("/x", region, origin), now).await),
            "http://127.0.0.1:4566/x"
        );
        assert!(matches!(
            plain.sign(&call("/x", None, None), now).await,
            Err(SignError::Region)
        ));
        assert!(matches!(
            Signer::new(&SdkConfig::builder().build(), &Environment::new(|_| None))
                .sign(&call("/x", region, None), now)
                .await,
            Err(SignError::Credentials(_))
        ));
    }

    #[tokio::test]
    async fn a_signature_covers_the_request_and_shows_no_secret() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let signer = signer(&[]);
        let request = signer
            .sign(&call("/x%3Ay", Some("eu-west-1"), None), now)
            .await
            .unwrap();
        let header = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("x-amz-date"), "20270115T080000Z");
        assert_eq!(header("x-amz-security-token"), "the-token");
        let authorization = header("authorization");
        assert!(
            authorization
                .starts_with("AWS4-HMAC-SHA256 Credential=AKID/20270115/eu-west-1/lambda/aws4_request"),
            "{authorization}"
        );
        // As botocore 1.43.106 signs the same request.
        let signature = "Signature=d850118ece5bedb8f407396e9f4daf0a55cbfe427ada0b20c54fc5fb4ff5f9f0";
        assert!(authorization.ends_with(signature), "{authorization}");
        assert!(request.headers()["authorization"].is_sensitive());
        assert_eq!(signer.hidden(), ["the-secret", "the-token"]);
        let shown = format!("{signer:?} {request:?}");
        assert!(
            !shown.contains("the-secret") && !shown.contains("the-token"),
            "{shown}"
        );
        let other = signer
            .sign(&call("/x%3Az", Some("eu-west-1"), None), now)
            .await
            .unwrap();
        assert_ne!(authorization, other.headers()["authorization"].to_str().unwrap());
    }
}
