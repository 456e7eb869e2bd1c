//! From the gateway's request to the one that is verified: source from the path parameter, bytes from the body.

use lambda_http::{Body, Request, RequestExt, request::RequestContext};
use oncehook_core::request::SignedRequest;

/// The source's name: the path parameter, or the last segment of the path where there is no route.
pub(crate) fn source_name(request: &Request) -> Option<String> {
    if let Some(name) = request
        .path_parameters_ref()
        .and_then(|parameters| parameters.first("source"))
    {
        return Some(name.to_owned());
    }
    let path = request.raw_http_path();
    path.strip_prefix("/webhooks/")
        .filter(|name| !name.is_empty() && !name.contains('/'))
        .map(str::to_owned)
}

/// The request as it will be verified. The body is moved, never decoded to text.
pub(crate) fn signed(request: Request) -> SignedRequest {
    let source_ip = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context
            .http
            .source_ip
            .as_deref()
            .and_then(|address| address.parse().ok()),
        _ => None,
    };
    let path_and_query = request
        .uri()
        .path_and_query()
        .map_or_else(String::new, ToString::to_string);
    let (parts, body) = request.into_parts();
    let body = match body {
        Body::Text(text) => text.into_bytes().into(),
        Body::Binary(bytes) => bytes.into(),
        _ => bytes::Bytes::new(),
    };
    SignedRequest {
        method: parts.method,
        path_and_query,
        headers: parts.headers,
        body,
        source_ip,
    }
}
