//! Laws of every scheme: what is signed is believed, what was changed is not, and nothing makes verification panic.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;
use oncehook_core::{
    secret::Secret,
    verify::{
        Algorithm, Encoding, GenericScheme, GenericTimestamp, Location, Scheme, SignedTemplate, Source,
        TimeUnit, VerifyError, sign_standard_webhook,
    },
};
use proptest::prelude::*;

use crate::vectors::{config, request};

pub(crate) const NOW: i64 = 1_700_000_000;

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn generic(encoding: Encoding, algorithm: Algorithm, unit: TimeUnit) -> Scheme {
    Scheme::Generic(Box::new(GenericScheme {
        header: "X-Signature".into(),
        prefix: "sig=".into(),
        encoding,
        algorithm,
        signed: SignedTemplate::parse("{header:X-Event}:{timestamp}:{body}").unwrap(),
        timestamp: Some(GenericTimestamp {
            header: "X-Time".into(),
            unit,
        }),
        separator: Some(";".into()),
        id: Location::parse("header:X-Event").unwrap(),
        kind: Some(Location::parse("/kind").unwrap()),
        occurred_at: None,
        scope: Some(Location::parse("/account").unwrap()),
    }))
}

pub(crate) fn schemes() -> Vec<Scheme> {
    let named = Scheme::NAMES.iter().filter_map(|name| Scheme::from_name(name));
    named
        .chain([
            generic(Encoding::Hex, Algorithm::Sha256, TimeUnit::Seconds),
            generic(Encoding::Base64, Algorithm::Sha512, TimeUnit::Milliseconds),
        ])
        .collect()
}

/// A source whose secrets are these bytes, as the scheme writes them.
pub(crate) fn source(scheme: &Scheme, secrets: &[&[u8]]) -> Source {
    let secret = |bytes: &&[u8]| {
        let text = match scheme {
            Scheme::StandardWebhooks | Scheme::Svix => {
                base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes)
            }
            _ => hex::encode(bytes),
        };
        Secret::new("secret", &text).unwrap().0
    };
    Source::new(
        &config(scheme.clone(), None),
        secrets.iter().map(secret).collect(),
    )
    .unwrap()
}

pub(crate) fn signed(source: &Source, body: &[u8], time: Timestamp) -> HeaderMap {
    source
        .sign("evt_1", "invoice.paid", body, time, &HeaderMap::new())
        .unwrap()
}

fn signature_header(headers: &HeaderMap) -> HeaderName {
    let is_signature = |name: &&HeaderName| {
        ["signature", "hmac"]
            .iter()
            .any(|word| name.as_str().contains(word))
    };
    headers.keys().find(is_signature).unwrap().clone()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_signed_is_believed_with_any_of_the_secrets(
        body in proptest::collection::vec(any::<u8>(), 1..200),
        old in any::<[u8; 32]>(),
        new in any::<[u8; 32]>(),
        away in -300_i64..=300,
    ) {
        prop_assume!(old != new);
        for scheme in schemes() {
            let headers = signed(&source(&scheme, &[&new]), &body, at(NOW + away));
            let verified = source(&scheme, &[&old, &new]).verify(request(headers, body.clone()), at(NOW)).unwrap();
            prop_assert_eq!(verified.secret(), 1, "{}", scheme.name());
            prop_assert_eq!(&*verified.request().body, &*body);
        }
    }

    #[test]
    fn a_changed_byte_anywhere_is_refused(
        body in proptest::collection::vec(any::<u8>(), 1..200),
        key in proptest::collection::vec(any::<u8>(), 24..64),
        place in any::<prop::sample::Index>(),
        flip in 1_u8..,
    ) {
        let changed = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            let index = place.index(bytes.len());
            bytes[index] ^= flip;
            bytes
        };
        for scheme in schemes() {
            let sender = source(&scheme, &[&key]);
            let headers = signed(&sender, &body, at(NOW));
            let refused = |result: Result<_, VerifyError>| result.is_err();

            prop_assert!(refused(sender.verify(request(headers.clone(), changed(&body)), at(NOW))));
            let other = source(&scheme, &[&changed(&key)]);
            prop_assert!(refused(other.verify(request(headers.clone(), body.clone()), at(NOW))));

            let name = signature_header(&headers);
            let original = headers[&name].as_bytes().to_vec();
            let forged = changed(&original);
            // Hex digits of the other case, and base64 without its padding, are the same signature.
            let index = place.index(original.len());
            let digits = original.len() - original.len().min(64);
            let same = match original.ends_with(b"=") {
                true => index >= original.len() - original.iter().rev().take_while(|byte| **byte == b'=').count(),
                false => index >= digits && original.eq_ignore_ascii_case(&forged),
            };
            if let (Ok(value), false) = (HeaderValue::from_bytes(&forged), same) {
                let mut headers = headers;
                headers.insert(name, value);
                prop_assert!(refused(sender.verify(request(headers, body.clone()), at(NOW))), "{}", scheme.name());
            }
        }
    }

    #[test]
    fn a_time_outside_the_tolerance_is_refused_on_both_sides(beyond in 301_i64..10_000_000_000) {
        for scheme in schemes().into_iter().filter(Scheme::signs_time) {
            let source = source(&scheme, &[b"0123456789abcdef01234567"]);
            let check = |second| source.verify(request(signed(&source, b"{}", at(second)), b"{}".to_vec()), at(NOW));
            prop_assert_eq!(check(NOW - beyond).unwrap_err(), VerifyError::TooOld);
            prop_assert_eq!(check(NOW + beyond).unwrap_err(), VerifyError::InFuture);
        }
    }

    #[test]
    fn no_header_and_no_body_makes_it_panic(
        values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 1..6),
        near in "(t=[-0-9]{0,20}|v1[=,a]{0,3}[0-9a-zA-Z+/]{0,8}|[, ;=]){0,8}",
        body in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        for scheme in schemes() {
            let source = source(&scheme, &[b"0123456789abcdef01234567"]);
            let mut headers = signed(&source, &body, at(NOW));
            let names: Vec<_> = headers.keys().cloned().collect();
            let values = values.iter().map(Vec::as_slice).chain([near.as_bytes()]);
            for (value, name) in values.zip(names.iter().cycle()) {
                if let Ok(value) = HeaderValue::from_bytes(value) {
                    headers.insert(name.clone(), value);
                }
                let _ = source.verify(request(headers.clone(), body.clone()), at(NOW)).map(|it| source.events(it));
            }
        }
    }

    #[test]
    fn deliveries_of_our_own_are_standard_webhooks(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (secret, _) = Secret::new("app", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in sign_standard_webhook(&secret, "msg_1", at(NOW), &body).unwrap() {
            headers.insert(name, value.parse().unwrap());
        }
        let source = Source::new(&config(Scheme::StandardWebhooks, None), vec![secret]).unwrap();
        prop_assert!(source.verify(request(headers, body), at(NOW)).is_ok());
    }
}
