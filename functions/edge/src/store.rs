//! Where secrets come from and when they are read again: fixed for a process on this machine, or the stack's parameter.
//!
//! Lambda freezes between requests, so nothing runs in the background: whoever needs fresh secrets asks for them in a
//! request, and [`SecretStore::refresh`] decides whether it is time. A reading that fails keeps the last good secrets.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;

use crate::{
    environment::variable,
    parameter::{Parameter, ReadError},
    secrets::Secrets,
};

/// Secrets older than this are read again.
const FRESH: SignedDuration = SignedDuration::from_mins(5);
/// After a reading that failed, old secrets serve at least so long before the next.
const AFTER_FAILURE: SignedDuration = SignedDuration::from_mins(1);
/// Refusals lead to a reading once in this time: anybody can send a wrong signature.
const AFTER_REFUSAL: SignedDuration = SignedDuration::from_mins(1);
/// Missing secrets are looked for once in this time.
const WHILE_MISSING: SignedDuration = SignedDuration::from_secs(5);

/// The longest that a reading may hold up a request that needs none.
const OLD_LIMIT: Duration = Duration::from_millis(200);
/// The longest where the request cannot be served without it.
const NEEDED_LIMIT: Duration = Duration::from_secs(1);
/// The longest at start, retries included.
const START_LIMIT: Duration = Duration::from_secs(3);
/// How often it is tried at start.
const START_TRIES: u32 = 5;

/// Why secrets should be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// They may be old. Asked at the start of every request.
    Old,
    /// A signature did not match, or a destination refused our credentials: they may have been changed.
    Refused,
    /// One that is needed is not there.
    Missing,
}

/// The secrets as they are now, and the way to read them again.
pub struct SecretStore {
    origin: Option<Parameter>,
    state: Mutex<State>,
    /// Held by the one reading in flight.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    secrets: Arc<Secrets>,
    /// What they were read from: unchanged text changes nothing and is not complained about again.
    text: Option<String>,
    read_at: Option<Timestamp>,
    tried_at: Option<Timestamp>,
    refused_at: Option<Timestamp>,
}

impl fmt::Debug for SecretStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameter = self.origin.as_ref().map(Parameter::name);
        f.debug_struct("SecretStore")
            .field("parameter", &parameter)
            .finish_non_exhaustive()
    }
}

impl SecretStore {
    /// Secrets that never change.
    #[must_use]
    pub fn fixed(secrets: Secrets) -> Self {
        Self::of(None, secrets)
    }

    /// The secrets of a parameter, read now, with retries. If that fails there are none yet: it is logged, and the
    /// first request that needs one reads again.
    pub async fn open(client: aws_sdk_ssm::Client, name: String, now: Timestamp) -> Self {
        let store = Self::of(Some(Parameter::new(client, name)), Secrets::default());
        if let Some(parameter) = &store.origin {
            store.state().tried_at = Some(now);
            let read = timeout(START_LIMIT, parameter.read_with_retries(START_TRIES)).await;
            store.take(parameter, read.unwrap_or(Err(ReadError::Slow)), now);
        }
        store
    }

    fn of(origin: Option<Parameter>, secrets: Secrets) -> Self {
        let state = State {
            secrets: Arc::new(secrets),
            ..State::default()
        };
        Self {
            origin,
            state: Mutex::new(state),
            reading: tokio::sync::Mutex::default(),
        }
    }

    /// The secrets as last read. Another `Arc` only if they changed.
    #[must_use]
    pub fn current(&self) -> Arc<Secrets> {
        Arc::clone(&self.state().secrets)
    }

    /// Whether they can change at all.
    #[must_use]
    pub fn can_change(&self) -> bool {
        self.origin.is_some()
    }

    /// What to do about a missing secret.
    #[must_use]
    pub fn remedy(&self, name: &str) -> String {
        match &self.origin {
            None => format!("set {}", variable("SECRET", name)),
            Some(parameter) => format!(
                "run `oncehook secret set {name} --parameter {}`",
                parameter.name()
            ),
        }
    }

    /// Reads again if it is time, and says whether it tried. One reading at a time: who needs it waits for the one in
    /// flight, who only finds the secrets old goes on.
    pub async fn refresh(&self, why: Why, now: Timestamp) -> bool {
        let Some(parameter) = &self.origin else {
            return false;
        };
        let _one = match (self.reading.try_lock(), why) {
            (Ok(guard), _) => guard,
            (Err(_), Why::Old) => return false,
            (Err(_), Why::Refused | Why::Missing) => self.reading.lock().await,
        };
        // Noted before the reading, so that one that is cut off counts, too.
        if !self.state().begin(why, now) {
            return false;
        }
        let limit = if why == Why::Old { OLD_LIMIT } else { NEEDED_LIMIT };
        let read = timeout(limit, parameter.read()).await;
        self.take(parameter, read.unwrap_or(Err(ReadError::Slow)), now);
        true
    }

    fn take(&self, parameter: &Parameter, read: Result<String, ReadError>, now: Timestamp) {
        let name = parameter.name();
        match read {
            Ok(text) if self.state().text.as_ref() == Some(&text) => self.state().read_at = Some(now),
            Ok(text) => match Secrets::parse(&text) {
                Ok(secrets) => {
                    let mut state = self.state();
                    state.secrets = Arc::new(secrets);
                    state.text = Some(text);
                    state.read_at = Some(now);
                    drop(state);
                    tracing::info!(parameter = name, "secrets read");
                }
                Err(error) => {
                    let kept = self.kept();
                    tracing::error!(parameter = name, %error, kept, "the parameter with the secrets is malformed");
                }
            },
            Err(error) => {
                let kept = self.kept();
                tracing::error!(parameter = name, %error, remedy = error.remedy(), kept, "secrets not read");
            }
        }
    }

    fn kept(&self) -> &'static str {
        match self.state().read_at {
            Some(_) => "the last good secrets stay in use",
            None => "there are no secrets yet",
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether it is time to read; if so, notes that it was tried.
    fn begin(&mut self, why: Why, now: Timestamp) -> bool {
        // A clock that was set back must not stop the reading.
        let over = |since: Option<Timestamp>, gap: SignedDuration| {
            since.is_none_or(|since| !(SignedDuration::ZERO..gap).contains(&now.duration_since(since)))
        };
        let due = match why {
            Why::Old => {
                self.read_at.is_some() && over(self.read_at, FRESH) && over(self.tried_at, AFTER_FAILURE)
            }
            Why::Refused => over(self.refused_at, AFTER_REFUSAL),
            Why::Missing => over(self.tried_at, WHILE_MISSING),
        };
        if due {
            self.tried_at = Some(now);
            if why == Why::Refused {
                self.refused_at = Some(now);
            }
        }
        due
    }
}
