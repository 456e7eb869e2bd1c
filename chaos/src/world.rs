//! What one history knows and remembers: its time, its dice, its log, what was promised and what happened. The reference
//! that everything is compared with; it does nothing by itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use crate::{bucket::Objects, database::Embedded, sabotage::Sabotage};

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Promised, and gone or out of sight.
    Lost,
    /// Happened more than once, or might have.
    Doubled,
    /// Never came to an end.
    Stuck,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Stuck => "stuck",
        })
    }
}

/// How bad the days are, drawn once for a history.
#[derive(Debug)]
pub(crate) struct Weather {
    /// How long it storms.
    pub(crate) storm: Duration,
    /// Of a thousand calls to the database, so many meet something.
    pub(crate) database: u32,
    /// The longest that an answer of the database takes, in milliseconds.
    pub(crate) latency: u64,
    /// Of a hundred calls to a destination, so many meet something.
    pub(crate) destination: u32,
    /// Of a hundred messages, so many are lost.
    pub(crate) loss: u32,
    /// Of a hundred invocations, so many die at some time by themselves.
    pub(crate) crash: u32,
    /// Acts of people.
    pub(crate) acts: u32,
    /// Whether destinations mark what they repeat.
    pub(crate) marked: bool,
}

/// What a destination remembers of a key.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    pub(crate) first: Timestamp,
    pub(crate) body: Vec<u8>,
    /// The answer, once there is one.
    pub(crate) answer: Option<u16>,
}

/// Effect and event: what an effect is to the outside world.
pub(crate) type Identity = (String, String);

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) violations: Vec<(Kind, String)>,
    pub(crate) crashes: u64,
    pub(crate) steps: u64,
    /// Where each outbox item lies, as seen in a commit.
    pub(crate) places: BTreeMap<Identity, (String, String)>,
    /// Requests begun, and first answers given, by event.
    pub(crate) begun: BTreeMap<String, u32>,
    pub(crate) news: BTreeMap<String, u32>,
    pub(crate) acknowledged: BTreeSet<String>,
    /// What destinations remember: by destination and key.
    pub(crate) memory: BTreeMap<(String, String), Memory>,
    /// How often a destination acted, by effect and by key.
    pub(crate) acts: BTreeMap<Identity, u32>,
    pub(crate) acts_by_key: BTreeMap<String, u32>,
    pub(crate) keys: BTreeMap<Identity, BTreeSet<String>>,
    /// How often people decided to send under a new key.
    pub(crate) resends: BTreeMap<Identity, u32>,
    /// Events whose record was deleted after its expiry.
    pub(crate) expired: BTreeSet<String>,
}

/// One history.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) weather: Weather,
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) database: Embedded,
    /// Bodies outside the table.
    pub(crate) objects: Objects,
    /// Something is to be told of the queue.
    pub(crate) woken: Notify,
    /// The rule that failed has been mended.
    pub(crate) mended: AtomicBool,
    base: Timestamp,
    start: Instant,
    storm: AtomicBool,
    print: bool,
    dice: Mutex<fastrand::Rng>,
    book: Mutex<Book>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "World({})", self.seed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(seed: u64, database: Embedded, sabotage: Option<Sabotage>, print: bool) -> Arc<Self> {
        let mut dice = fastrand::Rng::with_seed(seed);
        let storms = [20, 20, 180, 180, 3_600, 25_000, 100_000];
        let weather = Weather {
            storm: Duration::from_secs(storms[dice.usize(..storms.len())]),
            database: [0, 20, 60, 150][dice.usize(..4)],
            latency: [2, 40, 40, 400][dice.usize(..4)],
            destination: [10, 40, 80][dice.usize(..3)],
            loss: [0, 10, 50, 100][dice.usize(..4)],
            crash: [0, 5, 20][dice.usize(..3)],
            acts: dice.u32(..8),
            marked: dice.bool(),
        };
        Arc::new(Self {
            seed,
            weather,
            sabotage,
            database,
            objects: Objects::default(),
            woken: Notify::new(),
            mended: AtomicBool::new(false),
            base: "2026-12-01T12:00:00Z".parse().unwrap(),
            start: Instant::now(),
            storm: AtomicBool::new(true),
            print,
            dice: Mutex::new(dice),
            book: Mutex::default(),
        })
    }

    /// The true time.
    pub(crate) fn now(&self) -> Timestamp {
        self.base + SignedDuration::try_from(self.start.elapsed()).unwrap()
    }

    pub(crate) fn storming(&self) -> bool {
        self.storm.load(Ordering::Relaxed)
    }

    pub(crate) fn calm_down(&self) {
        self.storm.store(false, Ordering::Relaxed);
        self.mended.store(true, Ordering::Relaxed);
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.book)
    }

    /// A number below `limit`.
    pub(crate) fn draw(&self, limit: u64) -> u64 {
        lock(&self.dice).u64(..limit.max(1))
    }

    /// So many in a hundred.
    pub(crate) fn chance(&self, of_hundred: u32) -> bool {
        self.draw(100) < u64::from(of_hundred)
    }

    /// So many in a hundred, while it storms.
    pub(crate) fn mishap(&self, of_hundred: u32) -> bool {
        self.storming() && self.chance(of_hundred)
    }

    /// Some time, shorter than `limit`.
    pub(crate) fn some(&self, limit: Duration) -> Duration {
        Duration::from_millis(self.draw(u64::try_from(limit.as_millis()).unwrap()))
    }

    /// One line of the history.
    pub(crate) fn say(&self, who: &str, what: impl FnOnce() -> String) {
        self.book().steps += 1;
        if self.print {
            println!("{:>12.3} {who:<9} {}", self.start.elapsed().as_secs_f64(), what());
        }
    }

    pub(crate) fn wrong(&self, kind: Kind, what: String) {
        self.say("CHECK", || format!("{kind}: {what}"));
        self.book().violations.push((kind, what));
    }

    /// A destination acts.
    pub(crate) fn act(&self, destination: &str, identity: &Identity, key: Option<&str>) {
        let mut book = self.book();
        *book.acts.entry(identity.clone()).or_default() += 1;
        let total = book.acts[identity];
        let allowed = 1 + book.resends.get(identity).copied().unwrap_or_default();
        let by_key = key.map(|key| {
            let count = book.acts_by_key.entry(key.to_owned()).or_default();
            *count += 1;
            *count
        });
        drop(book);
        self.say(destination, || format!("ACTS: {} of {}", identity.0, identity.1));
        match by_key {
            Some(times) if times > 1 => self.wrong(
                Kind::Doubled,
                format!(
                    "{} of {} happened {times} times under one key",
                    identity.0, identity.1
                ),
            ),
            None if destination == "keyless" && total > allowed => self.wrong(
                Kind::Doubled,
                format!(
                    "{} of {} happened {total} times, {allowed} allowed",
                    identity.0, identity.1
                ),
            ),
            _ => {}
        }
    }
}

/// Something that runs and can die: one environment of a function, or a person's terminal.
pub(crate) struct Process {
    pub(crate) world: Arc<World>,
    pub(crate) name: String,
    /// How far its clock is off, in milliseconds.
    skew: Mutex<i64>,
    death: Mutex<Arc<Notify>>,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl oncehook_core::clock::Clock for Process {
    fn now(&self) -> Timestamp {
        self.world.now() + SignedDuration::from_millis(*lock(&self.skew))
    }
}

impl Process {
    pub(crate) fn new(world: &Arc<World>, name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            world: Arc::clone(world),
            name: name.into(),
            skew: Mutex::new(0),
            death: Mutex::default(),
        })
    }

    /// Dies at once; whatever it was doing is never continued.
    pub(crate) async fn die<T>(&self) -> T {
        lock(&self.death).notify_one();
        std::future::pending().await
    }

    /// Runs one invocation; nothing comes back if it dies. Its clock may have jumped since the last one.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let world = &self.world;
        let death = Arc::new(Notify::new());
        *lock(&self.death) = Arc::clone(&death);
        let skew = *lock(&self.skew);
        *lock(&self.skew) = match world.storming() {
            true if world.chance(30) => i64::try_from(world.draw(20_000)).unwrap() - 10_000,
            true => skew,
            false => 0,
        };
        let life = world
            .mishap(world.weather.crash)
            .then(|| world.some(Duration::from_secs(4)));
        let end_of_life = async {
            match life {
                Some(life) => sleep(life).await,
                None => std::future::pending().await,
            }
        };
        let end = tokio::select! {
            biased;
            () = death.notified() => None,
            () = end_of_life => None,
            done = work => Some(done),
        };
        if end.is_none() {
            world.book().crashes += 1;
            world.say(&self.name, || "DIES".to_owned());
        }
        end
    }
}
