//! The event of an API Gateway HTTP API, payload format 2.0, for one request.
//!
//! It reads no clock and makes no ids: the same arguments give the same JSON, so fixtures can be made with it.

use std::{collections::BTreeMap, net::IpAddr};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderMap, Request, Version, header};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The event that API Gateway sends for `request` to the route `ANY /webhooks/{source}`.
#[must_use]
pub fn event_json(
    request: &Request<Bytes>,
    source: &str,
    source_ip: IpAddr,
    now: Timestamp,
    request_id: &str,
) -> Value {
    let headers = request.headers();
    let text = |name| {
        headers
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let domain = text(header::HOST).unwrap_or_else(|| "localhost".to_owned());
    // On AWS the API's id is the first label of its own domain.
    let api = match domain.split_once('.') {
        Some((api, rest)) if rest.starts_with("execute-api.") => api,
        _ => "local",
    };
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    let mut event = json!({
        "version": "2.0",
        "routeKey": "ANY /webhooks/{source}",
        "rawPath": path,
        "rawQueryString": query,
        "headers": joined(headers),
        "requestContext": {
            "accountId": "123456789012",
            "apiId": api,
            "domainName": domain,
            "domainPrefix": api,
            "http": {
                "method": request.method().as_str(),
                "path": path,
                "protocol": protocol(request.version()),
                "sourceIp": source_ip.to_string(),
                "userAgent": text(header::USER_AGENT).unwrap_or_default(),
            },
            "requestId": request_id,
            "routeKey": "ANY /webhooks/{source}",
            "stage": "$default",
            "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string(),
            "timeEpoch": now.as_millisecond(),
        },
        "pathParameters": { "source": source },
        "isBase64Encoded": false,
    });
    if !query.is_empty() {
        let pairs = form_urlencoded::parse(query.as_bytes());
        event["queryStringParameters"] = json!(by_name(pairs.into_owned()));
    }
    let cookies = cookies(headers);
    if !cookies.is_empty() {
        event["cookies"] = json!(cookies);
    }
    let body = request.body();
    if !body.is_empty() {
        let readable = std::str::from_utf8(body).ok().filter(|_| is_text(headers));
        event["isBase64Encoded"] = json!(readable.is_none());
        event["body"] = match readable {
            Some(text) => json!(text),
            None => json!(BASE64_STANDARD.encode(body)),
        };
    }
    event
}

/// Values of one name, joined with commas in their order.
fn by_name(pairs: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let mut joined = BTreeMap::<String, String>::new();
    for (name, value) in pairs {
        match joined.get_mut(&name) {
            Some(values) => {
                values.push(',');
                values.push_str(&value);
            }
            None => drop(joined.insert(name, value)),
        }
    }
    joined
}

/// The headers, without the cookies, which have a place of their own.
fn joined(headers: &HeaderMap) -> BTreeMap<String, String> {
    let others = headers.iter().filter(|(name, _)| *name != header::COOKIE);
    by_name(others.map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    }))
}

fn cookies(headers: &HeaderMap) -> Vec<String> {
    let lines = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    let cookies = lines.flat_map(|line| line.split(';')).map(str::trim);
    cookies
        .filter(|cookie| !cookie.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Whether API Gateway passes a body of this type as text. Everything else is base64, no type included.
fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    let kind = kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let plain = ["application/json", "application/xml", "application/javascript"];
    !headers.contains_key(header::CONTENT_ENCODING)
        && (kind.starts_with("text/") || plain.contains(&kind.as_str()))
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}
