//! Bounds on what is looked at before a signature is checked: headers, and what a compressed body expands to.
//!
//! The size of bodies as they come is the edge's matter.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};

use super::VerifyError;
use crate::request::SignedRequest;

/// Several times what providers, gateways and CDNs add up to.
const MAX_HEADERS: usize = 100;
/// API Gateway lets 10 KB through.
const MAX_HEADER_BYTES: usize = 32 * 1024;

pub(super) fn headers(request: &SignedRequest) -> Result<(), VerifyError> {
    let size: usize = request
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if request.headers.len() > MAX_HEADERS || size > MAX_HEADER_BYTES {
        return Err(VerifyError::HeadersTooLarge);
    }
    Ok(())
}

/// The request with its body expanded, if it is compressed with gzip.
pub(super) fn expanded(request: &SignedRequest, max: usize) -> Result<Option<SignedRequest>, VerifyError> {
    let gzip = request.header("content-encoding").is_some_and(|coding| {
        ["gzip", "x-gzip"]
            .iter()
            .any(|name| coding.trim().eq_ignore_ascii_case(name))
    });
    if !gzip {
        return Ok(None);
    }
    let mut body = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    let read = MultiGzDecoder::new(&*request.body)
        .take(limit)
        .read_to_end(&mut body);
    if read.is_err() || body.len() > max {
        return Err(VerifyError::TooLarge);
    }
    let mut expanded = request.clone();
    expanded.body = Bytes::from(body);
    expanded.headers.remove(CONTENT_ENCODING);
    expanded.headers.remove(CONTENT_LENGTH);
    Ok(Some(expanded))
}
