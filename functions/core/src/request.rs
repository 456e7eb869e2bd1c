//! A webhook request as it came over the wire, before anything about it is believed.

use std::net::IpAddr;

use bytes::Bytes;
use http::{HeaderMap, Method};

/// One HTTP request that claims to come from a provider. Nothing in it has been checked.
#[derive(Debug, Clone)]
pub struct SignedRequest {
    /// The HTTP method.
    pub method: Method,
    /// The path and query as the function saw them; behind a gateway or CDN not what the provider signed.
    pub path_and_query: String,
    /// The headers; names are case-insensitive, values may be any bytes.
    pub headers: HeaderMap,
    /// The body exactly as received, base64 of the gateway undone, never decoded to text.
    pub body: Bytes,
    /// The address the request came from, where the gateway says it.
    pub source_ip: Option<IpAddr>,
}

impl SignedRequest {
    /// The value of a header that is present, once, and text. Several of one name are joined by commas,
    /// as API Gateway joins them.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let values: Option<Vec<&str>> = self
            .headers
            .get_all(name)
            .iter()
            .map(|value| value.to_str().ok())
            .collect();
        values
            .filter(|values| !values.is_empty())
            .map(|values| values.join(","))
    }
}
