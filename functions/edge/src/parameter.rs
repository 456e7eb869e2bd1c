//! One parameter of Systems Manager, read with decryption. Knows nothing of what stands in it, and never puts any of
//! it, or of an answer, into an error.

use std::time::Duration;

use aws_sdk_ssm::{
    error::{ProvideErrorMetadata, SdkError},
    operation::get_parameter::GetParameterError,
};

/// The pause before the second try at start; each further one may take twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// A parameter by its name.
#[derive(Debug)]
pub(crate) struct Parameter {
    client: aws_sdk_ssm::Client,
    name: String,
}

/// Why it could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("there is no such parameter")]
    Absent,
    #[error("Systems Manager refused: {0}")]
    Denied(String),
    #[error("Systems Manager did not answer in time")]
    Slow,
    #[error("Systems Manager failed: {0}")]
    Failed(String),
}

impl ReadError {
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Absent => "set the first secret with `oncehook secret set`",
            Self::Denied(_) => {
                "allow this function ssm:GetParameter on the parameter, and kms:Decrypt if it has a key of its own"
            }
            Self::Slow | Self::Failed(_) => "none: it is tried again",
        }
    }

    /// Whether another try at once may help.
    fn may_pass(&self) -> bool {
        matches!(self, Self::Slow | Self::Failed(_))
    }
}

impl Parameter {
    pub(crate) fn new(client: aws_sdk_ssm::Client, name: String) -> Self {
        Self { client, name }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) async fn read(&self) -> Result<String, ReadError> {
        let request = self.client.get_parameter().name(&self.name).with_decryption(true);
        let answer = request.send().await.map_err(|error| read_error(&error))?;
        answer
            .parameter
            .and_then(|parameter| parameter.value)
            .ok_or_else(|| ReadError::Failed("an answer without a value".to_owned()))
    }

    /// Reads, again where that may help, with pauses of random length: many functions start at the same moment.
    pub(crate) async fn read_with_retries(&self, tries: u32) -> Result<String, ReadError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..tries {
            match self.read().await {
                Err(error) if error.may_pass() => {
                    tracing::warn!(parameter = %self.name, %error, "reading the secrets again");
                }
                read => return read,
            }
            tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            pause *= 2;
        }
        self.read().await
    }
}

fn read_error(error: &SdkError<GetParameterError>) -> ReadError {
    match error {
        SdkError::ServiceError(service) if service.err().is_parameter_not_found() => ReadError::Absent,
        SdkError::ServiceError(service) => {
            let code = service.err().code().unwrap_or("no code");
            let text = format!("{code}: {}", service.err().message().unwrap_or("no message"));
            match code {
                "AccessDeniedException" | "InvalidKeyId" | "UnrecognizedClientException" => {
                    ReadError::Denied(text)
                }
                _ => ReadError::Failed(text),
            }
        }
        SdkError::TimeoutError(_) => ReadError::Slow,
        SdkError::DispatchFailure(failure) => {
            let cause = failure.as_connector_error().map(ToString::to_string);
            ReadError::Failed(format!(
                "no answer: {}",
                cause.as_deref().unwrap_or("no connection")
            ))
        }
        // What was answered may hold the secrets: nothing of it is shown.
        _ => ReadError::Failed("an answer that cannot be read".to_owned()),
    }
}
