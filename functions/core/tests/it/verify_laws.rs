//! Laws of every scheme: what is signed is believed, what was changed is not, and nothing makes verification panic.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    request::SignedRequest,
    secret::Secret,
    verify::{
        Algorithm, Encoding, GenericScheme, GenericTimestamp, Location, Received, Scheme, SignedTemplate,
        Source, TimeUnit, VerifyError, sign_standard_webhook,
    },
};
use proptest::prelude::*;
use serde_json::json;
use sha2::{Digest as _, Sha256};

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

pub(crate) fn named(name: &str) -> Scheme {
    Scheme::from_name(name).unwrap()
}

pub(crate) fn schemes() -> Vec<Scheme> {
    // Those of an RSA key cannot be made here: their vectors stand for them, and `certified`.
    let rsa = ["aws-sns", "paypal", "paddle-classic"];
    let names = Scheme::names().filter(|name| !rsa.contains(name));
    let named = names.filter_map(Scheme::from_name);
    named
        .chain([
            generic(Encoding::Hex, Algorithm::Sha256, TimeUnit::Seconds),
            generic(Encoding::Base64, Algorithm::Sha512, TimeUnit::Milliseconds),
        ])
        .collect()
}

/// A source whose secrets are made of these bytes, in the form that the scheme takes.
pub(crate) fn source(scheme: &Scheme, secrets: &[&[u8]]) -> Source {
    let secret = |bytes: &&[u8]| {
        let seed: [u8; 32] = Sha256::digest(bytes).into();
        Secret::new("secret", &scheme.secret_of(&seed)).unwrap().0
    };
    let mut config = config(scheme.clone(), Some(SignedDuration::from_mins(5)));
    config.public_url = scheme
        .signs_url()
        .then(|| "https://hooks.example.com/webhooks/source".to_owned());
    Source::new(&config, secrets.iter().map(secret).collect()).unwrap()
}

pub(crate) fn signed(source: &Source, body: &[u8], time: Timestamp) -> HeaderMap {
    source
        .sign("evt_1", "invoice.paid", body, time, &HeaderMap::new())
        .unwrap()
}

/// A request with these bytes somewhere in a body that the scheme can sign.
fn made(scheme: &Scheme, source: &Source, bytes: &[u8], time: Timestamp) -> SignedRequest {
    let text = hex::encode(bytes);
    let body = match scheme.name() {
        "mailgun" => json!({"signature": {"token": text}, "event-data": {"id": "evt_1"}})
            .to_string()
            .into(),
        "adyen" => {
            let item = |reference: &str| json!({"NotificationRequestItem": {"pspReference": reference}});
            json!({"notificationItems": [item(&text), item("other")]})
                .to_string()
                .into()
        }
        "microsoft-graph" => json!({"value": [{"resource": text}, {"resource": "other"}]})
            .to_string()
            .into(),
        "linear" => json!({"type": text}).to_string().into(),
        _ => bytes.to_vec(),
    };
    let draft = request(HeaderMap::new(), body);
    source.make(draft, "evt_1", "invoice.paid", time).unwrap()
}

/// The header with the signature; none where it is in the body.
fn signature_header(headers: &HeaderMap) -> Option<HeaderName> {
    let is_signature = |name: &&HeaderName| {
        ["signature", "hmac", "verification", "token"]
            .iter()
            .any(|word| name.as_str().contains(word))
    };
    headers.keys().find(is_signature).cloned()
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
            let sent = made(&scheme, &source(&scheme, &[&new]), &body, at(NOW + away));
            let verified = source(&scheme, &[&old, &new]).verify(sent.clone(), at(NOW));
            let verified = verified.map_err(|error| TestCaseError::fail(format!("{}: {error}", scheme.name())))?;
            prop_assert_eq!(verified.secret(), 1, "{}", scheme.name());
            prop_assert_eq!(&*verified.request().body, &*sent.body);
            let received = source(&scheme, &[&new]).events(verified);
            prop_assert!(matches!(received, Received::Events(_)), "{}", scheme.name());
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
            let sent = made(&scheme, &sender, &body, at(NOW));
            let refused = |source: &Source, request: SignedRequest| source.verify(request, at(NOW)).is_err();
            let name = scheme.name();

            let other = source(&scheme, &[&changed(&key)]);
            prop_assert!(refused(&other, sent.clone()), "{}", name);

            // Neither mailgun nor a secret that is sent along signs the body. Escapes in a form may be written in either case.
            // Braintree's payload is the same without its last line feed: `&0A` is another field. Adyen's signatures stand in the
            // body, and are the same without their padding.
            let forged = SignedRequest { body: changed(&sent.body).into(), ..sent.clone() };
            let same = match name {
                "braintree" => forged.body.eq_ignore_ascii_case(&sent.body) || forged.body.ends_with(b"&0A"),
                "adyen" => sent.body[place.index(sent.body.len())] == b'=',
                _ => false,
            };
            let unsigned = name == "mailgun" || scheme.describe().is_some_and(|it| it.proof == "shared secret");
            if !same && !unsigned {
                prop_assert!(refused(&sender, forged), "{}: body", name);
            }

            let Some(header) = signature_header(&sent.headers) else { continue };
            let original = sent.headers[&header].as_bytes().to_vec();
            let forged = changed(&original);
            // Hex digits of the other case, and base64 without its padding, are the same signature.
            let index = place.index(original.len());
            let digits = original.len() - original.len().min(128);
            let same = match original.ends_with(b"=") {
                true => index >= original.len() - original.iter().rev().take_while(|byte| **byte == b'=').count(),
                false => index >= digits && original.eq_ignore_ascii_case(&forged),
            };
            if let (Ok(value), false) = (HeaderValue::from_bytes(&forged), same) {
                let mut forged = sent.clone();
                forged.headers.insert(header, value);
                prop_assert!(refused(&sender, forged), "{}: signature", name);
            }
        }
    }

    #[test]
    fn a_time_outside_the_tolerance_is_refused_on_both_sides(beyond in 301_i64..10_000_000_000) {
        let without_default = ["zoom", "discord", "sendgrid"];
        for scheme in schemes() {
            if !scheme.signs_time() && !without_default.contains(&scheme.name()) {
                continue;
            }
            let source = source(&scheme, &[b"0123456789abcdef01234567"]);
            let check = |second| source.verify(made(&scheme, &source, b"{}", at(second)), at(NOW));
            prop_assert_eq!(check(NOW - beyond).unwrap_err(), VerifyError::TooOld, "{}", scheme.name());
            prop_assert_eq!(check(NOW + beyond).unwrap_err(), VerifyError::InFuture, "{}", scheme.name());
        }
    }

    #[test]
    fn a_header_that_is_signed_or_signs_cannot_be_left_out(body in proptest::collection::vec(any::<u8>(), 1..50)) {
        for scheme in schemes() {
            let source = source(&scheme, &[b"0123456789abcdef01234567"]);
            let sent = made(&scheme, &source, &body, at(NOW));
            for name in sent.headers.keys() {
                let unsigned = ["content-type", "event", "delivery", "topic", "id", "uuid", "idempotency"];
                let signs_id = ["svix", "webhook-", "twitch"].iter().any(|start| name.as_str().starts_with(start));
                let is_unsigned = unsigned.iter().any(|word| name.as_str().contains(word));
                let is_signature = signature_header(&sent.headers).as_ref() == Some(name);
                if !is_signature && (is_unsigned || name.as_str().contains("type")) && !(signs_id && name.as_str().ends_with("id")) {
                    continue;
                }
                let mut without = sent.clone();
                without.headers.remove(name);
                prop_assert!(source.verify(without, at(NOW)).is_err(), "{}: {}", scheme.name(), name);
            }
        }
    }

    #[test]
    fn no_header_and_no_body_makes_it_panic(
        values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 1..6),
        near in "(t=[-0-9]{0,20}|v1[=,a]{0,3}[0-9a-zA-Z+/]{0,8}|[, ;=.|&%]){0,8}",
        body in proptest::collection::vec(any::<u8>(), 0..60),
        json in "\\{(\"(signature|notificationItems|entry|changes|event|type)\":([\\[\\]{}0-9\",:]|null){0,6},?){0,4}\\}?",
    ) {
        for scheme in schemes() {
            let source = source(&scheme, &[b"0123456789abcdef01234567"]);
            let sent = made(&scheme, &source, &body, at(NOW));
            let names: Vec<_> = sent.headers.keys().cloned().collect();
            let values = values.iter().map(Vec::as_slice).chain([near.as_bytes()]);
            let mut sent = sent.clone();
            for (value, name) in values.zip(names.iter().cycle()) {
                if let Ok(value) = HeaderValue::from_bytes(value) {
                    sent.headers.insert(name.clone(), value);
                }
                let _ = source.verify(sent.clone(), at(NOW)).map(|it| source.events(it));
            }
            // A body that is genuine and strange: the reading of events has to cope with it.
            let draft = request(HeaderMap::new(), json.clone().into_bytes());
            if let Ok(sent) = source.make(draft, "a", "b", at(NOW)) {
                let _ = source.verify(sent, at(NOW)).map(|it| source.events(it));
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
        let source = Source::new(&config(named("standard-webhooks"), None), vec![secret]).unwrap();
        prop_assert!(source.verify(request(headers, body), at(NOW)).is_ok());
    }
}
