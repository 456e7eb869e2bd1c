//! The function's own credentials are in no stored item and no line of the log, even if a service repeats them.

use aws_config::{Region, SdkConfig};
use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use oncehook_edge::{Environment, Secrets, Signer};
use oncehook_local::{
    lines,
    services::{Next, Services},
};
use tracing::Level;

use crate::planned::{Planned, config};

const SECRET: &str = "wJalrXUtnFEMI-not-to-be-seen";
const TOKEN: &str = "FwoGZXIvYXdzEJr-not-to-be-seen";

fn signer(endpoint: &str) -> Signer {
    let credentials = Credentials::new("AKIDEXAMPLE", SECRET, Some(TOKEN.into()), None, "test");
    let config = SdkConfig::builder()
        .region(Region::new("eu-central-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build();
    Signer::new(&config, &Environment::new(|_| None))
}

#[tokio::test]
async fn credentials_that_a_service_repeats_are_kept_and_logged_nowhere() {
    lines::start(Level::TRACE);
    let echo = format!("you sent {SECRET} and x-amz-security-token:{TOKEN}");
    let queue = "kind = \"sqs\"\nqueue = \"https://sqs.eu-central-1.amazonaws.com/123456789012/orders\"";
    let mut looked_at = 0;
    for destination in [queue, "kind = \"lambda\"", "kind = \"eventbridge\""] {
        for (status, name) in [
            (403, "SignatureDoesNotMatch"),
            (403, "AccessDenied"),
            (400, "InvalidParameterValue"),
            (429, "ThrottlingException"),
            (500, "InternalFailure"),
            (503, TOKEN),
        ] {
            let services = Services::start(None).unwrap();
            services.next(Next::Error(status, name.to_owned(), echo.clone()));
            let config = config(destination, "body = '{}'");
            let signer = signer(&services.endpoint());
            let planned = Planned::commit(&config, b"{}", None, Secrets::default(), signer)
                .await
                .unwrap();
            planned.wake().await;
            let request = &services.received()[0];
            assert_eq!(request.header("x-amz-security-token"), Some(TOKEN), "it was used");
            let stored = planned.stored().await;
            assert!(
                stored.contains("last_error") || stored.contains("reason"),
                "{stored}"
            );
            for secret in [SECRET, TOKEN] {
                assert!(!stored.contains(secret), "{name}: {stored}");
            }
            looked_at += 1;
        }
    }
    assert_eq!(looked_at, 18);
    let log = lines::take();
    assert!(log.contains("\"attempt\""), "{log}");
    for secret in [SECRET, TOKEN] {
        assert_eq!(log.lines().find(|line| line.contains(secret)), None);
    }
}
