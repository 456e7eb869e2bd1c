//! Why a request is not believed: the cause for logs, and the status, which says no more than it must.

use super::scheme::Scheme;

/// Why a request is not believed. For logs; the sender learns nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// No signature header, or an empty one.
    #[error("the request has no signature")]
    MissingSignature,
    /// The signature header, or one that is signed with it, is not built as the provider builds it.
    #[error("the signature header is malformed")]
    MalformedHeader,
    /// The id is signed and absent.
    #[error("the request has no id")]
    MissingId,
    /// A header that is signed is absent.
    #[error("a header that is signed is missing")]
    MissingHeader,
    /// The time of signing is absent.
    #[error("the request has no timestamp")]
    MissingTimestamp,
    /// The time of signing is not a whole number.
    #[error("the timestamp is not a number")]
    BadTimestamp,
    /// Genuine once: signed longer ago than the tolerance.
    #[error("the timestamp is too old")]
    TooOld,
    /// Genuine, but signed for later than the tolerance allows.
    #[error("the timestamp is in the future")]
    InFuture,
    /// No signature matches under any secret.
    #[error("no signature matches")]
    Mismatch,
    /// The provider never sends an empty body.
    #[error("the body is empty")]
    EmptyBody,
    /// The source has no secret to verify with.
    #[error("the source has no secret")]
    NoSecret,
    /// The signature is not built as such signatures are.
    #[error("the signature is malformed")]
    MalformedSignature,
    /// The signature is in the body, and the body is not built as the provider builds it.
    #[error("the body is malformed")]
    MalformedPayload,
    /// The body's hash is signed in its place, and is absent.
    #[error("the request does not name the hash of its body")]
    MissingBodyHash,
    /// The body is not the one whose hash is signed.
    #[error("the body is not the one whose hash is signed")]
    BodyHashMismatch,
    /// The provider's public key is not at hand.
    #[error("the provider's public key is not known")]
    NoKey,
    /// More headers, or longer ones, than any provider sends.
    #[error("the headers are too many or too long")]
    HeadersTooLarge,
    /// More signatures than any provider sends.
    #[error("there are too many signatures")]
    TooManySignatures,
    /// The body is compressed and too large when expanded, or does not expand.
    #[error("the compressed body does not expand to one of a size that is allowed")]
    TooLarge,
}

impl VerifyError {
    /// The cause for logs and metrics, in snake case.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::MissingSignature => "missing_signature",
            Self::MalformedHeader | Self::BadTimestamp => "malformed_header",
            Self::MissingId => "missing_id",
            Self::MissingHeader => "missing_header",
            Self::MissingTimestamp => "missing_timestamp",
            Self::TooOld => "timestamp_too_old",
            Self::InFuture => "timestamp_in_future",
            Self::Mismatch => "signature_mismatch",
            Self::EmptyBody => "empty_body",
            Self::NoSecret => "no_secret",
            Self::MalformedSignature => "malformed_signature",
            Self::MalformedPayload => "malformed_payload",
            Self::MissingBodyHash => "missing_body_hash",
            Self::BodyHashMismatch => "body_hash_mismatch",
            Self::NoKey => "no_key",
            Self::HeadersTooLarge => "headers_too_large",
            Self::TooManySignatures => "too_many_signatures",
            Self::TooLarge => "expanded_body_too_large",
        }
    }

    /// The HTTP status that says no more than it must.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::NoSecret | Self::NoKey => 503,
            Self::HeadersTooLarge => 431,
            Self::TooManySignatures | Self::MalformedPayload => 400,
            Self::TooLarge => 413,
            _ => 401,
        }
    }

    /// Where to look first. For the log, as the cause is.
    #[must_use]
    pub fn likely(&self, scheme: &Scheme) -> &'static str {
        match self {
            Self::Mismatch if scheme.signs_url() => {
                "another secret, `public_url` is not the URL that the provider was told, or the body was written anew"
            }
            Self::Mismatch => "another secret, or the body was written anew on the way",
            Self::BodyHashMismatch => "the body was written anew on the way",
            Self::MissingBodyHash => "the query of the URL was cut on the way",
            Self::TooOld | Self::InFuture => {
                "a wrong clock, a queue in front, or a request sent again by somebody else"
            }
            Self::NoSecret => "the secret is not set",
            Self::NoKey => "the provider's API did not hand out its key",
            _ => "another scheme, or headers were dropped or changed on the way",
        }
    }
}
