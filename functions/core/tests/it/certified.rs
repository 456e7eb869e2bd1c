//! Requests that are signed under a provider's certificate: where it may be from, whose it has to be, and what it covers.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    request::SignedRequest,
    secret::Secret,
    verify::{Received, Source, VerifyError, Wanted},
};
use proptest::prelude::*;
use ring::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde_json::{Value, json};

use crate::{
    vectors::{config, request},
    verify_laws::named,
};

/// Made for these tests; its subject is sns.amazonaws.com.
const CERTIFICATE: &[u8] = include_bytes!("../data/sns.pem");
const TOPIC: &str = "arn:aws:sns:eu-central-1:123456789012:orders";
const URL: &str = "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem";

fn now() -> Timestamp {
    "2026-12-01T12:00:00Z".parse().unwrap()
}

fn source(scheme: &str, secret: &str) -> Source {
    let (secret, _) = Secret::new("secret", secret).unwrap();
    Source::new(&config(named(scheme), None), vec![secret]).unwrap()
}

fn vector(id: &str) -> Value {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("../data/vectors.json")).unwrap();
    vectors.into_iter().find(|vector| vector["id"] == id).unwrap()
}

fn sent(id: &str) -> SignedRequest {
    let vector = vector(id);
    let mut headers = http::HeaderMap::new();
    for (name, value) in vector["headers"].as_object().unwrap() {
        let name = http::HeaderName::try_from(name).unwrap();
        headers.insert(name, value.as_str().unwrap().parse().unwrap());
    }
    request(headers, vector["body"].as_str().unwrap().into())
}

#[test]
fn the_certificate_is_asked_for_and_without_it_nothing_is_believed() {
    let source = source("aws-sns", TOPIC);
    let sent = sent("aws_sns-01");
    assert_eq!(
        source.wanted(&sent),
        Ok(Some(Wanted::Certificate(URL.to_owned())))
    );
    let error = source.verify(sent.clone(), now()).unwrap_err();
    assert_eq!((error, error.status()), (VerifyError::NoKey, 503));
    let key = source.certified(CERTIFICATE, now()).unwrap();
    let verified = source.verify_with(sent, now(), Some(&key)).unwrap();
    let Received::Events(events) = source.events(verified) else {
        panic!("no event");
    };
    assert_eq!(events[0].id, "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324");
    assert_eq!(events[0].scope, TOPIC);
    assert!(events[0].id_signed);
    assert_eq!(events[0].data["Subject"], "Grüße");
}

#[test]
fn a_certificate_is_taken_from_the_providers_hosts_only() {
    let source = source("aws-sns", TOPIC);
    let asked = |url: &str| {
        let mut sent = sent("aws_sns-01");
        let mut body: Value = serde_json::from_slice(&sent.body).unwrap();
        body["SigningCertURL"] = url.into();
        sent.body = body.to_string().into();
        source.wanted(&sent)
    };
    for good in [
        "https://sns.us-east-1.amazonaws.com/a.pem",
        "https://sns.cn-north-1.amazonaws.com.cn/a.pem",
        "https://sns.us-gov-west-1.amazonaws.com/a.pem",
    ] {
        assert_eq!(asked(good), Ok(Some(Wanted::Certificate(good.to_owned()))));
    }
    for bad in [
        "http://sns.us-east-1.amazonaws.com/a.pem",
        "https://sns.us-east-1.amazonaws.com.evil.example/a.pem",
        "https://sns.us-east-1.evil.example/a.pem",
        "https://evil.example/sns.us-east-1.amazonaws.com/a.pem",
        "https://user@sns.us-east-1.amazonaws.com/a.pem",
        "https://sns.us-east-1.amazonaws.com:444/a.pem",
        "https://sns.a.b.amazonaws.com/a.pem",
        "https://sns.s3.amazonaws.com/a.pem",
        "https://sns.s3-us-west-2.amazonaws.com/a.pem",
        "https://sns.s3-website-us-east-1.amazonaws.com/a.pem",
        "https://sns.us-east-1-.amazonaws.com/a.pem",
        "https://sns.east-1.amazonaws.com/a.pem",
        "https://sns..amazonaws.com/a.pem",
        "https://evil.example\\.sns.us-east-1.amazonaws.com/a.pem",
        "https://sns.us-east-1.amazonaws.com/a.pem#.example",
        "https://sns.us-east-1.amazonaws.com/a.txt",
        "https://sns.us-east-1.amazonaws.com/?Action=Publish&Message=.pem",
        "https://sns.us-east-1.amazonaws.com/a/../b.pem",
        "https://sns.us-east-1.amazonaws.com/%2e%2e/b.pem",
        "https://sns.us-east-1.amazonaws.com",
        "HTTPS://SNS.us-east-1.amazonaws.com/a.pem",
        "",
    ] {
        assert!(asked(bad).is_err(), "{bad}");
    }
}

#[test]
fn another_topic_is_refused_before_anything_is_fetched() {
    let other = source("aws-sns", "arn:aws:sns:eu-central-1:123456789012:other");
    assert_eq!(other.wanted(&sent("aws_sns-01")), Err(VerifyError::Mismatch));
    let key = other.certified(CERTIFICATE, now()).unwrap();
    let error = other
        .verify_with(sent("aws_sns-01"), now(), Some(&key))
        .unwrap_err();
    assert_eq!(error, VerifyError::Mismatch);
}

#[test]
fn a_certificate_of_another_or_out_of_force_is_no_key() {
    let sns = source("aws-sns", TOPIC);
    assert!(sns.certified(CERTIFICATE, now()).is_some());
    let years = SignedDuration::from_hours(24 * 366 * 11);
    assert!(sns.certified(CERTIFICATE, now() + years).is_none());
    assert!(sns.certified(CERTIFICATE, now() - years).is_none());
    assert!(sns.certified(b"no certificate", now()).is_none());
    assert!(
        source("paypal", "8PT597110X687430LKGECATA")
            .certified(CERTIFICATE, now())
            .is_none()
    );
}

#[test]
fn every_changed_byte_of_a_signed_field_is_noticed() {
    let key = source("aws-sns", TOPIC).certified(CERTIFICATE, now()).unwrap();
    let sns = source("aws-sns", TOPIC);
    let original = sent("aws_sns-01");
    // What is not signed: where the certificate is, and white space between fields.
    let text = String::from_utf8(original.body.to_vec()).unwrap();
    let url = text.find("SigningCertURL").unwrap();
    let end = text[url..].find('}').unwrap() + url;
    let mut believed = Vec::new();
    for index in 0..original.body.len() {
        if (url..end).contains(&index) {
            continue;
        }
        for flip in [1_u8, 0x20] {
            let mut bytes = original.body.to_vec();
            bytes[index] ^= flip;
            let forged = SignedRequest {
                body: bytes.into(),
                ..original.clone()
            };
            if sns.verify_with(forged, now(), Some(&key)).is_ok() {
                believed.push((index, char::from(original.body[index])));
            }
        }
    }
    assert!(believed.is_empty(), "{believed:?}");
}

#[test]
fn a_subscription_is_confirmed_on_the_providers_host_only() {
    let sns = source("aws-sns", TOPIC);
    let key = sns.certified(CERTIFICATE, now()).unwrap();
    let verified = sns.verify_with(sent("aws_sns-03"), now(), Some(&key)).unwrap();
    let Received::Confirm { url, reply } = sns.events(verified) else {
        panic!("no confirmation");
    };
    assert!(url.starts_with("https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription"));
    assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    // The end of a subscription is an event.
    let verified = sns.verify_with(sent("aws_sns-04"), now(), Some(&key)).unwrap();
    assert!(
        matches!(sns.events(verified), Received::Events(events) if events[0].kind == "UnsubscribeConfirmation")
    );
}

/// The private half of the certificate's key, made for these tests.
const PRIVATE: &[u8] = include_bytes!("../data/sns-key.der");

fn rsa(content: &str) -> String {
    let key = RsaKeyPair::from_pkcs8(PRIVATE).unwrap();
    let mut signature = vec![0; key.public().modulus_len()];
    let random = SystemRandom::new();
    key.sign(&RSA_PKCS1_SHA256, &random, content.as_bytes(), &mut signature)
        .unwrap();
    BASE64_STANDARD.encode(signature)
}

fn public() -> String {
    std::str::from_utf8(CERTIFICATE).unwrap().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_sns_signs_is_believed_and_nothing_else(message in "\\PC{0,40}", subject in "\\PC{1,10}", other in "\\PC{0,40}") {
        let signed = format!(
            "Message\n{message}\nMessageId\nid-1\nSubject\n{subject}\nTimestamp\n2026-12-01T09:00:00.000Z\nTopicArn\n{TOPIC}\nType\nNotification\n"
        );
        let body = |message: &str| json!({
            "Type": "Notification", "MessageId": "id-1", "TopicArn": TOPIC, "Subject": subject, "Message": message,
            "Timestamp": "2026-12-01T09:00:00.000Z", "SignatureVersion": "2", "Signature": rsa(&signed),
            "SigningCertURL": URL,
        });
        let source = source("aws-sns", &format!("{TOPIC}\n{}", public()));
        let check = |body: Value| source.verify(request(http::HeaderMap::new(), body.to_string().into()), now());
        prop_assert!(check(body(&message)).is_ok());
        prop_assert_eq!(check(body(&other)).is_ok(), other == message);
    }

    #[test]
    fn what_paypal_signs_is_believed_and_no_changed_byte(
        body in proptest::collection::vec(any::<u8>(), 1..200),
        place in any::<prop::sample::Index>(),
        flip in 1_u8..,
    ) {
        let source = source("paypal", &format!("8PT597110X687430L\n{}", public()));
        let mut crc = flate2::Crc::new();
        crc.update(&body);
        let signature = rsa(&format!("id-1|2026-12-01T09:00:00Z|8PT597110X687430L|{}", crc.sum()));
        let sent = |body: Vec<u8>| {
            let mut headers = http::HeaderMap::new();
            for (name, value) in [
                ("paypal-transmission-id", "id-1"),
                ("paypal-transmission-time", "2026-12-01T09:00:00Z"),
                ("paypal-transmission-sig", &signature),
                ("paypal-auth-algo", "SHA256withRSA"),
            ] {
                headers.insert(name, value.parse().unwrap());
            }
            request(headers, body)
        };
        prop_assert!(source.verify(sent(body.clone()), now()).is_ok());
        let mut changed = body;
        let index = place.index(changed.len());
        changed[index] ^= flip;
        prop_assert_eq!(source.verify(sent(changed.clone()), now()).unwrap_err(), VerifyError::Mismatch);
        for name in ["paypal-transmission-id", "paypal-transmission-time", "paypal-transmission-sig", "paypal-auth-algo"] {
            let mut without = sent(changed.clone());
            without.headers.remove(name);
            prop_assert!(source.verify(without, now()).is_err(), "{}", name);
        }
    }
}

#[test]
fn every_changed_byte_of_paddle_classics_fields_is_noticed() {
    let vector = vector("paddle_classic-03");
    let source = source("paddle-classic", vector["secret"].as_str().unwrap());
    let original = sent("paddle_classic-03");
    assert!(source.verify(original.clone(), now()).is_ok());
    let signature = vector["body"].as_str().unwrap().find("p_signature").unwrap();
    let mut tried = 0;
    for index in 0..signature {
        for flip in [1_u8, 2, 4, 0x20] {
            let mut bytes = original.body.to_vec();
            bytes[index] ^= flip;
            // Digits of an escape may be written in either case: the field is the same.
            if bytes.eq_ignore_ascii_case(&original.body)
                && index >= 2
                && original.body[index - 2..index].contains(&b'%')
            {
                continue;
            }
            let forged = SignedRequest {
                body: bytes.into(),
                ..original.clone()
            };
            assert!(source.verify(forged, now()).is_err(), "{index} ^ {flip}");
            tried += 1;
        }
    }
    assert!(tried > 500);
}
