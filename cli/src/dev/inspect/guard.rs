//! Who may talk to the page: a browser that shows it from this machine, or a program on this machine. Pure.
//!
//! Another site can send requests here, too, and can even make its own name lead here (DNS rebinding). So: the host must
//! be one that only this machine answers to; a request that comes from another origin is refused; and what changes
//! something must carry a header that another site cannot send without asking first, which is never granted. A request
//! that came through a proxy or tunnel is refused: the webhooks are meant to be reached from outside, the page is not.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};

/// What every request that changes something must carry.
pub(super) const HEADER: HeaderName = HeaderName::from_static("oncehook-inspect");

/// Only files of this origin, no inline script or style, no frame around it, no HTML made of strings.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Host,
    Proxied,
    Origin,
    Method,
    Header,
    ContentType,
}

impl Refusal {
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Host | Self::Proxied | Self::Origin | Self::Header => StatusCode::FORBIDDEN,
        }
    }

    /// For people.
    pub(super) const fn why(self) -> &'static str {
        match self {
            Self::Host => "this page is shown at localhost or 127.0.0.1 only: open it by one of these names",
            Self::Proxied => {
                "this page is not shown through a proxy or tunnel: open it on the machine it runs on"
            }
            Self::Origin => "another site asked for this",
            Self::Method => "GET or POST",
            Self::Header => "a request that changes something needs the header `Oncehook-Inspect: 1`",
            Self::ContentType => "send JSON, as application/json",
        }
    }
}

/// Whether a request may be answered.
pub(super) fn admit(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    let only = |name: HeaderName| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    let host = only(header::HOST)
        .filter(|host| is_loopback(host))
        .ok_or(Refusal::Host)?;
    let forwarded =
        |name: &HeaderName| name == header::FORWARDED || name.as_str().starts_with("x-forwarded-");
    if headers.keys().any(forwarded) {
        return Err(Refusal::Proxied);
    }
    if headers.contains_key(header::ORIGIN)
        && only(header::ORIGIN).is_none_or(|origin| origin != format!("http://{host}"))
    {
        return Err(Refusal::Origin);
    }
    // A link from elsewhere may open the page itself; nothing else is for others.
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let opened = headers
        .get("sec-fetch-mode")
        .is_some_and(|mode| mode == "navigate");
    if site.is_some_and(|site| site != b"same-origin" && site != b"none")
        && !(opened && method == Method::GET)
    {
        return Err(Refusal::Origin);
    }
    if method == Method::GET {
        return Ok(());
    }
    if method != Method::POST {
        return Err(Refusal::Method);
    }
    if only(HEADER) != Some("1") {
        return Err(Refusal::Header);
    }
    let json = only(header::CONTENT_TYPE).is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("application/json")
    });
    if json { Ok(()) } else { Err(Refusal::ContentType) }
}

/// Whether a `Host` can only mean this machine; at any port, as one may be forwarded with `ssh -L`.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "127.0.0.1" | "[::1]") || name.eq_ignore_ascii_case("localhost")
}

/// An answer that a browser takes for what it is, keeps nowhere and lends to nobody.
pub(super) fn response(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: &Method, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::try_from(*name).unwrap(),
                HeaderValue::try_from(*value).unwrap(),
            );
        }
        admit(method, &map)
    }

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        for host in [
            "localhost",
            "localhost:3000",
            "LOCALHOST:1",
            "127.0.0.1:3000",
            "[::1]:3000",
        ] {
            assert_eq!(ask(&Method::GET, &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:3000",
            "localhost.evil.example",
            "127.0.0.1.evil.example:3000",
            "localhost:3000:1",
            "localhost@evil.example",
            "",
            "0.0.0.0:3000",
        ] {
            assert_eq!(ask(&Method::GET, &[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(ask(&Method::GET, &[]), Err(Refusal::Host));
        let two = [("host", "localhost:3000"), ("host", "evil.example")];
        assert_eq!(ask(&Method::GET, &two), Err(Refusal::Host));
    }

    #[test]
    fn what_changes_something_comes_from_the_page_with_the_header_and_json() {
        let host = ("host", "localhost:3000");
        let header = ("oncehook-inspect", "1");
        let json = ("content-type", "application/json; charset=utf-8");
        let own = ("origin", "http://localhost:3000");
        assert_eq!(ask(&Method::POST, &[host, header, json, own]), Ok(()));
        assert_eq!(ask(&Method::POST, &[host, header, json]), Ok(()));
        assert_eq!(ask(&Method::POST, &[host, json, own]), Err(Refusal::Header));
        assert_eq!(
            ask(&Method::POST, &[host, header, own]),
            Err(Refusal::ContentType)
        );
        let text = ("content-type", "text/plain");
        assert_eq!(
            ask(&Method::POST, &[host, header, text]),
            Err(Refusal::ContentType)
        );
        for origin in [
            "http://localhost:8080",
            "https://localhost:3000",
            "http://evil.example",
            "null",
        ] {
            let asked = [host, header, json, ("origin", origin)];
            assert_eq!(ask(&Method::POST, &asked), Err(Refusal::Origin), "{origin}");
        }
        assert_eq!(ask(&Method::PUT, &[host, header, json]), Err(Refusal::Method));
        assert_eq!(ask(&Method::OPTIONS, &[host]), Err(Refusal::Method));
    }

    #[test]
    fn other_sites_may_link_to_the_page_and_read_nothing() {
        let host = ("host", "localhost:3000");
        let other = ("sec-fetch-site", "cross-site");
        assert_eq!(
            ask(&Method::GET, &[host, other, ("sec-fetch-mode", "navigate")]),
            Ok(())
        );
        assert_eq!(
            ask(&Method::GET, &[host, other, ("sec-fetch-mode", "no-cors")]),
            Err(Refusal::Origin)
        );
        assert_eq!(
            ask(&Method::GET, &[host, ("sec-fetch-site", "same-site")]),
            Err(Refusal::Origin)
        );
        assert_eq!(
            ask(&Method::GET, &[host, ("x-forwarded-for", "1.2.3.4")]),
            Err(Refusal::Proxied)
        );
    }
}
