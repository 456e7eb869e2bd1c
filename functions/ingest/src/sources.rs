//! The sources of the configuration with the secrets as they are now, and the check of a signature with them.
//!
//! A bad or missing secret stops its source and no other. Says nothing to the sender.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use jiff::Timestamp;
use oncehook_core::{
    config::{Config, SourceConfig},
    request::SignedRequest,
    secret::Secret,
    verify::{PublicKey, Received, Reply, Source, VerifyError, Wanted},
};
use oncehook_edge::{ProviderKeys, SecretStore, Secrets, Why, metrics::Line};

/// Every source of a configuration.
pub struct Sources {
    configs: BTreeMap<String, SourceConfig>,
    store: Arc<SecretStore>,
    armed: Mutex<Arc<Armed>>,
    keys: ProviderKeys,
}

/// The sources made with one state of the secrets.
struct Armed {
    secrets: Arc<Secrets>,
    sources: BTreeMap<String, Ready>,
}

/// A source with at least one usable secret.
struct Ready {
    source: Source,
    /// The secrets themselves, where keys are fetched with them.
    secrets: Vec<Secret>,
    /// Of each of its keys: the name of the secret, and which of its values it is, from 1.
    values: Vec<(String, usize)>,
}

/// What a provider handed out.
#[derive(Default)]
struct Fetched {
    key: Option<Arc<PublicKey>>,
    /// The certificate that the key is of, and its URL: kept once it is believed.
    certificate: Option<(String, Bytes)>,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.configs.keys()).finish()
    }
}

impl Sources {
    /// The sources of a configuration. What is wrong with their secrets is logged.
    #[must_use]
    pub fn new(config: &Config, store: Arc<SecretStore>) -> Self {
        let armed = Armed::new(&config.sources, &store);
        Self {
            configs: config.sources.clone(),
            store,
            armed: Mutex::new(Arc::new(armed)),
            keys: ProviderKeys::default(),
        }
    }

    /// Fetches public keys from a stand-in for their provider.
    #[must_use]
    pub fn with_keys(mut self, keys: ProviderKeys) -> Self {
        self.keys = keys;
        self
    }

    pub(crate) fn config(&self, name: &str) -> Option<&SourceConfig> {
        self.configs.get(name)
    }

    fn armed(&self) -> Arc<Armed> {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&armed.secrets, &self.store.current()) {
            *armed = Arc::new(Armed::new(&self.configs, &self.store));
        }
        Arc::clone(&armed)
    }

    /// What a genuine request says. Secrets that are old are read again first; if the signature does not match, or
    /// there is no secret, they are read again and the same request is looked at once more.
    pub(crate) async fn receive(
        &self,
        name: &str,
        request: &SignedRequest,
        now: Timestamp,
    ) -> Result<Received, VerifyError> {
        self.store.refresh(Why::Old, now).await;
        let before = self.armed();
        let error = match self.try_receive(&before, name, request, now).await {
            Ok(received) => return Ok(received),
            Err(error) => error,
        };
        let why = match error {
            VerifyError::Mismatch => Why::Refused,
            VerifyError::NoSecret => Why::Missing,
            _ => return Err(error),
        };
        self.store.refresh(why, now).await;
        let after = self.armed();
        if Arc::ptr_eq(&before, &after) {
            return Err(error);
        }
        self.try_receive(&after, name, request, now).await
    }

    /// The same with the secrets as they are.
    async fn try_receive(
        &self,
        armed: &Armed,
        name: &str,
        request: &SignedRequest,
        now: Timestamp,
    ) -> Result<Received, VerifyError> {
        let fetched = self.fetched(armed, name, request, now).await?;
        let received = armed.receive(name, request, now, fetched.key.as_deref())?;
        if let Some((url, pem)) = fetched.certificate {
            self.keys.keep(url, pem, now);
        }
        Ok(received)
    }

    /// What the provider hands out for this request, where that has to be fetched.
    async fn fetched(
        &self,
        armed: &Armed,
        name: &str,
        request: &SignedRequest,
        now: Timestamp,
    ) -> Result<Fetched, VerifyError> {
        let mut fetched = Fetched::default();
        let Some(ready) = armed.sources.get(name) else {
            return Ok(fetched);
        };
        match ready.source.wanted(request)? {
            None => {}
            Some(Wanted::Key(id)) => {
                for credentials in &ready.secrets {
                    fetched.key = self.keys.key(credentials, &id, now).await;
                    if fetched.key.is_some() {
                        break;
                    }
                }
            }
            Some(Wanted::Certificate(url)) => {
                let Some(pem) = self.keys.certificate(name, &url, now).await else {
                    return Ok(fetched);
                };
                fetched.key = ready.source.certified(&pem, now).map(Arc::new);
                if fetched.key.is_none() {
                    tracing::error!(source = %name, "the certificate is not the provider's, or not in force");
                }
                fetched.certificate = Some((url, pem));
            }
        }
        Ok(fetched)
    }
}

impl Sources {
    /// Visits a URL that the source has found to be its provider's; whether that was successful.
    pub(crate) async fn visit(&self, name: &str, url: &str, now: Timestamp) -> bool {
        self.keys.visit(name, url, now).await
    }

    /// The answer to an unsigned GET request about the endpoint; none if it may not be answered.
    pub(crate) async fn challenge(
        &self,
        name: &str,
        request: &SignedRequest,
        now: Timestamp,
    ) -> Option<Reply> {
        self.store.refresh(Why::Old, now).await;
        let armed = self.armed();
        armed.sources.get(name)?.source.challenge(request)
    }
}

impl Armed {
    fn new(configs: &BTreeMap<String, SourceConfig>, store: &SecretStore) -> Self {
        let secrets = store.current();
        let ready = configs.values().filter_map(|config| {
            let ready = Ready::new(config, &secrets, store)?;
            Some((config.name.clone(), ready))
        });
        Self {
            sources: ready.collect(),
            secrets: Arc::clone(&secrets),
        }
    }

    fn receive(
        &self,
        name: &str,
        request: &SignedRequest,
        now: Timestamp,
        key: Option<&PublicKey>,
    ) -> Result<Received, VerifyError> {
        let ready = self.sources.get(name).ok_or(VerifyError::NoSecret)?;
        let verified = ready.source.verify_with(request.clone(), now, key)?;
        let mut line = Line::new("ingest").by("source", name);
        line.put(
            "SecretPosition",
            f64::from(u32::try_from(verified.secret()).unwrap_or(u32::MAX)),
        );
        line.emit(now);
        if let Some((secret, value)) = ready.values.get(verified.secret())
            && verified.secret() > 0
        {
            tracing::info!(source = %name, %secret, value, "verified with an older secret");
        }
        Ok(ready.source.events(verified))
    }
}

impl Ready {
    /// A source with those of its secrets that its scheme can use; nothing if there is none.
    fn new(config: &SourceConfig, secrets: &Secrets, store: &SecretStore) -> Option<Self> {
        let mut usable = Vec::new();
        let mut values = Vec::new();
        for name in &config.secrets {
            for (index, secret) in secrets.all(name).into_iter().enumerate() {
                match Source::new(config, vec![secret.clone()]) {
                    Ok(_) => {
                        usable.push(secret);
                        values.push((name.clone(), index + 1));
                    }
                    Err(error) => {
                        let value = index + 1;
                        tracing::error!(source = %config.name, value, %error, "a value of its secret is left out");
                    }
                }
            }
        }
        if usable.is_empty() {
            let remedies: Vec<String> = config.secrets.iter().map(|name| store.remedy(name)).collect();
            let remedy = remedies.join(", or ");
            tracing::error!(source = %config.name, remedy, "no usable secret: this source answers 503 until there is one");
            return None;
        }
        let mut source = Source::new(config, usable.clone()).ok()?;
        let token = config.verify_token.as_ref().and_then(|name| secrets.first(name));
        if let Some(token) = token {
            source = source.with_verify_token(token);
        }
        let secrets = if config.scheme.fetches_keys() {
            usable
        } else {
            Vec::new()
        };
        Some(Self {
            source,
            secrets,
            values,
        })
    }
}
