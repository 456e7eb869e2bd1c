//! What an answer of SQS, Lambda or EventBridge says about the effect. Pure; reads nothing from the network.
//!
//! From the services' API references and the errors that their models list (botocore 1.43.106). Lambda: "Error codes are
//! reserved for errors that prevent your function from executing", so an error by name did nothing, while a function
//! that failed answers 200 and may have acted. <https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html>

use http::response::Parts;
use jiff::Timestamp;
use oncehook_core::{config::Kind, settle::Attempt};
use serde_json::Value;

use crate::retry_after::retry_after;

/// An answer as far as it was read.
pub(super) struct Answer<'a> {
    pub(super) kind: &'a Kind,
    /// The queue, function or bus.
    pub(super) target: &'a str,
    pub(super) head: &'a Parts,
    pub(super) text: &'a [u8],
    pub(super) now: Timestamp,
}

/// What an error says, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// Our rights to it, or our credentials, are at fault.
    Denied,
    /// It is not there, or in no state to take anything.
    Broken,
    /// Nothing was done for now.
    Busy,
    /// It will never take this message.
    Refused,
    /// Nobody knows.
    Uncertain,
}

const DENIED: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "IncompleteSignatureException",
    "InvalidAccountIdException",
    "InvalidClientTokenId",
    "InvalidSecurity",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "NotAuthorized",
    "NotAuthorizedForDetailTypeException",
    "NotAuthorizedForSourceException",
    "OptInRequired",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
    "EC2AccessDeniedException",
    "KMSAccessDeniedException",
    "KmsAccessDenied",
];

const BROKEN: &[&str] = &[
    "QueueDoesNotExist",
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDeletedRecently",
    "InvalidAddress",
    "UnsupportedOperation",
    "ResourceNotFoundException",
    "NoPublishedVersionException",
    "EC2UnexpectedException",
    "EFSIOException",
    "EFSMountFailureException",
    "InvalidRuntimeException",
    "InvalidSecurityGroupIDException",
    "InvalidSubnetIDException",
    "InvalidZipFileException",
    "KMSDisabledException",
    "KMSInvalidStateException",
    "KMSNotFoundException",
    "KmsDisabled",
    "KmsInvalidKeyUsage",
    "KmsInvalidState",
    "KmsNotFound",
    "KmsOptInRequired",
    "S3FilesMountFailureException",
    "ServiceQuotaExceededException",
    "SnapStartException",
    "SnapStartRegenerationFailureException",
];

const BUSY: &[&str] = &[
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "KmsThrottled",
    "EC2ThrottledException",
    "ENILimitReachedException",
    "ENINotReadyException",
    "EFSMountConnectivityException",
    "EFSMountTimeoutException",
    "ResourceConflictException",
    "ResourceNotReadyException",
    "S3FilesMountConnectivityException",
    "S3FilesMountTimeoutException",
    "SnapStartNotReadyException",
    "SnapStartTimeoutException",
    "SubnetIPAddressLimitReachedException",
];

impl Answer<'_> {
    /// What it means; `shorten` makes one short line of a text, without secrets.
    pub(super) fn attempt(&self, shorten: impl Fn(&str) -> String) -> Attempt {
        let status = self.head.status.as_u16();
        let text = String::from_utf8_lossy(self.text);
        if !self.head.status.is_success() {
            let body: Value = serde_json::from_slice(self.text).unwrap_or_default();
            let name = self.error_name(&body);
            let message = body["message"].as_str().or_else(|| body["Message"].as_str());
            let says = name
                .as_deref()
                .map_or_else(|| by_status(status), |name| by_name(name, status));
            let name = name.unwrap_or_else(|| status.to_string());
            return self.means(says, &name, message.unwrap_or_default(), shorten);
        }
        match self.kind {
            Kind::Lambda => match self.header("x-amz-function-error") {
                Some(how) => Attempt::Ambiguous {
                    status: None,
                    retry_after: None,
                    detail: shorten(&format!("the function failed ({how}): {text}")),
                },
                None => Attempt::Delivered { status },
            },
            Kind::EventBridge { .. } => self.of_bus(shorten),
            Kind::Sqs { .. } | Kind::Http => Attempt::Delivered { status },
        }
    }

    /// 200 says that the request was read; whether the event was taken stands in the body.
    fn of_bus(&self, shorten: impl Fn(&str) -> String) -> Attempt {
        let status = self.head.status.as_u16();
        let body: Value = serde_json::from_slice(self.text).unwrap_or_default();
        let entry = &body["Entries"][0];
        match (entry["EventId"].as_str(), entry["ErrorCode"].as_str()) {
            (Some(_), None) => Attempt::Delivered { status },
            (_, Some(name)) => {
                let message = entry["ErrorMessage"].as_str().unwrap_or_default();
                self.means(by_name(name, 400), name, message, shorten)
            }
            (None, None) => Attempt::Ambiguous {
                status: Some(status),
                retry_after: None,
                detail: "the answer does not say whether the event was taken".to_owned(),
            },
        }
    }

    fn means(&self, says: Says, name: &str, message: &str, shorten: impl Fn(&str) -> String) -> Attempt {
        let status = self.head.status.as_u16();
        let retry_after = retry_after(&self.head.headers, self.now);
        // Errors about signatures repeat what was signed.
        let message = if name.contains("Signature") { "" } else { message };
        let line = |advice: &str| {
            let mut line = shorten(&format!("{name} {message}"));
            line.push_str(advice);
            line
        };
        match says {
            Says::Denied => Attempt::Unusable {
                detail: line(&format!(
                    "; drain's role needs {} on {}",
                    self.kind.action().unwrap_or_default(),
                    self.target
                )),
            },
            Says::Broken => Attempt::Unusable {
                detail: line(&format!("; see to {}", self.target)),
            },
            Says::Busy => Attempt::Throttled { retry_after },
            Says::Refused => Attempt::Refused {
                status,
                detail: line(""),
            },
            Says::Uncertain => Attempt::Ambiguous {
                status: Some(status),
                retry_after,
                detail: line(""),
            },
        }
    }

    /// `X-Amzn-ErrorType: Name:http://..`, or `"__type": "namespace#Name"`.
    fn error_name(&self, body: &Value) -> Option<String> {
        let told = self.header("x-amzn-errortype");
        let name = told
            .or_else(|| body["__type"].as_str())
            .or_else(|| body["code"].as_str())?;
        let name = name.split(':').next()?.rsplit('#').next()?.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '.';
        (!name.is_empty() && name.len() <= 80 && name.chars().all(fits)).then(|| name.to_owned())
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }
}

fn by_name(name: &str, status: u16) -> Says {
    for (names, says) in [(DENIED, Says::Denied), (BROKEN, Says::Broken), (BUSY, Says::Busy)] {
        if names.contains(&name) {
            return says;
        }
    }
    match name {
        "InternalFailure" | "InternalException" | "InternalError" | "ServiceException" => Says::Uncertain,
        _ => by_status(status),
    }
}

fn by_status(status: u16) -> Says {
    match status {
        401 | 403 => Says::Denied,
        404 => Says::Broken,
        408 | 409 | 423 | 425 | 429 => Says::Busy,
        400..=499 => Says::Refused,
        _ => Says::Uncertain,
    }
}

#[cfg(test)]
mod tests;
