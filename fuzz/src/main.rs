//! One fuzz target for all schemes: what was not signed is never believed, what was signed always is, nothing panics.
//!
//! The first bytes of an input choose a scheme and what is done; the rest is headers and a body. Run by `make fuzz`.

#![no_main]

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Unstructured};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::{SignedDuration, Timestamp};
use libfuzzer_sys::fuzz_target;
use oncehook_core::{
    config::Config,
    request::SignedRequest,
    secret::Secret,
    verify::{Scheme, Source},
};

const NOW: i64 = 1_700_000_000;
/// A shared secret proves only that it is known, Mailgun signs a token of its own: both leave the body open.
const BODY_NOT_SIGNED: [&str; 5] = [
    "chargebee",
    "gitlab-token",
    "mailgun",
    "microsoft-graph",
    "postmark",
];

struct Subject {
    scheme: Scheme,
    source: Source,
    /// The headers of a genuine request: where an attacker would begin.
    names: Vec<HeaderName>,
}

static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let schemes = Scheme::names().filter_map(Scheme::from_name);
    schemes.filter_map(subject).collect()
});

fn subject(scheme: Scheme) -> Option<Subject> {
    let url = match scheme.signs_url() {
        true => "public_url = \"https://hooks.example.com/webhooks/source\"\n",
        false => "",
    };
    let tolerance = if scheme.signs_time() {
        "tolerance = \"5m\"\n"
    } else {
        ""
    };
    let name = scheme.name();
    let text = format!("[source.source]\nscheme = \"{name}\"\nsecret = \"source\"\n{url}{tolerance}");
    let mut config = Config::parse(&text, "oncehook.toml").unwrap_or_else(|error| panic!("{name}: {error}"));
    let config = config.sources.remove("source")?;
    let (secret, _) = Secret::new("source", &scheme.secret_of(b"a seed that no fuzzer will guess")).ok()?;
    let source = Source::new(&config, vec![secret]).unwrap_or_else(|error| panic!("{name}: {error}"));
    let at = Timestamp::from_second(NOW).ok()?;
    let (_, body) = scheme.sample("a.b", "evt_1", at);
    let names = source
        .make(request(HeaderMap::new(), body), "evt_1", "a.b", at)
        .map(|made| made.headers.keys().cloned().collect())
        .unwrap_or_default();
    Some(Subject {
        scheme,
        source,
        names,
    })
}

fn request(headers: HeaderMap, body: Vec<u8>) -> SignedRequest {
    SignedRequest {
        method: Method::POST,
        path_and_query: "/webhooks/source".into(),
        headers,
        body: body.into(),
        source_ip: None,
    }
}

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    scheme: u8,
    seconds_away: i16,
    what: What<'a>,
}

#[derive(Debug, Arbitrary)]
enum What<'a> {
    /// Nothing is signed: these values for the headers of a genuine request, and others.
    Forged {
        values: Vec<&'a [u8]>,
        others: Vec<(&'a str, &'a [u8])>,
        body: &'a [u8],
        query: &'a str,
    },
    /// A genuine request, then a change to its body.
    Signed { body: &'a [u8], place: u16, flip: u8 },
    /// A genuine request of the provider's own shape, with a header of it replaced.
    Altered { header: u8, value: &'a [u8] },
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(bytes)) else {
        return;
    };
    let subject = &SUBJECTS[usize::from(input.scheme) % SUBJECTS.len()];
    let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(NOW);
    let signed_at = now + SignedDuration::from_secs(i64::from(input.seconds_away));
    match input.what {
        What::Forged {
            values,
            others,
            body,
            query,
        } => {
            let mut headers = HeaderMap::new();
            let known = subject.names.iter().zip(values);
            for (name, value) in known {
                if let Ok(value) = HeaderValue::from_bytes(value) {
                    headers.append(name.clone(), value);
                }
            }
            for (name, value) in others {
                if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value)) {
                    headers.append(name, value);
                }
            }
            let mut forged = request(headers, body.to_vec());
            forged.path_and_query = format!("/webhooks/source?{query}");
            let challenge = SignedRequest {
                method: Method::GET,
                ..forged.clone()
            };
            let _answer = subject.source.challenge(&challenge);
            assert!(
                !believed(subject, forged, now),
                "{}: forged",
                subject.scheme.name()
            );
        }
        What::Signed { body, place, flip } => {
            let draft = request(HeaderMap::new(), body.to_vec());
            let Ok(made) = subject.source.make(draft, "evt_1", "a.b", signed_at) else {
                return;
            };
            let fresh = i64::from(input.seconds_away).abs() <= 300;
            let name = subject.scheme.name();
            let genuine = subject.source.verify(made.clone(), now);
            // Limits and the shape of bodies are refused whatever is signed; a good signature is a mismatch never.
            if let Err(error) = &genuine {
                assert_ne!(error.reason(), "signature_mismatch", "{name}: signed by itself");
            }
            assert!(
                fresh || genuine.is_err() || !subject.scheme.signs_time(),
                "{name}: too old or too new"
            );
            if let Ok(verified) = genuine {
                let _events = subject.source.events(verified);
            }
            if made.body.is_empty() || flip == 0 || BODY_NOT_SIGNED.contains(&name) {
                return;
            }
            let mut changed = made.body.to_vec();
            let index = usize::from(place) % changed.len();
            changed[index] ^= flip;
            // Escapes in a form may be written in either case. Braintree's payload is the same without its last line feed, as
            // its libraries have it, and `%0A` that becomes `&0A` is another field.
            let without_line_feed = name == "braintree" && changed.ends_with(b"&0A");
            if !changed.eq_ignore_ascii_case(&made.body) && !without_line_feed {
                let forged = SignedRequest {
                    body: changed.into(),
                    ..made
                };
                assert!(!believed(subject, forged, now), "{name}: a changed body");
            }
        }
        What::Altered { header, value } => {
            let (_, body) = subject.scheme.sample("a.b", "evt_1", now);
            let made = subject
                .source
                .make(request(HeaderMap::new(), body), "evt_1", "a.b", now);
            let (Ok(mut made), Ok(value)) = (made, HeaderValue::from_bytes(value)) else {
                return;
            };
            if let Some(name) = subject
                .names
                .get(usize::from(header) % subject.names.len().max(1))
            {
                made.headers.insert(name.clone(), value);
            }
            let _believed = believed(subject, made, now);
        }
    }
});

fn believed(subject: &Subject, request: SignedRequest, now: Timestamp) -> bool {
    match subject.source.verify(request, now) {
        Ok(verified) => {
            let _events = subject.source.events(verified);
            true
        }
        Err(error) => {
            let _for_the_log = (error.reason(), error.status(), error.likely(&subject.scheme));
            false
        }
    }
}
