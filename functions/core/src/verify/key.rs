//! Secrets as keys, and the comparison of signatures: in constant time, by the libraries that compute them.
//!
//! Knows nothing of headers or of what is signed. What a secret's text stands for is read in `key::read`.

mod read;

use std::fmt;

use base64::{Engine as _, engine::general_purpose};
use ed25519_dalek::Signer as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use p256::ecdsa::signature::Verifier as _;
use ring::signature::{
    RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, RsaParameters,
    UnparsedPublicKey,
};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use subtle::ConstantTimeEq as _;

use super::{
    facts::Proof,
    scheme::{Algorithm, Encoding},
};

/// A piece of what is signed.
#[derive(Debug)]
pub(super) enum Piece {
    /// The request's body.
    Body,
    /// These bytes.
    Bytes(Vec<u8>),
    /// The name that the key's secret is.
    Name,
    /// One of these.
    Either(Vec<String>),
}

/// A signature as sent: bytes, and the version or key it claims where the provider writes one.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) label: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// A key made from a secret.
pub(super) struct Key {
    kind: Kind,
    /// The version or public key that its signatures are marked with.
    label: Option<String>,
    /// What its secret is where that is a name and no key.
    name: String,
}

/// The private halves only where requests are also made with them.
enum Kind {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
    Sha512(Hmac<Sha512>),
    /// The secret itself, hashed together with what is signed.
    Hash(Vec<u8>),
    /// The secret itself, sent along.
    Shared(Vec<u8>),
    Ed25519(
        Box<ed25519_dalek::VerifyingKey>,
        Option<Box<ed25519_dalek::SigningKey>>,
    ),
    P256 {
        public: Box<p256::ecdsa::VerifyingKey>,
        private: Option<Box<p256::ecdsa::SigningKey>>,
        der: bool,
    },
    /// PKCS #1 DER.
    Rsa {
        key: Vec<u8>,
        sha1: bool,
        sha256: bool,
    },
    /// Credentials with which keys are fetched, or a name: no key itself.
    Fetched,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key([redacted])")
    }
}

impl Key {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            label: None,
            name: String::new(),
        }
    }

    fn hmac(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, &'static str> {
        match algorithm {
            Algorithm::Sha1 => Hmac::new_from_slice(bytes).map(Kind::Sha1),
            Algorithm::Sha256 => Hmac::new_from_slice(bytes).map(Kind::Sha256),
            Algorithm::Sha512 => Hmac::new_from_slice(bytes).map(Kind::Sha512),
        }
        .map(Self::new)
        .map_err(|_| "it is no key for an HMAC")
    }

    /// Whether it stands for credentials, and keys have to be fetched with them.
    pub(super) fn is_fetched(&self) -> bool {
        matches!(self.kind, Kind::Fetched)
    }

    /// Whether one of the signatures is this key's over the pieces, one after the other.
    pub(super) fn verify(&self, body: &[u8], pieces: &[Piece], candidates: &[Candidate]) -> bool {
        self.verify_for(self, body, pieces, candidates)
    }

    /// As [`verify`](Self::verify), of signatures for the one that `named` stands for.
    pub(super) fn verify_for(
        &self,
        named: &Self,
        body: &[u8],
        pieces: &[Piece],
        candidates: &[Candidate],
    ) -> bool {
        let ours: Vec<&[u8]> = candidates
            .iter()
            .filter(|candidate| named.takes(candidate))
            .map(|candidate| candidate.bytes.as_slice())
            .collect();
        !ours.is_empty()
            && (0..spellings(pieces))
                .any(|spelling| self.matches(&spelled(body, pieces, spelling, &named.name), &ours))
    }

    /// Whether a signature can be meant for this key.
    pub(super) fn takes(&self, candidate: &Candidate) -> bool {
        self.label.is_none() || candidate.label == self.label
    }

    fn matches(&self, pieces: &[&[u8]], signatures: &[&[u8]]) -> bool {
        match &self.kind {
            Kind::Sha1(key) => {
                let mac = pieces
                    .iter()
                    .fold(key.clone(), |mac, piece| mac.chain_update(piece));
                signatures
                    .iter()
                    .any(|bytes| mac.clone().verify_slice(bytes).is_ok())
            }
            Kind::Sha256(key) => {
                let mac = pieces
                    .iter()
                    .fold(key.clone(), |mac, piece| mac.chain_update(piece));
                signatures
                    .iter()
                    .any(|bytes| mac.clone().verify_slice(bytes).is_ok())
            }
            Kind::Sha512(key) => {
                let mac = pieces
                    .iter()
                    .fold(key.clone(), |mac, piece| mac.chain_update(piece));
                signatures
                    .iter()
                    .any(|bytes| mac.clone().verify_slice(bytes).is_ok())
            }
            Kind::Hash(secret) => {
                let hash = hash(secret, pieces);
                signatures.iter().any(|bytes| bool::from(hash.ct_eq(bytes)))
            }
            Kind::Shared(secret) => {
                // Of their hashes, which are of one length.
                let secret = hash(secret, &[]);
                signatures
                    .iter()
                    .any(|bytes| bool::from(secret.ct_eq(&hash(bytes, &[]))))
            }
            Kind::Ed25519(key, _) => {
                let content = pieces.concat();
                signatures.iter().any(|bytes| {
                    ed25519_dalek::Signature::from_slice(bytes)
                        .is_ok_and(|signature| key.verify_strict(&content, &signature).is_ok())
                })
            }
            Kind::P256 { public, der, .. } => {
                let content = pieces.concat();
                signatures.iter().any(|bytes| {
                    let signature = p256_signature(bytes, *der);
                    signature.is_some_and(|signature| public.verify(&content, &signature).is_ok())
                })
            }
            Kind::Rsa { key, sha1, sha256 } => {
                let content = pieces.concat();
                let one = |parameters: &'static RsaParameters| {
                    let key = UnparsedPublicKey::new(parameters, key);
                    signatures.iter().any(|bytes| key.verify(&content, bytes).is_ok())
                };
                (*sha256 && one(&RSA_PKCS1_2048_8192_SHA256))
                    || (*sha1 && one(&RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY))
            }
            Kind::Fetched => false,
        }
    }

    /// The signature over the pieces, in their first spelling; none for a key that only verifies.
    pub(super) fn sign(&self, body: &[u8], pieces: &[Piece]) -> Option<Vec<u8>> {
        let pieces = spelled(body, pieces, 0, &self.name);
        match &self.kind {
            Kind::Sha1(key) => {
                let mac = pieces
                    .iter()
                    .fold(key.clone(), |mac, piece| mac.chain_update(piece));
                Some(mac.finalize().into_bytes().to_vec())
            }
            Kind::Sha256(key) => {
                let mac = pieces
                    .iter()
                    .fold(key.clone(), |mac, piece| mac.chain_update(piece));
                Some(mac.finalize().into_bytes().to_vec())
            }
            Kind::Sha512(key) => {
                let mac = pieces
                    .iter()
                    .fold(key.clone(), |mac, piece| mac.chain_update(piece));
                Some(mac.finalize().into_bytes().to_vec())
            }
            Kind::Hash(secret) => Some(hash(secret, &pieces)),
            Kind::Shared(secret) => Some(secret.clone()),
            Kind::Ed25519(_, private) => private
                .as_ref()
                .map(|private| private.sign(&pieces.concat()).to_bytes().to_vec()),
            Kind::P256 { private, der, .. } => private.as_ref().map(|private| {
                let signature: p256::ecdsa::Signature = private.sign(&pieces.concat());
                if *der {
                    signature.to_der().as_bytes().to_vec()
                } else {
                    signature.to_bytes().to_vec()
                }
            }),
            Kind::Rsa { .. } | Kind::Fetched => None,
        }
    }

    /// What its signatures are marked with.
    pub(super) fn label(&self) -> &str {
        self.label.as_deref().unwrap_or_default()
    }
}

/// Whether bytes have the shape of a signature of this kind.
pub(super) fn well_formed(proof: Proof, bytes: &[u8]) -> bool {
    match proof {
        Proof::Ed25519 => bytes.len() == ed25519_dalek::SIGNATURE_LENGTH,
        Proof::P256 { der } => p256_signature(bytes, der).is_some(),
        _ => true,
    }
}

fn p256_signature(bytes: &[u8], der: bool) -> Option<p256::ecdsa::Signature> {
    if der {
        p256::ecdsa::Signature::from_der(bytes).ok()
    } else {
        p256::ecdsa::Signature::from_slice(bytes).ok()
    }
}

fn hash(first: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
    let hash = Sha256::new().chain_update(first);
    let hash = pieces.iter().fold(hash, |hash, piece| hash.chain_update(piece));
    hash.finalize().to_vec()
}

/// In how many ways the pieces may have been spelled.
fn spellings(pieces: &[Piece]) -> usize {
    let count = |piece: &Piece| match piece {
        Piece::Either(spellings) => spellings.len(),
        _ => 1,
    };
    pieces.iter().map(count).max().unwrap_or(1)
}

fn spelled<'a>(body: &'a [u8], pieces: &'a [Piece], spelling: usize, name: &'a str) -> Vec<&'a [u8]> {
    let piece = |piece: &'a Piece| match piece {
        Piece::Body => body,
        Piece::Bytes(bytes) => bytes,
        Piece::Name => name.as_bytes(),
        Piece::Either(spellings) => spellings
            .get(spelling)
            .or(spellings.last())
            .map_or(&[][..], String::as_bytes),
    };
    pieces.iter().map(piece).collect()
}

impl Encoding {
    /// The bytes of a signature; none if it is not written in this encoding.
    pub(super) fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => hex::decode(text).ok(),
            Self::LowerHex if text.bytes().any(|byte| byte.is_ascii_uppercase()) => None,
            Self::LowerHex => hex::decode(text).ok(),
            Self::Base64 => general_purpose::STANDARD_PAD_INDIFFERENT.decode(text).ok(),
            Self::Text => Some(text.as_bytes().to_vec()),
        }
    }

    /// The bytes as providers write them.
    pub(super) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex | Self::LowerHex => hex::encode(bytes),
            Self::Base64 => general_purpose::STANDARD.encode(bytes),
            Self::Text => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}
