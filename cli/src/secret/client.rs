//! Which parameter, in which account and Region; and what a call that fails there means.

use std::{error::Error, fmt};

use aws_sdk_ssm::error::{ProvideErrorMetadata, SdkError};

use super::parameter::Parameter;
use crate::aws::{self, LOG_IN};

/// Where the secrets are.
#[derive(Debug, clap::Args)]
pub(super) struct Place {
    /// The stack, whose parameter is /oncehook/NAME/secrets.
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "parameter",
        conflicts_with = "parameter"
    )]
    stack: Option<String>,
    /// The parameter by its own name.
    #[arg(long, value_name = "NAME")]
    parameter: Option<String>,
    /// The stack's Region [default: the profile's, or AWS_REGION].
    #[arg(long)]
    region: Option<String>,
    /// A profile of ~/.aws/config [default: AWS_PROFILE].
    #[arg(long)]
    profile: Option<String>,
}

/// As it was given on the command line.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = [
            ("stack", &self.stack),
            ("parameter", &self.parameter),
            ("region", &self.region),
            ("profile", &self.profile),
        ];
        let given: Vec<String> = given
            .into_iter()
            .filter_map(|(flag, value)| Some(format!("--{flag} {}", value.as_ref()?)))
            .collect();
        f.write_str(&given.join(" "))
    }
}

impl Place {
    pub(super) async fn parameter(&self, key: Option<String>) -> Parameter {
        let name = match (&self.parameter, &self.stack) {
            (Some(name), _) => name.clone(),
            (None, stack) => format!("/oncehook/{}/secrets", stack.as_deref().unwrap_or_default()),
        };
        let aws = aws::settings(self.region.as_deref(), self.profile.as_deref()).await;
        Parameter::new(aws_sdk_ssm::Client::new(&aws), name, key)
    }
}

/// What went wrong, and what to do. Nothing of an answer but its code and message goes into it.
pub(super) fn explain<E>(error: &SdkError<E>, doing: &str) -> anyhow::Error
where
    E: ProvideErrorMetadata + Error + 'static,
{
    if let SdkError::ServiceError(service) = error {
        let code = service.err().code().unwrap_or("an error without a code");
        let message = service.err().message().unwrap_or_default();
        let remedy = match code {
            "AccessDeniedException" => {
                "\nYou need ssm:GetParameter, ssm:PutParameter and ssm:DescribeParameters, and kms:Encrypt and kms:Decrypt if \
                 the parameter has a key of its own."
            }
            "ExpiredTokenException"
            | "ExpiredToken"
            | "UnrecognizedClientException"
            | "InvalidClientTokenId" => LOG_IN,
            _ => "",
        };
        return anyhow::anyhow!("{doing}: {code}: {message}{remedy}");
    }
    let mut causes = Vec::new();
    if !matches!(error, SdkError::ResponseError(_)) {
        let mut cause = error.source();
        while let Some(one) = cause {
            causes.push(one.to_string());
            cause = one.source();
        }
    }
    let causes = causes.join(": ");
    let remedy = match causes.to_lowercase() {
        text if text.contains("region") => "\nNo Region: give --region, or set AWS_REGION.",
        text if text.contains("credential") || text.contains("token") || text.contains("sso") => LOG_IN,
        _ => "",
    };
    anyhow::anyhow!("{doing}: {error}: {causes}{remedy}")
}
