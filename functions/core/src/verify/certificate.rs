//! Certificates that a provider signs under and says where to find: AWS SNS, PayPal.
//!
//! A certificate is believed because of where it is from: its URL has to be one of the provider's own, and it is fetched
//! over TLS. What the provider's libraries look at besides is looked at here: whom it names, and that it is in force. Its
//! issuer's signature is not: the issuer's certificate is not handed out with it. Fetches nothing.

use der::{Decode as _, DecodePem as _};
use jiff::Timestamp;
use x509_cert::Certificate;

use super::{VerifyError, signed::Location, view::View};

/// Where a provider's certificates are, and whom they name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Issued {
    /// Where a request says where its certificate is: a JSON Pointer, or `header:NAME`.
    pub(super) url: &'static str,
    /// The hosts.
    pub(super) hosts: &'static [Host],
    /// How the path begins and ends.
    pub(super) path: (&'static str, &'static str),
    /// How the name of the certificate's subject may end.
    pub(super) subjects: &'static [&'static str],
}

/// A host of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host {
    /// This one.
    Named(&'static str),
    /// One for each Region of AWS, with this before and this after the Region.
    Regional(&'static str, &'static str),
}

impl Host {
    fn is(self, host: &str) -> bool {
        match self {
            Self::Named(name) => host == name,
            Self::Regional(before, after) => host
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .is_some_and(is_region),
        }
    }
}

impl Issued {
    /// The URL of a request's certificate.
    ///
    /// # Errors
    /// When there is none, or it is not one of the provider's.
    pub(super) fn url(&self, view: &View<'_>) -> Result<String, VerifyError> {
        let place = match self.url.strip_prefix("header:") {
            Some(name) => Location::Header(name.to_owned()),
            None => Location::Pointer(self.url.to_owned()),
        };
        let url = view.strict(&[place])?.ok_or(VerifyError::MissingSignature)?;
        // A file: not an answer of the provider's API that could repeat what it was asked.
        let is_file = |path: &str| {
            path.starts_with(self.path.0)
                && path.ends_with(self.path.1)
                && !path.contains(['?', '%'])
                && !path.contains("..")
        };
        match self.path_of(&url).is_some_and(is_file) {
            true => Ok(url),
            false => Err(VerifyError::MalformedHeader),
        }
    }

    /// The path of a URL on one of the provider's hosts.
    pub(super) fn path_of<'a>(&self, url: &'a str) -> Option<&'a str> {
        let rest = url.strip_prefix("https://")?;
        let slash = rest.find('/')?;
        let (host, path) = rest.split_at(slash);
        let ours = self.hosts.iter().any(|ours| ours.is(host));
        let plain = url
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\' && byte != b'#');
        (ours && plain).then_some(path)
    }

    /// The key of a certificate that the user gave: it need not be in force any more.
    pub(super) fn pinned(&self, pem: &[u8]) -> Option<Vec<u8>> {
        let certificate = Certificate::from_pem(pem).ok()?;
        let key = &certificate
            .tbs_certificate()
            .subject_public_key_info()
            .subject_public_key;
        key.as_bytes().map(<[u8]>::to_vec)
    }

    /// The RSA key of a certificate (PEM), as PKCS #1 writes it; none if it is not the provider's, or not in force.
    pub(super) fn key(&self, pem: &[u8], now: Timestamp) -> Option<Vec<u8>> {
        let certificate = Certificate::from_pem(pem)
            .or_else(|_| Certificate::from_der(pem))
            .ok()?;
        let inner = certificate.tbs_certificate();
        let validity = inner.validity();
        let now = now.as_second();
        let second = |time: &x509_cert::time::Time| i64::try_from(time.to_unix_duration().as_secs()).ok();
        let in_force = second(&validity.not_before)? <= now && now <= second(&validity.not_after)?;
        let subject = inner.subject().common_name().ok()??;
        let names_it = self.subjects.iter().any(|end| subject.value().ends_with(end));
        let key = inner.subject_public_key_info().subject_public_key.as_bytes()?;
        (in_force && names_it).then(|| key.to_vec())
    }
}

/// Whether a label has the shape of a Region, such as eu-central-1 or us-gov-west-1. Anything else may be somebody's:
/// sns.s3.amazonaws.com and sns.s3-us-west-2.amazonaws.com are buckets.
fn is_region(label: &str) -> bool {
    let mut parts = label.split('-');
    let letters = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let area = parts.next().is_some_and(|part| part.len() == 2 && letters(part));
    let number = parts.next_back().is_some_and(digits);
    let names: Vec<&str> = parts.collect();
    area && number && !names.is_empty() && names.into_iter().all(letters)
}
