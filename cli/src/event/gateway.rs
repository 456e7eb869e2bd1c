//! A request as API Gateway's HTTP API hands it to Ingest. The form is the local gateway's, which tests use as well.

use std::net::{IpAddr, Ipv4Addr};

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, header};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{clock::Clock as _, config::Config};
use oncehook_edge::SystemClock;
use oncehook_local::gateway::event_json;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Args, fixture::Case};
use crate::{configuration, request};

const HOST: &str = "a1b2c3d4e5.execute-api.us-east-1.amazonaws.com";
/// When the fixtures' events happened: the same bytes come again and again.
const CREATED: Timestamp = Timestamp::constant(1_796_083_200, 0);
/// Older than any tolerance that is a default.
const STALE: SignedDuration = SignedDuration::from_mins(10);

/// The event.
pub(super) fn event(config: &Config, name: &str, case: &Case, args: &Args) -> anyhow::Result<Value> {
    let source = configuration::source(config, args.source.as_deref().unwrap_or("stripe"))
        .context("give the source with --source and its event type with --kind")?;
    let at = args.at.unwrap_or_else(|| SystemClock.now());
    let mut options = args.options.clone();
    options.forge |= case.forged;
    if case.stale && options.age.is_zero() {
        options.age = STALE;
    }
    // Asked for something else, the fixture lends its form and not its identity.
    if args.kind.is_none() && options.data.is_none() {
        options.id.get_or_insert_with(|| case.id.to_owned());
        options.created.get_or_insert(CREATED);
    }
    let kind = args.kind.as_deref().unwrap_or(case.kind);
    let (method, mut headers, body, query) = if case.get {
        let mut headers = HeaderMap::new();
        headers.insert(header::USER_AGENT, HeaderValue::from_static("curl/8.14.1"));
        (Method::GET, headers, Bytes::new(), None)
    } else {
        let prepared = request::prepare(source, kind, &options, at)?;
        (Method::POST, prepared.headers, prepared.body, prepared.query)
    };
    if case.base64 || args.base64 {
        let kind = HeaderValue::from_static("application/octet-stream");
        headers.insert(header::CONTENT_TYPE, kind);
    }
    // From where the source's networks allow, if it names any; otherwise from an address of nobody.
    let sender = source
        .networks
        .first()
        .map_or(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7)), |network| {
            network.addr()
        });
    forwarded(&mut headers, sender, at, body.len())?;

    let to = case.to.unwrap_or(&source.name);
    let mut request = Request::new(body);
    *request.method_mut() = method;
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    *request.uri_mut() = format!("/webhooks/{to}{query}")
        .parse()
        .context("the source's name")?;
    *request.headers_mut() = headers;
    Ok(event_json(&request, to, sender, at, &request_id(name)))
}

/// The headers that stand there when a request has come through the gateway.
fn forwarded(headers: &mut HeaderMap, sender: IpAddr, at: Timestamp, length: usize) -> anyhow::Result<()> {
    let trace = format!("Root=1-{:08x}-0123456789abcdef01234567", at.as_second());
    for (name, value) in [
        ("host", HOST),
        ("accept", "*/*"),
        ("content-length", &length.to_string()),
        ("x-amzn-trace-id", &trace),
        ("x-forwarded-for", &sender.to_string()),
        ("x-forwarded-port", "443"),
        ("x-forwarded-proto", "https"),
    ] {
        headers.insert(name, HeaderValue::from_str(value)?);
    }
    Ok(())
}

/// An id in the gateway's form, the same for each run of one fixture.
fn request_id(name: &str) -> String {
    let digest = Sha256::digest(format!("fixture {name}"));
    BASE64_STANDARD.encode(&digest[..11])
}
