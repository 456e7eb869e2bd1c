//! Makes the gateway's event one that `lambda_http` can turn into a request, whatever a stranger put into it.
//!
//! API Gateway decodes paths and passes on what clients send; the conversion panics where that makes no URI or no
//! body. Nothing that is verified is changed: a body that cannot be decoded is left as it came, and is refused as
//! any other without a valid signature.

use base64::Engine as _;
use http::{HeaderMap, header};
use lambda_http::request::LambdaRequest;

/// What may stand in a URI's path as it is (RFC 3986, section 3.3), the percent sign included.
const PATH: &[u8] = b"-._~!$&'()*+,;=:@/%";
/// And in its query (section 3.4).
const QUERY: &[u8] = b"-._~!$&'()*+,;=:@/%?";
const FORWARDED_PROTO: &str = "x-forwarded-proto";

/// The same event, with what has no place in a URI percent-encoded or left out.
#[must_use]
pub fn presentable(event: LambdaRequest) -> LambdaRequest {
    let LambdaRequest::ApiGatewayV2(mut request) = event else {
        return event;
    };
    if let Some(path) = &mut request.raw_path {
        encode(path, PATH);
        if !path.starts_with('/') {
            path.insert(0, '/');
        }
    }
    if let Some(query) = &mut request.raw_query_string {
        encode(query, QUERY);
    }
    // Nothing reads the host of the URI that is made of these.
    keep_if(&mut request.headers, header::HOST.as_str(), plain_host);
    keep_if(&mut request.headers, FORWARDED_PROTO, |scheme| {
        matches!(scheme, "http" | "https")
    });
    let context = &mut request.request_context;
    context.domain_name = context.domain_name.take().filter(|host| plain_host(host));
    context.stage = context.stage.take().filter(|stage| {
        stage
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"$-_".contains(&byte))
    });
    if request.is_base64_encoded && !request.body.as_deref().is_none_or(decodable) {
        request.is_base64_encoded = false;
    }
    LambdaRequest::ApiGatewayV2(request)
}

fn encode(text: &mut String, allowed: &[u8]) {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || allowed.contains(&byte);
    if text.bytes().all(fits) {
        return;
    }
    let mut encoded = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        if fits(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    *text = encoded;
}

fn keep_if(headers: &mut HeaderMap, name: &str, good: impl Fn(&str) -> bool) {
    let bad = headers
        .get(name)
        .is_some_and(|value| !value.to_str().is_ok_and(&good));
    if bad {
        headers.remove(name);
    }
}

/// Whether a name of labels, perhaps with a port, that no parser of URLs reads as anything else: neither a number nor an
/// encoded name.
fn plain_host(host: &str) -> bool {
    let (name, port) = host.split_once(':').unwrap_or((host, "443"));
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with("xn--")
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253
        && name.split('.').all(label)
        && last.starts_with(|first: char| first.is_ascii_alphabetic())
        && port.parse::<u16>().is_ok()
}

/// Whether standard base64 with padding. The last four characters decide about the padding, the rest only need to be of the
/// alphabet: the body is not decoded twice.
fn decodable(text: &str) -> bool {
    let Some(rest) = text.len().checked_sub(4) else {
        return text.is_empty();
    };
    let of_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4)
        && text.as_bytes()[..rest].iter().copied().all(of_alphabet)
        && base64::prelude::BASE64_STANDARD
            .decode(&text.as_bytes()[rest..])
            .is_ok()
}

#[cfg(test)]
mod tests {
    use lambda_http::Request;
    use proptest::prelude::*;

    use super::*;

    fn event(path: &str, query: &str, host: &str, proto: &str, body: &str) -> serde_json::Value {
        serde_json::json!({
            "version": "2.0",
            "routeKey": "ANY /webhooks/{source}",
            "rawPath": path,
            "rawQueryString": query,
            "headers": { "host": host, "x-forwarded-proto": proto },
            "requestContext": {
                "domainName": host,
                "http": { "method": "POST", "path": path, "sourceIp": "192.0.2.1" },
                "stage": "$default",
            },
            "pathParameters": { "source": "stripe" },
            "body": body,
            "isBase64Encoded": true,
        })
    }

    fn request(event: &serde_json::Value) -> Request {
        let event: LambdaRequest = serde_json::from_value(event.clone()).unwrap();
        Request::from(presentable(event))
    }

    #[test]
    fn what_fits_is_left_alone() {
        let request = request(&event(
            "/webhooks/stripe",
            "a=1&b=%20",
            "api.example:8080",
            "https",
            "aGk=",
        ));
        assert_eq!(
            request.uri(),
            "https://api.example:8080/webhooks/stripe?a=1&b=%20"
        );
        assert_eq!(&**request.body(), b"hi");
    }

    proptest! {
        #[test]
        fn no_event_makes_the_conversion_panic(
            path in ".{0,20}", query in ".{0,20}", host in prop_oneof!["\\PC{0,12}", "[a-z0-9.:x-]{0,9}"], proto in "\\PC{0,8}",
            body in prop_oneof!["[A-Za-z0-9+/=]{0,9}", ".{0,9}"],
        ) {
            let event = event(&path, &query, &host, &proto, &body);
            // Headers that are none do not come this far.
            if let Ok(event) = serde_json::from_value::<LambdaRequest>(event) {
                let _request = Request::from(presentable(event));
            }
        }

        #[test]
        fn decodable_is_what_decodes(text in "[A-Za-z0-9+/=]{0,12}") {
            prop_assert_eq!(decodable(&text), base64::prelude::BASE64_STANDARD.decode(&text).is_ok());
        }
    }
}
