//! The APIs that are called, over real HTTP on a connection in memory. They act and say so, act and do not say so, fail
//! before and after, are slow, remember keys as configured and forget them the moment they may.

use std::{
    fmt, io,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use jiff::SignedDuration;
use oncehook_drain::{Client, Dial, Line};
use serde_json::Value;
use tokio::time::sleep;

use crate::{
    database::{number, text},
    world::{Identity, Kind, Memory, World},
};

/// How long destinations with keys remember them: as in the configuration, and no second longer.
const RETENTION: SignedDuration = SignedDuration::from_hours(6);

/// Where the calls of the client lead at present.
#[derive(Clone, Default)]
pub(crate) struct Switchboard(Arc<Mutex<Weak<World>>>);

impl Switchboard {
    pub(crate) fn lead_to(&self, world: &Arc<World>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(world);
    }

    /// A client of all destinations.
    pub(crate) fn client(&self) -> Client {
        let board = self.clone();
        let dial = Dial::Given(Arc::new(move |uri| {
            let world = board.0.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
            Box::pin(async move { connect(world, &uri).await })
        }));
        oncehook_drain::client_over(dial).unwrap()
    }
}

async fn connect(world: Option<Arc<World>>, uri: &Uri) -> io::Result<Box<dyn Line>> {
    let world = world.ok_or(io::ErrorKind::ConnectionRefused)?;
    sleep(Duration::from_millis(1 + world.draw(20))).await;
    if world.mishap(world.weather.destination / 8) {
        world.say(uri.host().unwrap_or_default(), || {
            "refuses the connection".to_owned()
        });
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    let (ours, theirs) = tokio::io::duplex(16 * 1024);
    tokio::spawn(async move {
        let service = service_fn(move |request| answer(Arc::clone(&world), request));
        // It ends with an error where the connection is to break.
        let _ended = http1::Builder::new()
            .keep_alive(false)
            .serve_connection(TokioIo::new(theirs), service)
            .await;
    });
    Ok(Box::new(TokioIo::new(ours)))
}

/// The connection breaks.
#[derive(Debug)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection breaks")
    }
}

impl std::error::Error for Broken {}

type Answer = Result<Response<Full<Bytes>>, Broken>;

/// What a destination does with a request that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Act,
    ActAndBreak,
    ActAndFail,
    ActAndHang,
    ActLater,
    Fail,
    Unavailable,
    Break,
    Hang,
    Throttle,
    Unauthorized,
    Refuse,
    Conflict,
    Timeout,
    Redirect,
}

fn deed(world: &World) -> Deed {
    if !world.mishap(world.weather.destination) {
        return Deed::Act;
    }
    let deeds = [
        (5, Deed::ActAndBreak),
        (5, Deed::ActAndFail),
        (5, Deed::ActAndHang),
        (5, Deed::ActLater),
        (2, Deed::Fail),
        (5, Deed::Unavailable),
        (3, Deed::Break),
        (3, Deed::Hang),
        (3, Deed::Throttle),
        (1, Deed::Unauthorized),
        (1, Deed::Refuse),
        (2, Deed::Conflict),
        (1, Deed::Timeout),
        (1, Deed::Redirect),
    ];
    let mut left = world.draw(deeds.iter().map(|(weight, _)| weight).sum());
    for (weight, deed) in deeds {
        if left < weight {
            return deed;
        }
        left -= weight;
    }
    Deed::Act
}

async fn answer(world: Arc<World>, request: Request<Incoming>) -> Answer {
    let header = |name| {
        let value = request.headers().get(name);
        value.and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let name = request.uri().path().trim_start_matches('/').to_owned();
    let key = header("idempotency-key");
    let body = request
        .into_body()
        .collect()
        .await
        .map_err(|_| Broken)?
        .to_bytes();
    let call = Call {
        identity: identity(&body),
        world,
        name,
        key,
        body,
    };
    call.check();
    sleep(Duration::from_millis(call.world.draw(50))).await;
    call.answer().await
}

/// Effect and event: in the body that a template made, or of the event itself.
fn identity(body: &[u8]) -> Identity {
    let body: Value = serde_json::from_slice(body).unwrap();
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    match text("effect") {
        Some(effect) => (effect, text("event").unwrap()),
        None => ("forward".to_owned(), text("id").unwrap()),
    }
}

/// One request that arrived.
struct Call {
    world: Arc<World>,
    name: String,
    key: Option<String>,
    identity: Identity,
    body: Bytes,
}

impl Call {
    fn say(&self, what: &str) {
        let (effect, event) = &self.identity;
        self.world
            .say(&self.name, || format!("{what} ({effect} of {event})"));
    }

    /// What must hold whenever a request arrives.
    fn check(&self) {
        self.say("is called");
        let (effect, event) = &self.identity;
        let mut book = self.world.book();
        let place = book.places.get(&self.identity).cloned();
        let allowed = 1 + book.resends.get(&self.identity).copied().unwrap_or_default();
        let keys = self.key.as_ref().map(|key| {
            let keys = book.keys.entry(self.identity.clone()).or_default();
            keys.insert(key.clone());
            u32::try_from(keys.len()).unwrap()
        });
        drop(book);
        if let Some(keys) = keys
            && keys > allowed
        {
            self.world.wrong(
                Kind::Doubled,
                format!("{effect} of {event} comes under {keys} keys, {allowed} allowed"),
            );
        }
        let stored = place.and_then(|(pk, sk)| self.world.database.get(&pk, &sk));
        let Some(item) = stored else {
            let what = format!("{effect} of {event} is called, and its item is not stored");
            return self.world.wrong(Kind::Lost, what);
        };
        if text(&item, "maybe_sent_at").is_none() || number(&item, "attempts").is_none_or(|count| count < 1) {
            self.world.wrong(
                Kind::Doubled,
                format!("{effect} of {event} is called, and its item does not say that it may have happened"),
            );
        }
    }

    fn act(&self) {
        self.world.act(&self.name, &self.identity, self.key.as_deref());
    }

    async fn answer(self) -> Answer {
        let Some(key) = self.key.clone() else {
            let deed = deed(&self.world);
            return self.perform(deed).await;
        };
        let slot = (self.name.clone(), key);
        let now = self.world.now();
        let known = self.world.book().memory.get(&slot).cloned();
        match known.filter(|known| now < known.first + RETENTION) {
            Some(known) if known.body != self.body => {
                let (effect, event) = &self.identity;
                let what = format!("{effect} of {event} comes with another body under one key");
                self.world.wrong(Kind::Doubled, what);
                Ok(plain(422))
            }
            Some(Memory {
                answer: Some(status), ..
            }) => {
                self.say(&format!("repeats its {status}"));
                let mut answer = plain(status);
                if self.world.weather.marked {
                    let yes = http::HeaderValue::from_static("true");
                    answer.headers_mut().insert("idempotent-replayed", yes);
                }
                Ok(answer)
            }
            Some(_) => {
                self.say("says that the key is in use");
                Ok(plain(409))
            }
            None => {
                let deed = deed(&self.world);
                let memory = Memory {
                    first: now,
                    body: self.body.to_vec(),
                    answer: None,
                };
                self.world.book().memory.insert(slot, memory);
                self.perform(deed).await
            }
        }
    }

    /// What is answered from now on under this key; without an answer the key is as good as new.
    fn remember(&self, answer: Option<u16>) {
        let Some(key) = &self.key else { return };
        let slot = (self.name.clone(), key.clone());
        let mut book = self.world.book();
        match answer {
            Some(_) => {
                if let Some(memory) = book.memory.get_mut(&slot) {
                    memory.answer = answer;
                }
            }
            None => {
                book.memory.remove(&slot);
            }
        }
    }

    fn finish(&self, acts: bool, answer: Option<u16>) {
        if acts {
            self.act();
        }
        self.remember(answer);
    }

    async fn perform(self, deed: Deed) -> Answer {
        self.say(&format!("{deed:?}"));
        let stores_errors = self.name == "mail";
        match deed {
            Deed::Act => self.finish(true, Some(200)),
            Deed::ActAndBreak | Deed::ActAndHang => self.finish(true, Some(200)),
            Deed::ActAndFail => self.finish(true, Some(if stores_errors { 500 } else { 200 })),
            Deed::Fail => self.finish(false, stores_errors.then_some(500)),
            Deed::ActLater => {
                let delay = Duration::from_secs(3) + self.world.some(Duration::from_secs(27));
                tokio::spawn(async move {
                    sleep(delay).await;
                    self.finish(true, Some(200));
                });
                return std::future::pending().await;
            }
            _ => self.finish(false, None),
        }
        match deed {
            Deed::ActAndBreak | Deed::Break => Err(Broken),
            Deed::ActAndHang | Deed::Hang | Deed::ActLater => std::future::pending().await,
            Deed::Act => Ok(plain(200)),
            Deed::ActAndFail | Deed::Fail => Ok(plain(500)),
            Deed::Unavailable => Ok(plain(503)),
            Deed::Throttle => {
                let mut answer = plain(429);
                let wait = self.world.draw(120).to_string();
                answer.headers_mut().insert("retry-after", wait.parse().unwrap());
                Ok(answer)
            }
            Deed::Unauthorized => Ok(plain(401)),
            Deed::Refuse => Ok(plain(422)),
            Deed::Conflict => Ok(plain(409)),
            Deed::Timeout => Ok(plain(408)),
            Deed::Redirect => Ok(plain(302)),
        }
    }
}

fn plain(status: u16) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"{}")));
    *response.status_mut() = status.try_into().unwrap();
    response
}
