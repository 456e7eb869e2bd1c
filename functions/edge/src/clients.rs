//! Clients of AWS: rustls with ring as the one TLS stack, no retries of their own (the ledger retries within its
//! caller's deadline), one second for an attempt.

use std::{collections::BTreeMap, time::Duration};

use aws_config::{
    BehaviorVersion, Region, SdkConfig, environment::EnvironmentVariableCredentialsProvider,
    retry::RetryConfig, stalled_stream_protection::StalledStreamProtectionConfig, timeout::TimeoutConfig,
};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_types::{
    sdk_config,
    service_config::{LoadServiceConfig, ServiceConfigKey},
};

use crate::{connector, environment::Environment};

/// The longest that one call to AWS may take.
const ATTEMPT: Duration = Duration::from_secs(1);

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(ATTEMPT)
        .operation_attempt_timeout(ATTEMPT)
        .build()
}

/// What all clients of a function have in common. Lambda gives credentials, Region and endpoints by the environment: no
/// file, metadata service or STS is asked, so that none of them is part of the binary.
pub(crate) fn of_environment(environment: &Environment) -> SdkConfig {
    let set = |name: &str| environment.get(name).filter(|value| !value.trim().is_empty());
    let switch = |name: &str| set(name).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    let region = set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION"));
    let endpoints = Endpoints::read(environment);
    let mut config = common()
        .region(region.map(Region::new))
        .credentials_provider(SharedCredentialsProvider::new(
            EnvironmentVariableCredentialsProvider::new(),
        ))
        .use_fips(switch("AWS_USE_FIPS_ENDPOINT"))
        .use_dual_stack(switch("AWS_USE_DUALSTACK_ENDPOINT"))
        .service_config(endpoints);
    config.set_endpoint_url(set(ENDPOINT));
    config.build()
}

/// What clients have in common on a person's machine: whatever AWS's own command line would take.
pub async fn aws() -> SdkConfig {
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(connector::client())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts())
        .load()
        .await
}

/// The variable with the endpoint of all services; with `_` and the name of a service that of one.
const ENDPOINT: &str = "AWS_ENDPOINT_URL";

/// The endpoints of single services. <https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html>
#[derive(Debug)]
struct Endpoints(BTreeMap<&'static str, String>);

impl Endpoints {
    fn read(environment: &Environment) -> Self {
        let of = |service| {
            let url = environment.get(&format!("{ENDPOINT}_{service}"))?;
            (!url.trim().is_empty()).then_some((service, url))
        };
        Self(["DYNAMODB", "SQS", "SSM"].into_iter().filter_map(of).collect())
    }
}

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_ascii_uppercase();
        self.0.get(service.as_str()).cloned()
    }
}

fn common() -> sdk_config::Builder {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(connector::client())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts())
        // An attempt has a limit of its own.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}

/// What clients of a service on this machine have in common; the credentials mean nothing.
pub(crate) fn local(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("local", "local", None, None, "local");
    common()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_region_and_endpoints_and_blank_ones_say_nothing() {
        let of = |variables: &'static [(&str, &str)]| {
            let look = move |name: &str| variables.iter().find(|(known, _)| *known == name);
            of_environment(&Environment::new(move |name| {
                look(name).map(|(_, value)| (*value).to_owned())
            }))
        };
        let key = |service| {
            let key = ServiceConfigKey::builder().service_id(service);
            key.env(ENDPOINT).profile("endpoint_url").build().unwrap()
        };
        let set = of(&[
            ("AWS_REGION", "eu-west-1"),
            ("AWS_ENDPOINT_URL", "http://all"),
            ("AWS_ENDPOINT_URL_DYNAMODB", "http://one"),
            ("AWS_ENDPOINT_URL_SQS", " "),
            ("AWS_USE_FIPS_ENDPOINT", "true"),
        ]);
        assert_eq!(set.region(), Some(&Region::new("eu-west-1")));
        assert_eq!(set.endpoint_url(), Some("http://all"));
        let services = set.service_config().unwrap();
        assert_eq!(
            services.load_config(key("DynamoDB")).as_deref(),
            Some("http://one")
        );
        assert_eq!(services.load_config(key("SQS")), None);
        assert_eq!((set.use_fips(), set.use_dual_stack()), (Some(true), Some(false)));
        let none = of(&[("AWS_DEFAULT_REGION", "eu-west-2"), ("AWS_ENDPOINT_URL", "")]);
        assert_eq!(none.region(), Some(&Region::new("eu-west-2")));
        assert_eq!(none.endpoint_url(), None);
    }
}
