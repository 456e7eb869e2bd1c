//! One API to call: its configuration, its secret, its client and its permits. Builds requests; sends none.

use std::{
    fmt, io,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, header};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{client::legacy::Client as LegacyClient, rt::TokioExecutor};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    config::{Auth, DestinationConfig, KeyPlace, Kind},
    outbox::OutboxItem,
    plan::EffectBody,
    preset,
    secret::Secret,
    settle::Policy,
    timing::LEASE_BEYOND_CALL,
    verify::sign_standard_webhook,
};
use oncehook_edge::Signer;

use crate::{
    deliver::{EventBody, Unsendable},
    dial::Dial,
    permits::Permits,
};

/// The HTTP client of all destinations.
pub type Client = LegacyClient<HttpsConnector<Dial>, Full<Bytes>>;

/// A client that follows no redirect, repeats nothing and keeps no connection: a Lambda environment is frozen between
/// invocations, and a request on a connection that died meanwhile would end as "may have happened".
///
/// # Errors
/// When the system's root certificates cannot be read.
pub fn client() -> io::Result<Client> {
    client_over(Dial::tcp())
}

/// The same over connections of another kind.
///
/// # Errors
/// When the system's root certificates cannot be read.
pub fn client_over(dial: Dial) -> io::Result<Client> {
    let https = HttpsConnectorBuilder::new()
        .with_native_roots()?
        .https_or_http()
        .enable_http1()
        .wrap_connector(dial);
    Ok(LegacyClient::builder(TokioExecutor::new())
        .pool_max_idle_per_host(0)
        .retry_canceled_requests(false)
        .build(https))
}

/// A destination, ready to be called.
pub struct Destination {
    /// As configured.
    pub config: DestinationConfig,
    secret: RwLock<Given>,
    /// It refused its secret, which may therefore have been changed.
    refused: AtomicBool,
    pub(crate) client: Client,
    pub(crate) permits: Permits,
    /// Signs calls of AWS.
    pub(crate) signer: Option<Arc<Signer>>,
}

/// The secret that was given, and whether it can be used.
struct Given {
    secret: Option<Secret>,
    usable: bool,
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Destination")
            .field("name", &self.config.name)
            .finish_non_exhaustive()
    }
}

impl Destination {
    /// A destination with its secret, if there is one. A secret that cannot be used counts as missing: the effects wait
    /// until it is mended.
    #[must_use]
    pub fn new(config: DestinationConfig, secret: Option<Secret>, client: Client) -> Self {
        let given = Given::new(&config, secret);
        Self {
            permits: Permits::new(config.concurrency),
            config,
            secret: RwLock::new(given),
            refused: AtomicBool::new(false),
            client,
            signer: None,
        }
    }

    /// The same, with what signs calls of AWS: a queue, function or bus cannot be reached without.
    #[must_use]
    pub fn signed_by(mut self, signer: Arc<Signer>) -> Self {
        self.signer = Some(signer);
        self
    }

    /// Takes the secret as it is now.
    pub(crate) fn renew(&self, secret: Option<Secret>) {
        let text = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose().to_owned());
        let mut given = self.secret.write().unwrap_or_else(PoisonError::into_inner);
        if text(&given.secret) != text(&secret) {
            *given = Given::new(&self.config, secret);
        }
    }

    /// The secret to call it with.
    pub(crate) fn secret(&self) -> Option<Secret> {
        let given = self.secret.read().unwrap_or_else(PoisonError::into_inner);
        given.secret.clone().filter(|_| given.usable)
    }

    /// Notes that it refused its secret.
    pub(crate) fn note_refusal(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }

    pub(crate) fn forget_refusal(&self) {
        self.refused.store(false, Ordering::Relaxed);
    }

    pub(crate) fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// What `settle` must know of it.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            key_retention: self
                .config
                .idempotency
                .as_ref()
                .map(|idempotency| idempotency.retention),
            replays_errors: self
                .config
                .idempotency
                .as_ref()
                .is_some_and(|idempotency| idempotency.stores_errors),
            on_ambiguous: self.config.on_ambiguous,
            timeout: self.config.timeout,
            gap: self
                .config
                .preset
                .map_or(SignedDuration::ZERO, |preset| preset.gap),
        }
    }

    /// The name of the secret that is configured and not there.
    #[must_use]
    pub fn missing_secret(&self) -> Option<&str> {
        self.config.secret.as_deref().filter(|_| self.secret().is_none())
    }

    /// How long a claim is held: one call and the time to settle it.
    #[must_use]
    pub fn lease(&self) -> SignedDuration {
        self.config.timeout + LEASE_BEYOND_CALL
    }

    /// Every form in which an answer could repeat the secret: itself, and with basic authentication its password and what
    /// went over the wire.
    pub(crate) fn shown_as(&self, secret: &Secret) -> Vec<String> {
        let text = secret.expose();
        let mut forms = vec![text.to_owned()];
        if let Auth::Basic(user) = &self.config.auth {
            let pair = user
                .as_ref()
                .map_or_else(|| text.to_owned(), |user| format!("{user}:{text}"));
            forms.push(STANDARD.encode(&pair));
            forms.extend(pair.split_once(':').map(|(_, password)| password.to_owned()));
        }
        forms.retain(|form| !form.is_empty());
        forms
    }

    /// The place in the body where the key goes, if it does.
    fn key_field(&self) -> Option<&str> {
        match &self.config.idempotency.as_ref()?.place {
            KeyPlace::Field(field) => Some(field),
            KeyPlace::Header(_) | KeyPlace::Message => None,
        }
    }

    /// What was committed for a queue is not sent to an HTTP API, nor the other way round.
    pub(crate) fn fits(&self, item: &OutboxItem) -> Result<(), Unsendable> {
        let calls = ["SendMessage", "Invoke", "PutEvents"];
        let method = item.request.method.as_str();
        let fits = match self.config.kind {
            Kind::Http => !calls.contains(&method),
            _ => method == self.config.method,
        };
        if fits {
            return Ok(());
        }
        Err(Unsendable(format!(
            "it was committed as {method}, and the destination now has kind = \"{}\": resend it with --render",
            self.config.kind.name()
        )))
    }

    pub(crate) fn request(
        &self,
        item: &OutboxItem,
        event: Option<EventBody>,
        secret: Option<&Secret>,
        now: Timestamp,
    ) -> Result<Request<Full<Bytes>>, Unsendable> {
        let rendered = &item.request;
        self.fits(item)?;
        let (body, content_type) = match (&rendered.body, event) {
            (EffectBody::Text(text), _) => (Bytes::from(text.clone()), rendered.content_type.clone()),
            (EffectBody::Event, Some(event)) => {
                (event.bytes, rendered.content_type.clone().or(event.content_type))
            }
            (EffectBody::Event, None) => {
                return Err(Unsendable("the event's body is no longer there".to_owned()));
            }
        };
        let body = match self.key_field() {
            Some(field) => with_key(&body, field, &item.idempotency_key)?,
            None => body,
        };
        let mut request = Request::builder()
            .method(rendered.method.as_str())
            .uri(rendered.url.as_str())
            .body(Full::new(body.clone()))
            .map_err(|error| Unsendable(format!("the stored request is not valid: {error}")))?;
        let headers = request.headers_mut();
        headers.insert(
            header::USER_AGENT,
            HeaderValue::from_static(concat!("oncehook/", env!("CARGO_PKG_VERSION"))),
        );
        if let Some(content_type) = content_type {
            headers.insert(header::CONTENT_TYPE, value("content-type", &content_type)?);
        }
        for (name, text) in &rendered.headers {
            headers.insert(header_name(name)?, value(name, text)?);
        }
        if let Some(idempotency) = &self.config.idempotency
            && let KeyPlace::Header(header) = &idempotency.place
        {
            let key = &item.idempotency_key;
            let key = if idempotency.quoted {
                format!("\"{key}\"")
            } else {
                key.clone()
            };
            headers.insert(header_name(header)?, value(header, &key)?);
        }
        for (name, mut value) in credentials(&self.config.auth, secret, &item.idempotency_key, &body, now)? {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(request)
    }
}

impl Given {
    fn new(config: &DestinationConfig, secret: Option<Secret>) -> Self {
        let checked = secret.as_ref().map(|secret| check_secret(config, secret));
        if let Some(Err(Unsendable(reason))) = &checked {
            tracing::error!(destination = %config.name, %reason, "its effects wait until its secret is mended");
        }
        Self {
            secret,
            usable: matches!(checked, Some(Ok(()))),
        }
    }
}

/// Whether a destination can be called with a secret.
///
/// # Errors
/// With the reason, which shows nothing of the secret.
pub fn check_secret(config: &DestinationConfig, secret: &Secret) -> Result<(), Unsendable> {
    credentials(&config.auth, Some(secret), "check", b"", Timestamp::UNIX_EPOCH).map(|_| ())
}

fn credentials(
    auth: &Auth,
    secret: Option<&Secret>,
    key: &str,
    body: &[u8],
    now: Timestamp,
) -> Result<Vec<(HeaderName, HeaderValue)>, Unsendable> {
    let Some(secret) = secret else {
        return Ok(Vec::new());
    };
    match auth {
        Auth::None => Ok(Vec::new()),
        Auth::Bearer => {
            let bearer = value("authorization", &format!("Bearer {}", secret.expose()))?;
            Ok(vec![(header::AUTHORIZATION, bearer)])
        }
        Auth::Basic(user) => {
            let pair = match user {
                Some(user) => format!("{user}:{}", secret.expose()),
                None if secret.expose().contains(':') => secret.expose().to_owned(),
                None => {
                    return Err(Unsendable(
                        "the secret must be `user:password`, as auth = \"basic\" or the preset wants it"
                            .to_owned(),
                    ));
                }
            };
            let basic = value("authorization", &format!("Basic {}", STANDARD.encode(pair)))?;
            Ok(vec![(header::AUTHORIZATION, basic)])
        }
        Auth::Header(name) => Ok(vec![(header_name(name)?, value(name, secret.expose())?)]),
        Auth::StandardWebhooks => {
            let signed = sign_standard_webhook(secret, key, now, body)
                .map_err(|error| Unsendable(error.to_string()))?;
            signed
                .iter()
                .map(|(name, text)| Ok((header_name(name)?, value(name, text)?)))
                .collect()
        }
    }
}

/// The body with the key in it: the same bytes at every attempt.
fn with_key(body: &[u8], field: &str, key: &str) -> Result<Bytes, Unsendable> {
    let text = std::str::from_utf8(body).map_err(|_| Unsendable("the body is not text".to_owned()))?;
    preset::put(text, field, key).map(Bytes::from).map_err(Unsendable)
}

fn header_name(name: &str) -> Result<HeaderName, Unsendable> {
    name.parse()
        .map_err(|_| Unsendable(format!("`{name}` is no header name")))
}

/// The value itself never goes into the error: it may be a secret.
fn value(name: &str, text: &str) -> Result<HeaderValue, Unsendable> {
    text.parse().map_err(|_| {
        Unsendable(format!(
            "the value of the header `{name}` has characters that HTTP does not allow"
        ))
    })
}
