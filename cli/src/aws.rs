//! AWS as a person calls it: with a profile and a Region of their choice, retries and patience.

use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, rustls_provider::CryptoMode},
};

/// What to do without credentials.
pub(crate) const LOG_IN: &str = "\nNo usable AWS credentials: give --profile or set AWS_PROFILE, after `aws sso login` if it uses \
    SSO. What `aws` itself can use, this command can, too, after: eval \"$(aws configure export-credentials --format env)\"";

/// Settings of the environment, with this Region and profile where given.
pub(crate) async fn settings(region: Option<&str>, profile: Option<&str>) -> SdkConfig {
    let http = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(Duration::from_secs(10))
        .operation_timeout(Duration::from_secs(30))
        .build();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .retry_config(RetryConfig::standard())
        .timeout_config(timeouts);
    if let Some(region) = region {
        loader = loader.region(Region::new(region.to_owned()));
    }
    if let Some(profile) = profile {
        loader = loader.profile_name(profile);
    }
    loader.load().await
}
