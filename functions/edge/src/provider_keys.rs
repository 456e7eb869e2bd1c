//! Public keys and certificates that a provider hands out, for `Source::verify_with`: Plaid's by its API, those of AWS SNS
//! and PayPal by URLs that `Source::wanted` has found to be theirs. And the visit that confirms a subscription of SNS.
//!
//! Asks pinned hosts only, in bounded time, for answers of bounded size, and not more often than a few times a minute,
//! since anybody can name a key that nobody has. What cannot be fetched is not known: the request is refused with 503.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, header::CONTENT_TYPE};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{secret::Secret, verify::PublicKey};
use serde_json::{Value, json};

use crate::connector::over_tls;

/// <https://plaid.com/docs/api/webhooks/webhook-verification/>
const PLAID: &str = "https://production.plaid.com";
/// The same for secrets that end with `:sandbox`.
const PLAID_SANDBOX: &str = "https://sandbox.plaid.com";
/// The whole question: providers wait some seconds for our answer.
const LIMIT: Duration = Duration::from_millis(1_500);
/// A key is some hundred bytes.
const MAX_ANSWER: usize = 16 * 1024;
/// How long a key is believed without asking again whether it has expired.
const FRESH: SignedDuration = SignedDuration::from_hours(1);
/// Keys held at once; Plaid has one or two.
const MAX_KEYS: usize = 16;
/// Questions of one kind in a minute.
const MAX_QUESTIONS: usize = 10;

/// The keys fetched by this environment.
#[derive(Default)]
pub struct ProviderKeys {
    /// Instead of the pinned hosts, for tests.
    origin: Option<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    keys: BTreeMap<(String, String), (Arc<PublicKey>, Timestamp)>,
    certificates: BTreeMap<String, (Bytes, Timestamp)>,
    /// When something was asked for lately, by what it was for: strangers who use up one of these do not use up others.
    asked: BTreeMap<String, VecDeque<Timestamp>>,
}

impl fmt::Debug for ProviderKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderKeys").finish_non_exhaustive()
    }
}

impl ProviderKeys {
    /// Keys from this origin instead of the provider's: a stand-in.
    #[must_use]
    pub fn at(origin: String) -> Self {
        Self {
            origin: Some(origin),
            state: Mutex::default(),
        }
    }

    /// The key of this id, fetched with `CLIENT_ID:SECRET` if it is not at hand. None if it cannot be had, is no key,
    /// or has expired; the log has the cause.
    pub async fn key(&self, credentials: &Secret, id: &str, now: Timestamp) -> Option<Arc<PublicKey>> {
        let (client_id, rest) = credentials.expose().split_once(':')?;
        let (secret, origin) = match rest.strip_suffix(":sandbox") {
            Some(secret) => (secret, PLAID_SANDBOX),
            None => (rest, PLAID),
        };
        let origin = self.origin.as_deref().unwrap_or(origin);
        let place = (format!("{origin} {client_id}"), id.to_owned());
        if let Some(key) = self.at_hand(&place, now) {
            return Some(key);
        }
        if !self.may_ask(&place.0, now) {
            tracing::warn!(
                origin,
                "a public key was not asked for: there were too many questions"
            );
            return None;
        }
        let question = json!({"client_id": client_id, "secret": secret, "key_id": id});
        let answer = tokio::time::timeout(LIMIT, ask(origin, &question)).await;
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                tracing::error!(origin, error, "a public key could not be fetched");
                return None;
            }
            Err(_) => {
                tracing::error!(origin, "a public key could not be fetched in time");
                return None;
            }
        };
        let jwk = &answer["key"];
        if !jwk["expired_at"].is_null() {
            tracing::warn!(origin, "the public key has expired");
            return None;
        }
        let Some(key) = PublicKey::from_jwk(jwk).map(Arc::new) else {
            tracing::error!(origin, "the answer holds no P-256 key");
            return None;
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.keys.len() >= MAX_KEYS {
            state.keys.clear();
        }
        state.keys.insert(place, (Arc::clone(&key), now));
        Some(key)
    }

    /// The certificate at a URL of a provider, for this source: at hand for an hour, then fetched again. One that cannot be
    /// had is the one from before, if there was one; none otherwise, and the log has the cause. What was fetched is at hand
    /// only once it was [kept](Self::keep).
    pub async fn certificate(&self, source: &str, url: &str, now: Timestamp) -> Option<Bytes> {
        let kept = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.certificates.get(url).cloned()
        };
        match kept {
            Some((pem, fetched)) if now.duration_since(fetched).abs() < FRESH => Some(pem),
            kept => self
                .get(source, url, "a certificate", now)
                .await
                .or(kept.map(|(pem, _)| pem)),
        }
    }

    /// Keeps a certificate under which a request was believed: it is at hand for an hour from now. Strangers can name any
    /// certificate of the provider's, so none is kept for being one.
    pub fn keep(&self, url: String, pem: Bytes, now: Timestamp) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = state.certificates.get(&url);
        if kept.is_some_and(|(_, since)| now.duration_since(*since).abs() < FRESH) {
            return;
        }
        if kept.is_none() && state.certificates.len() >= MAX_KEYS {
            state.certificates.clear();
        }
        state.certificates.insert(url, (pem, now));
    }

    /// Visits a URL of a provider. Whether it answered 2xx; the log has the cause if not.
    pub async fn visit(&self, source: &str, url: &str, now: Timestamp) -> bool {
        self.get(source, url, "a confirmation", now).await.is_some()
    }

    /// The answer to a GET request, in bounded time and size.
    async fn get(&self, source: &str, url: &str, what: &'static str, now: Timestamp) -> Option<Bytes> {
        if !self.may_ask(&format!("{source}: {what}"), now) {
            tracing::warn!(source, what, "was not asked for: there were too many questions");
            return None;
        }
        let path = url
            .strip_prefix("https://")
            .and_then(|rest| rest.find('/').map(|slash| &rest[slash..]));
        let request = match &self.origin {
            Some(origin) => Request::get(format!("{origin}{}", path?)),
            None => Request::get(url),
        };
        let request = request.body(Full::default()).ok()?;
        let answer = tokio::time::timeout(LIMIT, exchange(request)).await;
        match answer.unwrap_or(Err("no answer in time")) {
            Ok(body) => Some(body),
            Err(error) => {
                tracing::error!(
                    source,
                    what,
                    host = url.split('/').nth(2),
                    error,
                    "could not be had"
                );
                None
            }
        }
    }

    /// A key that was fetched lately.
    fn at_hand(&self, place: &(String, String), now: Timestamp) -> Option<Arc<PublicKey>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, fetched) = state.keys.get(place)?;
        (now.duration_since(*fetched).abs() < FRESH).then(|| Arc::clone(key))
    }

    /// Whether one more question of this kind may be asked now.
    fn may_ask(&self, kind: &str, now: Timestamp) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = state.asked.entry(kind.to_owned()).or_default();
        let minute = SignedDuration::from_mins(1);
        while asked
            .front()
            .is_some_and(|at| now.duration_since(*at).abs() >= minute)
        {
            asked.pop_front();
        }
        let may = asked.len() < MAX_QUESTIONS;
        if may {
            asked.push_back(now);
        }
        may
    }
}

async fn ask(origin: &str, question: &Value) -> Result<Value, &'static str> {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("{origin}/webhook_verification_key/get"))
        .header(CONTENT_TYPE, "application/json")
        .body(Full::from(question.to_string()))
        .map_err(|_| "the question cannot be put")?;
    serde_json::from_slice(&exchange(request).await?).map_err(|_| "the answer is not JSON")
}

/// The body of a 2xx answer. No redirect is followed.
async fn exchange(request: Request<Full<Bytes>>) -> Result<Bytes, &'static str> {
    let https = over_tls(None).map_err(|_| "the system's certificates cannot be read")?;
    let client = Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(0)
        .retry_canceled_requests(false)
        .build::<_, Full<Bytes>>(https);
    let answer = client.request(request).await.map_err(|_| "no answer")?;
    if !answer.status().is_success() {
        return Err("the answer is no 2xx");
    }
    let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
    Ok(body
        .map_err(|_| "the answer broke off or is too large")?
        .to_bytes())
}
