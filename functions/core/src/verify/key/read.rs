//! What a secret's text stands for: raw text, hex, base64, PEM, a JWK, or a pair of keys.
//!
//! Never shows any of it, in an error least of all.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose},
};
use ed25519_dalek::{SigningKey, VerifyingKey};
use jiff::Timestamp;
use p256::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _, SubjectPublicKeyInfoRef};
use serde_json::Value;
use sha1::{Digest as _, Sha1};

use super::{Key, Kind};
use crate::{
    secret::{Secret, SecretError},
    verify::{
        certificate::Issued,
        facts::{Facts, Form, KeyForm, Proof},
        scheme::Algorithm,
    },
};

/// Secrets are written by people: padded or not, and with bits left over at the end.
const SECRET_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What a private key of 32 bytes in hex begins with. Only who makes requests has one: for trying a source out.
const PRIVATE: &str = "private:";

/// A key whose private half nobody has, for sources that are only looked at.
const NOBODYS: &str = "-----BEGIN PUBLIC KEY-----\n\
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAnjh9jHTve2PHrVguRpaM\n\
kwKkeEFwuaEPLe9UHH2BI65WQquYF0r4K2iuqGlTCcSA5qOvF3qwpbGOOQoeK3zR\n\
1FMVzvnz4a8RPQom0G4WEqSmoOQ1groulYSt9ofSLJXeowxJSrJdgldJuM7WtBQd\n\
PtvRJUexz2nuCDiCucd2FCoTYbUJX2qHsxSGJwWzWqy5hmSFYB9zk7RfhkWaE98j\n\
x8wRIR3xaDQTbjKYzrQ1rHvkPBLb8dUDgmOtuextN+/DRF3UGFePbu8+9SwXlQ6A\n\
DD77MptgQqMCuZEPn1F5vUJoiORwLZuYjjegfCmparoZdMJKfw/mp82F6eyAclQU\n\
XQIDAQAB\n\
-----END PUBLIC KEY-----";

impl Key {
    /// The key that a secret's text stands for.
    pub(in crate::verify) fn read(facts: &Facts, secret: &Secret) -> Result<Self, SecretError> {
        // Where a variable holds one line, line feeds of PEM are written as two characters.
        let lines = secret.expose().replace("\\n", "\n");
        let text = if lines.starts_with("-----") {
            lines.as_str()
        } else {
            secret.expose()
        };
        let key = match (facts.key, facts.proof) {
            (KeyForm::StandardWebhooks, _) => Self::standard_webhooks(text),
            (KeyForm::Hex, Proof::Hmac(algorithm)) => match hex::decode(text.trim()) {
                Ok(bytes) if !bytes.is_empty() => Self::hmac(algorithm, &bytes),
                _ => Err("hex is expected: an even number of digits 0-9 and A-F"),
            },
            (KeyForm::Pair, _) => Self::pair(text),
            (KeyForm::Ed25519, _) => Self::ed25519(text.trim()),
            (KeyForm::P256, Proof::P256 { der }) => Self::p256(text.trim(), der),
            (KeyForm::Credentials, Proof::P256 { der }) => match Self::p256(text.trim(), der) {
                Err(_)
                    if text
                        .split_once(':')
                        .is_some_and(|(id, secret)| !id.is_empty() && !secret.is_empty()) =>
                {
                    Ok(Self::new(Kind::Fetched))
                }
                Err(_) => Err("CLIENT_ID:SECRET is expected, or a P-256 public key"),
                key => key,
            },
            (_, Proof::Hmac(algorithm)) => Self::hmac(algorithm, text.as_bytes()),
            (_, Proof::Hash) => Ok(Self::new(Kind::Hash(text.into()))),
            (_, Proof::SharedSecret) => Ok(Self::new(Kind::Shared(text.into()))),
            (KeyForm::Rsa, Proof::Rsa { sha1, sha256 }) => rsa(text)
                .map(|key| Self::new(Kind::Rsa { key, sha1, sha256 }))
                .ok_or("an RSA public key in PEM is expected"),
            (KeyForm::Named(issued), Proof::Rsa { sha1, sha256 }) => Self::named(
                &secret.expose().replace("\\n", "\n"),
                &issued,
                facts,
                (sha1, sha256),
            ),
            (_, Proof::Ed25519 | Proof::P256 { .. } | Proof::Rsa { .. }) => {
                Err("its scheme has no form of key")
            }
        };
        key.map_err(|reason| SecretError::Unusable {
            name: secret.name().to_owned(),
            reason,
        })
    }

    /// Standard Webhooks, "Signature scheme": `whsec_` (optional here), `whpk_` and `whsk_`, then base64.
    fn standard_webhooks(text: &str) -> Result<Self, &'static str> {
        let decode = |text: &str| SECRET_BASE64.decode(text).ok();
        let label = |label: &str| {
            let label = label.to_owned();
            move |key: Self| Self {
                label: Some(label),
                ..key
            }
        };
        if let Some(public) = text.strip_prefix("whpk_") {
            let bytes = decode(public).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            let key = bytes.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
            let key = key.map(|key| Self::new(Kind::Ed25519(Box::new(key), None)));
            return key
                .map(label("v1a"))
                .ok_or("after whpk_ an Ed25519 public key is expected");
        }
        if let Some(private) = text.strip_prefix("whsk_") {
            let bytes = decode(private).and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
            let key = bytes.and_then(|bytes| SigningKey::from_keypair_bytes(&bytes).ok());
            return key
                .map(Self::signing)
                .map(label("v1a"))
                .ok_or("after whsk_ an Ed25519 key pair is expected");
        }
        if text.starts_with("v1,") {
            return Err("it begins with `v1,`, which is no part of the secret: leave that out");
        }
        match decode(text.strip_prefix("whsec_").unwrap_or(text)) {
            Some(bytes) if !bytes.is_empty() => Self::hmac(Algorithm::Sha256, &bytes).map(label("v1")),
            _ => Err("base64 is expected, after whsec_ if it begins so"),
        }
    }

    /// A name, and the key of its messages if it follows.
    fn named(
        text: &str,
        issued: &Issued,
        facts: &Facts,
        (sha1, sha256): (bool, bool),
    ) -> Result<Self, &'static str> {
        let (name, pem) = match text.trim().split_once('\n') {
            Some((name, pem)) => (name.trim(), Some(pem.trim())),
            None => (text.trim(), None),
        };
        if name.is_empty() || name.starts_with("-----") {
            return Err("a name is expected first; a certificate may follow on the next lines");
        }
        let kind = match pem {
            None => Kind::Fetched,
            Some(pem) => {
                let key = rsa(pem).or_else(|| issued.pinned(pem.as_bytes()));
                let key = key.ok_or(
                    "after the name, the provider's certificate or an RSA public key in PEM is expected",
                )?;
                Kind::Rsa { key, sha1, sha256 }
            }
        };
        Ok(Self {
            label: matches!(facts.form, Form::For(_)).then(|| name.to_owned()),
            name: name.to_owned(),
            ..Self::new(kind)
        })
    }

    /// The key of a certificate that was fetched.
    pub(in crate::verify) fn certified(
        issued: &Issued,
        facts: &Facts,
        pem: &[u8],
        now: Timestamp,
    ) -> Option<Self> {
        let Proof::Rsa { sha1, sha256 } = facts.proof else {
            return None;
        };
        let key = issued.key(pem, now)?;
        Some(Self::new(Kind::Rsa { key, sha1, sha256 }))
    }

    fn signing(key: SigningKey) -> Self {
        Self::new(Kind::Ed25519(Box::new(key.verifying_key()), Some(Box::new(key))))
    }

    fn ed25519(text: &str) -> Result<Self, &'static str> {
        if let Some(seed) = private(text) {
            return Ok(Self::signing(SigningKey::from_bytes(&seed)));
        }
        let raw = hex::decode(text).ok().or_else(|| SECRET_BASE64.decode(text).ok());
        let raw = raw.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let key = match raw {
            Some(bytes) => VerifyingKey::from_bytes(&bytes).ok(),
            None => ed25519_dalek::pkcs8::DecodePublicKey::from_public_key_pem(text).ok(),
        };
        key.map(|key| Self::new(Kind::Ed25519(Box::new(key), None)))
            .ok_or("an Ed25519 public key is expected: 64 hex digits, base64 or PEM")
    }

    fn p256(text: &str, der: bool) -> Result<Self, &'static str> {
        let private = match private(text) {
            Some(scalar) => p256::ecdsa::SigningKey::from_slice(&scalar).ok(),
            None => p256::ecdsa::SigningKey::from_pkcs8_pem(text).ok(),
        };
        let public = match &private {
            Some(private) => Some(*private.verifying_key()),
            None => p256_public(text),
        };
        let public = public.ok_or("a P-256 public key is expected: base64 of its SPKI, PEM or JWK")?;
        Ok(Self::new(Kind::P256 {
            public: Box::new(public),
            private: private.map(Box::new),
            der,
        }))
    }

    /// A P-256 key from the JSON of a JWK, as providers hand them out.
    pub(in crate::verify) fn jwk(jwk: &Value) -> Option<Self> {
        let is = |name: &str, value: &str| jwk.get(name).and_then(Value::as_str) == Some(value);
        if !is("kty", "EC") || !is("crv", "P-256") {
            return None;
        }
        let part = |name: &str| {
            let text = jwk.get(name)?.as_str()?;
            let bytes = general_purpose::URL_SAFE_NO_PAD
                .decode(text.trim_end_matches('='))
                .ok()?;
            <[u8; 32]>::try_from(bytes).ok()
        };
        let point = [&[4][..], &part("x")?, &part("y")?].concat();
        let public = p256::ecdsa::VerifyingKey::from_sec1_bytes(&point).ok()?;
        Some(Self::new(Kind::P256 {
            public: Box::new(public),
            private: None,
            der: false,
        }))
    }

    /// Braintree signs with HMAC-SHA-1 under the SHA-1 of the private key, and names the public one.
    fn pair(text: &str) -> Result<Self, &'static str> {
        let pair = text.trim().split_once('|');
        let (public, private) = pair
            .filter(|(public, private)| !public.is_empty() && !private.is_empty())
            .ok_or("PUBLIC_KEY|PRIVATE_KEY is expected")?;
        let key = Self::hmac(Algorithm::Sha1, &Sha1::digest(private))?;
        Ok(Self {
            label: Some(public.to_owned()),
            ..key
        })
    }

    /// A secret's text of the form that a scheme takes, made of 32 bytes: for development and tests.
    pub(in crate::verify) fn text(facts: &Facts, seed: &[u8; 32]) -> String {
        match facts.key {
            KeyForm::Text | KeyForm::Hex => hex::encode(seed),
            KeyForm::StandardWebhooks => format!("whsec_{}", general_purpose::STANDARD.encode(seed)),
            KeyForm::Ed25519 => format!("{PRIVATE}{}", hex::encode(seed)),
            KeyForm::P256 | KeyForm::Credentials => {
                // Below the order of the group, whatever the rest is, and not zero.
                let mut scalar = *seed;
                scalar[0] &= 0x7f;
                scalar[31] |= 1;
                format!("{PRIVATE}{}", hex::encode(scalar))
            }
            KeyForm::Named(_) => hex::encode(seed),
            KeyForm::Rsa => NOBODYS.to_owned(),
            KeyForm::Pair => format!("{}|{}", hex::encode(&seed[..8]), hex::encode(&seed[8..])),
        }
    }
}

/// PKCS #1 DER of a key in PEM (SPKI).
fn rsa(text: &str) -> Option<Vec<u8>> {
    let (label, der) = der::pem::decode_vec(text.as_bytes()).ok()?;
    if label != "PUBLIC KEY" {
        return None;
    }
    let info = SubjectPublicKeyInfoRef::try_from(der.as_slice()).ok()?;
    info.subject_public_key.as_bytes().map(<[u8]>::to_vec)
}

fn p256_public(text: &str) -> Option<p256::ecdsa::VerifyingKey> {
    if text.starts_with('{') {
        let jwk = serde_json::from_str(text).ok()?;
        return match Key::jwk(&jwk)?.kind {
            Kind::P256 { public, .. } => Some(*public),
            _ => None,
        };
    }
    if text.starts_with("-----") {
        return p256::ecdsa::VerifyingKey::from_public_key_pem(text).ok();
    }
    let compact: String = text.split_ascii_whitespace().collect();
    let der = SECRET_BASE64.decode(compact).ok()?;
    p256::ecdsa::VerifyingKey::from_public_key_der(&der).ok()
}

fn private(text: &str) -> Option<[u8; 32]> {
    let bytes = hex::decode(text.strip_prefix(PRIVATE)?).ok()?;
    bytes.try_into().ok()
}
