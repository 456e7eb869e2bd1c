//! Headers and secrets that are nearly right, one by one.

use http::{HeaderMap, HeaderValue};
use oncehook_core::{
    secret::Secret,
    verify::{
        Algorithm, Encoding, GenericScheme, Scheme, SignError, SignedTemplate, Source, TimeUnit, VerifyError,
        sign_standard_webhook,
    },
};

use crate::{
    vectors::{config, request},
    verify_laws::{NOW, at, generic, named, signed, source},
};

#[test]
fn stripe_headers_are_read_as_a_list() {
    let source = source(&named("stripe"), &[b"key"]);
    let good = signed(&source, b"{}", at(NOW))["stripe-signature"]
        .to_str()
        .unwrap()
        .to_owned();
    let check = |value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("stripe-signature", value.parse().unwrap());
        source
            .verify(request(headers, b"{}".to_vec()), at(NOW))
            .map(|verified| verified.signed_at())
    };
    assert_eq!(check(&format!("{good},v0=00,v2=x")), Ok(Some(at(NOW))));
    assert_eq!(check(&format!("{good},t=1")), Err(VerifyError::MalformedHeader));
    assert_eq!(check(&format!("{good},junk")), Err(VerifyError::MalformedHeader));
    assert_eq!(check(&good.replace("v1=", "v0=")), Err(VerifyError::Mismatch));
    assert_eq!(
        check(&good.replace("t=", "t=+")),
        Err(VerifyError::MalformedHeader)
    );
    assert_eq!(check(""), Err(VerifyError::MissingSignature));
}

#[test]
fn without_secrets_nothing_is_believed() {
    let config = config(named("github"), None);
    let source = Source::new(&config, vec![]).unwrap();
    let error = source
        .verify(request(HeaderMap::new(), vec![]), at(NOW))
        .unwrap_err();
    assert_eq!((error, error.reason()), (VerifyError::NoSecret, "no_secret"));
}

#[test]
fn an_ed25519_pair_signs_and_its_public_half_verifies_only() {
    // RFC 8032, section 7.1, test 1.
    let seed = hex::decode("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").unwrap();
    let public = hex::decode("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a").unwrap();
    let base64 = |bytes: &[u8]| base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes);
    let secret = |prefix: &str, bytes: &[u8]| {
        Secret::new("pair", &format!("{prefix}{}", base64(bytes)))
            .unwrap()
            .0
    };
    let (pair, public) = (
        secret("whsk_", &[&seed[..], &public].concat()),
        secret("whpk_", &public),
    );

    let config = config(named("standard-webhooks"), None);
    let sender = Source::new(&config, vec![pair]).unwrap();
    let receiver = Source::new(&config, vec![public.clone()]).unwrap();
    let headers = signed(&sender, b"{}", at(NOW));
    assert!(
        receiver
            .verify(request(headers.clone(), b"{}".to_vec()), at(NOW))
            .is_ok()
    );
    assert_eq!(
        receiver
            .verify(request(headers, b"{ }".to_vec()), at(NOW))
            .unwrap_err(),
        VerifyError::Mismatch
    );
    assert_eq!(
        receiver.sign("a", "b", b"", at(NOW), &HeaderMap::new()),
        Err(SignError::PublicKey)
    );
    let error = sign_standard_webhook(&public, "a", at(NOW), b"").unwrap_err();
    assert_eq!(
        error.to_string(),
        "secret `pair` cannot be used: a public key cannot sign"
    );
}

#[test]
fn undecodable_secrets_are_refused_by_name_and_not_shown() {
    for text in [
        "whsec_",
        "whsec_!!!!",
        "v1,whsec_AAAA",
        "whpk_AAAA",
        "whsk_AAAA",
        "whsec_ab cd",
    ] {
        let (secret, _) = Secret::new("clerk", text).unwrap();
        let error = Source::new(&config(named("svix"), None), vec![secret]).unwrap_err();
        assert!(
            error.to_string().starts_with("secret `clerk` cannot be used: "),
            "{error}"
        );
        assert!(text.len() < 7 || !format!("{error:?}").contains(text));
    }
}

#[test]
fn generic_schemes_say_what_does_not_fit() {
    let Scheme::Generic(fits) = generic(Encoding::Hex, Algorithm::Sha256, TimeUnit::Seconds) else {
        panic!("generic")
    };
    assert_eq!(fits.check(), Ok(()));
    let unsigned = SignedTemplate::parse("{body}").unwrap();
    assert!(
        GenericScheme {
            signed: unsigned,
            ..(*fits).clone()
        }
        .check()
        .is_err()
    );
    assert!(
        GenericScheme {
            timestamp: None,
            ..*fits
        }
        .check()
        .is_err()
    );
}

#[test]
fn generic_requests_lacking_a_signed_part_are_told_apart() {
    let source = source(
        &generic(Encoding::Hex, Algorithm::Sha256, TimeUnit::Seconds),
        &[b"key"],
    );
    let headers = signed(&source, b"{}", at(NOW));
    let with = |change: &dyn Fn(&mut HeaderMap)| {
        let mut headers = headers.clone();
        change(&mut headers);
        source
            .verify(request(headers, b"{}".to_vec()), at(NOW))
            .map(|verified| verified.secret())
    };
    let set = |name: &'static str, value: &'static [u8]| {
        move |headers: &mut HeaderMap| drop(headers.insert(name, HeaderValue::from_bytes(value).unwrap()))
    };
    assert_eq!(with(&|_| ()), Ok(0));
    assert_eq!(
        with(&|headers| drop(headers.remove("x-event"))),
        Err(VerifyError::MissingHeader)
    );
    assert_eq!(
        with(&|headers| drop(headers.remove("x-time"))),
        Err(VerifyError::MissingTimestamp)
    );
    assert_eq!(
        with(&|headers| drop(headers.remove("x-signature"))),
        Err(VerifyError::MissingSignature)
    );
    assert_eq!(with(&set("x-time", b"1e9")), Err(VerifyError::BadTimestamp));
    assert_eq!(
        with(&set("x-time", b"99999999999999999999")),
        Err(VerifyError::BadTimestamp)
    );
    assert_eq!(
        with(&set("x-signature", b"sig=00; sig=zz")),
        Err(VerifyError::Mismatch)
    );
    assert_eq!(
        with(&set("x-signature", b"00;11")),
        Err(VerifyError::MalformedHeader)
    );
    assert_eq!(
        with(&set("x-signature", b"\xff")),
        Err(VerifyError::MalformedHeader)
    );
    let several = |headers: &mut HeaderMap| {
        let value = format!("sig=00; {} ;other=1", headers["x-signature"].to_str().unwrap());
        headers.insert("x-signature", value.parse().unwrap());
    };
    assert_eq!(with(&several), Ok(0));
}

#[test]
fn versions_are_not_taken_for_one_another() {
    let source = source(&named("svix"), &[b"0123456789abcdef01234567"]);
    let headers = signed(&source, b"{}", at(NOW));
    let with = |change: &dyn Fn(&str) -> String| {
        let mut headers = headers.clone();
        let value = change(headers["svix-signature"].to_str().unwrap());
        headers.insert("svix-signature", value.parse().unwrap());
        source
            .verify(request(headers, b"{}".to_vec()), at(NOW))
            .map(|verified| verified.secret())
    };
    assert_eq!(with(&|good| format!("v2,AAAA v1,AAAA {good}")), Ok(0));
    for version in ["v1a,", "v2,", "V1,", ""] {
        assert_eq!(
            with(&|good| good.replace("v1,", version)),
            Err(VerifyError::Mismatch),
            "{version}"
        );
    }
}

#[test]
fn svix_headers_go_by_either_name() {
    let [svix, standard] = [named("svix"), named("standard-webhooks")].map(|it| source(&it, &[b"key"]));
    let receive = |source: &Source, headers| source.verify(request(headers, b"{}".to_vec()), at(NOW)).err();
    assert_eq!(receive(&svix, signed(&standard, b"{}", at(NOW))), None);
    assert_eq!(
        receive(&standard, signed(&svix, b"{}", at(NOW))),
        Some(VerifyError::MissingId)
    );
}
