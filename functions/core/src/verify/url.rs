//! The URL that a provider called, in the spellings that its own libraries try.
//!
//! The function sees another host and path than the provider called; scheme, host and path are therefore those of
//! `public_url`, and only the query is the request's.

use super::facts::UrlForms;
use crate::request::SignedRequest;

/// Every spelling that may have been signed; the first is what is signed when requests are made here.
pub(super) fn forms(public: Option<&str>, request: &SignedRequest, forms: UrlForms) -> Vec<String> {
    let called = called(public, request);
    match forms {
        UrlForms::Plain => vec![called],
        UrlForms::HubSpot => with(called, |url| vec![undo_escapes(&url)]),
        UrlForms::Twilio => {
            let ports = with(called, |url| {
                let (start, rest) = after_host(&url);
                let (bare, port) = split_port(start);
                let usual = if url.starts_with("http:") { ":80" } else { ":443" };
                vec![
                    format!("{bare}{}{rest}", port.unwrap_or(usual)),
                    format!("{bare}{rest}"),
                ]
            });
            let mut all = Vec::new();
            for url in ports {
                for url in with(url, |url| match url.split_once('?') {
                    Some((start, query)) => vec![
                        format!("{start}?{}", query.replace('\'', "%27")),
                        format!("{start}?{}", query.replace("%27", "'")),
                    ],
                    None => vec![],
                }) {
                    if !all.contains(&url) {
                        all.push(url);
                    }
                }
            }
            all
        }
    }
}

/// A parameter of the query, as it is written there.
pub(super) fn parameter<'a>(url: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = url.split_once('?')?;
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn called(public: Option<&str>, request: &SignedRequest) -> String {
    let query = request.path_and_query.split_once('?').map(|(_, query)| query);
    match (public, query) {
        (Some(public), Some(query)) => {
            let start = public.split_once('?').map_or(public, |(start, _)| start);
            format!("{start}?{query}")
        }
        (Some(public), None) => public.to_owned(),
        (None, _) => request.path_and_query.clone(),
    }
}

fn with(first: String, others: impl FnOnce(String) -> Vec<String>) -> Vec<String> {
    let mut all = vec![first.clone()];
    for other in others(first) {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all
}

/// Scheme and host, and what follows.
fn after_host(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?']).map_or(url.len(), |at| host + at);
    url.split_at(end)
}

/// `https://host` and `:443`.
fn split_port(start: &str) -> (&str, Option<&str>) {
    let host = start.rfind(['@', '/']).map_or(0, |at| at + 1);
    match start[host..].rfind(':') {
        Some(at) if start[host + at + 1..].bytes().all(|byte| byte.is_ascii_digit()) => {
            let (bare, port) = start.split_at(host + at);
            (bare, Some(port))
        }
        _ => (start, None),
    }
}

/// HubSpot, "Validate requests", version 3: these escapes are undone before signing.
fn undo_escapes(url: &str) -> String {
    const ESCAPES: [(&str, &str); 12] = [
        ("%3A", ":"),
        ("%2F", "/"),
        ("%3F", "?"),
        ("%40", "@"),
        ("%21", "!"),
        ("%24", "$"),
        ("%27", "'"),
        ("%28", "("),
        ("%29", ")"),
        ("%2A", "*"),
        ("%2C", ","),
        ("%3B", ";"),
    ];
    ESCAPES.iter().fold(url.to_owned(), |url, (escape, character)| {
        url.replace(escape, character)
            .replace(&escape.to_ascii_lowercase(), character)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path_and_query: &str) -> SignedRequest {
        SignedRequest {
            method: http::Method::POST,
            path_and_query: path_and_query.to_owned(),
            headers: http::HeaderMap::new(),
            body: bytes::Bytes::new(),
            source_ip: None,
        }
    }

    #[test]
    fn the_query_is_the_requests_and_all_else_the_public_urls() {
        let called = |public, path| forms(Some(public), &request(path), UrlForms::Plain);
        assert_eq!(
            called("https://a.example/h", "/stage/h?x=1"),
            ["https://a.example/h?x=1"]
        );
        assert_eq!(
            called("https://a.example/h?x=1", "/h"),
            ["https://a.example/h?x=1"]
        );
        assert_eq!(
            called("https://a.example/h?x=1", "/h?x=1&y=2"),
            ["https://a.example/h?x=1&y=2"]
        );
    }

    #[test]
    fn ports_come_and_go_and_credentials_stay() {
        let all = |public| forms(Some(public), &request("/"), UrlForms::Twilio);
        assert_eq!(
            all("https://u:p@a.example/h"),
            ["https://u:p@a.example/h", "https://u:p@a.example:443/h"]
        );
        assert_eq!(
            all("http://a.example:1234"),
            ["http://a.example:1234", "http://a.example"]
        );
        assert_eq!(
            all("http://a.example?it's"),
            [
                "http://a.example?it's",
                "http://a.example?it%27s",
                "http://a.example:80?it's",
                "http://a.example:80?it%27s"
            ]
        );
    }

    #[test]
    fn escapes_are_undone_once() {
        assert_eq!(undo_escapes("https://a/b%2fc%3F%252F"), "https://a/b/c?%252F");
        assert_eq!(
            parameter("https://a/?x=1&bodySHA256=ab", "bodySHA256"),
            Some("ab")
        );
        assert_eq!(parameter("https://a/?xbodySHA256=ab", "bodySHA256"), None);
    }
}
