//! One table of facts per scheme: all that the engine knows about a provider.
//!
//! Sources are the providers' documents named at [`Scheme`] and their official libraries. Nothing is computed here.

use jiff::SignedDuration;

use super::{
    scheme::{Algorithm, Encoding, GenericScheme, Scheme, TimeUnit},
    signed::{Location, Part, SignedTemplate},
};

/// What a provider does. Lists of names and places are alternatives: the first that is present counts.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// Headers with the signature.
    pub(super) signature: Vec<String>,
    /// How that header is built.
    pub(super) form: Form,
    /// How a signature is written.
    pub(super) encoding: Encoding,
    /// The hash of the HMAC.
    pub(super) algorithm: Algorithm,
    /// What is signed.
    pub(super) signed: SignedTemplate,
    /// Where the time of signing is.
    pub(super) time: Option<Time>,
    /// How far that time may be from now, either way.
    pub(super) tolerance: SignedDuration,
    /// What a secret's text stands for.
    pub(super) key: KeyForm,
    /// Whether a request without a body can be genuine.
    pub(super) empty_body: bool,
    /// Whether bodies may be form-encoded.
    pub(super) forms: bool,
    /// A request that is answered and is no event.
    pub(super) handshake: Option<Handshake>,
    /// The event's id.
    pub(super) id: Vec<Location>,
    /// The parts of the event's kind and what joins them.
    pub(super) kind: (Vec<Vec<Location>>, &'static str),
    /// When the event happened.
    pub(super) occurred_at: Vec<Location>,
    /// Whether the time of signing stands in where `occurred_at` has nothing.
    pub(super) occurred_when_signed: bool,
    /// The parts of the scope, joined by colons.
    pub(super) scope: Vec<ScopePart>,
    /// How long the provider waits for an answer.
    pub(super) timeout: Option<SignedDuration>,
}

/// How the signature header is built.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// A prefix and a signature; several of them with a separator between.
    Plain {
        prefix: String,
        separator: Option<String>,
    },
    /// `t=TIME,v1=SIGNATURE,..`: Stripe.
    Pairs,
    /// `VERSION,SIGNATURE ..`: Standard Webhooks.
    Versioned,
}

/// Where the time of signing is.
#[derive(Debug, Clone)]
pub(super) struct Time {
    /// Headers; none if it is within the signature header.
    pub(super) headers: Vec<String>,
    /// Its unit.
    pub(super) unit: TimeUnit,
}

/// What a secret's text stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyForm {
    /// Its own bytes.
    Text,
    /// base64 after `whsec_` (optional), or an Ed25519 key after `whpk_` or `whsk_`.
    StandardWebhooks,
}

/// A request that asks for an echo.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handshake {
    /// JSON Pointer to what marks it.
    pub(super) mark: &'static str,
    /// The mark.
    pub(super) is: &'static str,
    /// JSON Pointer to what is echoed.
    pub(super) echo: &'static str,
}

/// A part of the scope.
#[derive(Debug, Clone)]
pub(super) struct ScopePart {
    /// Where it is.
    pub(super) places: Vec<Location>,
    /// What true and false are called.
    pub(super) names: Option<(&'static str, &'static str)>,
}

impl Facts {
    /// The table of a scheme.
    pub(super) fn of(scheme: &Scheme) -> Self {
        match scheme {
            Scheme::Stripe => Self {
                form: Form::Pairs,
                signed: SignedTemplate {
                    parts: vec![Part::Timestamp, text("."), Part::Body],
                },
                time: Some(Time {
                    headers: vec![],
                    unit: TimeUnit::Seconds,
                }),
                id: places(&["/id"]),
                kind: (vec![places(&["/type"])], ""),
                occurred_at: places(&["/created"]),
                // `context` is what `account` is called in v2.core.event.
                scope: vec![
                    ScopePart {
                        places: places(&["/account", "/context"]),
                        names: None,
                    },
                    ScopePart {
                        places: places(&["/livemode"]),
                        names: Some(("live", "test")),
                    },
                ],
                ..Self::plain("Stripe-Signature", "", Encoding::Hex)
            },
            Scheme::StandardWebhooks => Self::standard_webhooks(&["webhook"]),
            Scheme::Svix => Self::standard_webhooks(&["svix", "webhook"]),
            Scheme::GitHub => Self {
                forms: true,
                id: places(&["header:X-GitHub-Delivery"]),
                kind: (
                    vec![places(&["header:X-GitHub-Event"]), places(&["/action"])],
                    ".",
                ),
                timeout: Some(SignedDuration::from_secs(10)),
                ..Self::plain("X-Hub-Signature-256", "sha256=", Encoding::Hex)
            },
            Scheme::Shopify => Self {
                signature: strings(&["X-Shopify-Hmac-Sha256", "shopify-hmac-sha256"]),
                empty_body: false,
                id: places(&["header:X-Shopify-Webhook-Id", "header:shopify-webhook-id"]),
                kind: (
                    vec![places(&["header:X-Shopify-Topic", "header:shopify-topic"])],
                    "",
                ),
                occurred_at: places(&[
                    "header:X-Shopify-Triggered-At",
                    "header:shopify-triggered-at",
                ]),
                scope: scope(places(&[
                    "header:X-Shopify-Shop-Domain",
                    "header:shopify-shop-domain",
                ])),
                timeout: Some(SignedDuration::from_secs(5)),
                ..Self::plain("", "", Encoding::Base64)
            },
            Scheme::Slack => Self {
                signed: SignedTemplate {
                    parts: vec![text("v0:"), Part::Timestamp, text(":"), Part::Body],
                },
                time: Some(Time {
                    headers: strings(&["X-Slack-Request-Timestamp"]),
                    unit: TimeUnit::Seconds,
                }),
                forms: true,
                handshake: Some(Handshake {
                    mark: "/type",
                    is: "url_verification",
                    echo: "/challenge",
                }),
                id: places(&["/event_id", "/trigger_id"]),
                kind: (
                    vec![places(&["/type", "/command"]), places(&["/event/type"])],
                    "/",
                ),
                occurred_at: places(&["/event_time"]),
                scope: scope(places(&["/team_id", "/team/id", "/enterprise/id"])),
                timeout: Some(SignedDuration::from_secs(3)),
                ..Self::plain("X-Slack-Signature", "v0=", Encoding::Hex)
            },
            Scheme::Generic(generic) => Self::generic(generic),
        }
    }

    /// Whether the signature covers the event's id.
    pub(super) fn signs_id(&self) -> bool {
        self.signed.has(&Part::Id)
            || self.id.iter().all(|place| match place {
                Location::Pointer(_) => true,
                Location::Header(name) => self.signed.has_header(name),
            })
    }

    /// An HMAC-SHA-256 of the body in one header, keyed with the secret's text, and nothing known about events.
    fn plain(header: &str, prefix: &str, encoding: Encoding) -> Self {
        Self {
            signature: strings(&[header]),
            form: Form::Plain {
                prefix: prefix.to_owned(),
                separator: None,
            },
            encoding,
            algorithm: Algorithm::Sha256,
            signed: SignedTemplate {
                parts: vec![Part::Body],
            },
            time: None,
            tolerance: SignedDuration::from_mins(5),
            key: KeyForm::Text,
            empty_body: true,
            forms: false,
            handshake: None,
            id: vec![],
            kind: (vec![], ""),
            occurred_at: vec![],
            occurred_when_signed: false,
            scope: vec![],
            timeout: None,
        }
    }

    fn standard_webhooks(names: &[&str]) -> Self {
        let headers = |end: &str| {
            names
                .iter()
                .map(|name| format!("{name}-{end}"))
                .collect::<Vec<_>>()
        };
        Self {
            signature: headers("signature"),
            form: Form::Versioned,
            signed: SignedTemplate {
                parts: vec![Part::Id, text("."), Part::Timestamp, text("."), Part::Body],
            },
            time: Some(Time {
                headers: headers("timestamp"),
                unit: TimeUnit::Seconds,
            }),
            key: KeyForm::StandardWebhooks,
            id: headers("id").into_iter().map(Location::Header).collect(),
            kind: (vec![places(&["/type", "/event_type", "/eventType"])], ""),
            occurred_at: places(&["/timestamp"]),
            occurred_when_signed: true,
            timeout: Some(SignedDuration::from_secs(15)),
            ..Self::plain("", "", Encoding::Base64)
        }
    }

    fn generic(generic: &GenericScheme) -> Self {
        let time = generic.timestamp.as_ref();
        Self {
            form: Form::Plain {
                prefix: generic.prefix.clone(),
                separator: generic.separator.clone(),
            },
            algorithm: generic.algorithm,
            signed: generic.signed.clone(),
            time: time.map(|time| Time {
                headers: vec![time.header.clone()],
                unit: time.unit,
            }),
            id: vec![generic.id.clone()],
            kind: (
                generic.kind.iter().map(|kind| vec![kind.clone()]).collect(),
                "",
            ),
            occurred_at: generic.occurred_at.iter().cloned().collect(),
            scope: generic
                .scope
                .iter()
                .flat_map(|place| scope(vec![place.clone()]))
                .collect(),
            ..Self::plain(&generic.header, "", generic.encoding)
        }
    }
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn places(places: &[&str]) -> Vec<Location> {
    let place = |place: &&str| match place.strip_prefix("header:") {
        Some(name) => Location::Header(name.to_owned()),
        None => Location::Pointer((*place).to_owned()),
    };
    places.iter().map(place).collect()
}

fn scope(places: Vec<Location>) -> Vec<ScopePart> {
    vec![ScopePart {
        places,
        names: None,
    }]
}
