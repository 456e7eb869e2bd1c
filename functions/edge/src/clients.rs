//! Clients of AWS: rustls with ring as the one TLS stack, no retries of their own (the ledger retries within its
//! caller's deadline), one second for an attempt.

use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider, SharedHttpClient};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, rustls_provider::CryptoMode},
};

/// The longest that one call to AWS may take.
const ATTEMPT: Duration = Duration::from_secs(1);

fn http() -> SharedHttpClient {
    Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https()
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(ATTEMPT)
        .operation_attempt_timeout(ATTEMPT)
        .build()
}

/// What all clients have in common, with the credentials, Region and endpoints of the environment.
pub async fn aws() -> SdkConfig {
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts())
        .load()
        .await
}

/// What clients of a service on this machine have in common; the credentials mean nothing.
pub(crate) fn local(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("local", "local", None, None, "local");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts())
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build()
}

/// A client of a DynamoDB on this machine.
#[must_use]
pub fn local_dynamodb(endpoint: &str) -> aws_sdk_dynamodb::Client {
    aws_sdk_dynamodb::Client::new(&local(endpoint))
}

/// A client of an SQS on this machine.
#[must_use]
pub fn local_sqs(endpoint: &str) -> aws_sdk_sqs::Client {
    aws_sdk_sqs::Client::new(&local(endpoint))
}

/// A client of a Systems Manager on this machine.
#[must_use]
pub fn local_ssm(endpoint: &str) -> aws_sdk_ssm::Client {
    aws_sdk_ssm::Client::new(&local(endpoint))
}
