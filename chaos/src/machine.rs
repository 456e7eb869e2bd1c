//! The functions of one deployment with what they run on: environments that die and come back, one queue, the sweeper's
//! clock, and the database's own deletion of what has expired.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use jiff::Timestamp;
use oncehook_core::{
    clock::Clock,
    config::Config,
    event::Event,
    plan::{Handler, Plan, PlanError},
    rules::Rules,
    verify::Source,
};
use oncehook_drain::{Client, Destination, Drain};
use oncehook_edge::{Environment, SecretStore, Secrets};
use oncehook_ingest::Ingest;
use oncehook_local::queue;
use oncehook_store::{Ledger, Queue, Wakeup};
use oncehook_sweep::Sweep;
use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use crate::{
    bucket::Bucket,
    database::{ACCOUNTS, TABLE, number, text},
    sabotage::Sabotage,
    wire::client,
    world::{Kind, Process, World},
};

/// The configuration, read once.
pub(crate) struct Setup {
    pub(crate) config: Config,
    secrets: Secrets,
    store: Arc<SecretStore>,
    pub(crate) rules: [Arc<Rules>; 2],
    client: Client,
}

const TEXT: &str = include_str!("chaos.toml");

impl Setup {
    pub(crate) fn new(client: Client) -> Self {
        let config = Config::parse(TEXT, "chaos.toml").unwrap();
        let mended = TEXT.replace("\"/data/object/refund\"", "\"/data/object/amount\"");
        let mended = Config::parse(&mended, "chaos.toml").unwrap();
        let environment = Environment::new(|name| match name {
            "ONCEHOOK_SECRET_STRIPE" => Some("whsec_for_chaos".to_owned()),
            "ONCEHOOK_SECRET_GITHUB" => Some("for_chaos".to_owned()),
            _ => None,
        });
        let rules = [&config, &mended].map(|config| Arc::new(Rules::new(config).unwrap()));
        Self {
            secrets: Secrets::read(&config, &environment),
            store: Arc::new(SecretStore::fixed(Secrets::read(&config, &environment))),
            rules,
            config,
            client,
        }
    }
}

/// The rules as they are, or as they have been mended.
pub(crate) struct Mending {
    world: Arc<World>,
    rules: [Arc<Rules>; 2],
}

impl Handler for Mending {
    fn plan(&self, event: &Event) -> Result<Plan, PlanError> {
        self.rules[usize::from(self.world.mended.load(Ordering::Relaxed))].plan(event)
    }
}

/// One message.
#[derive(Debug, Clone)]
struct Message {
    at: Timestamp,
    received: u32,
    wakeup: Wakeup,
}

/// The deployment.
pub(crate) struct Machine {
    pub(crate) world: Arc<World>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) sources: BTreeMap<&'static str, Source>,
    pub(crate) queue: Queue,
    ingests: Vec<(Arc<Process>, tokio::sync::Mutex<Ingest>)>,
    drains: Vec<Arc<Process>>,
    sweeper: (Arc<Process>, Sweep),
    messages: Mutex<Vec<Message>>,
}

/// Visibility: 6 x drain's time-out, which is the longest call and 20 s.
const VISIBILITY: Duration = Duration::from_secs(6 * 22);
/// Drain's time-out.
const INVOCATION: Duration = Duration::from_secs(22);

pub(crate) fn ledger(process: &Arc<Process>) -> Ledger {
    let tables = BTreeMap::from([("accounts".to_owned(), ACCOUNTS.to_owned())]);
    let bodies = Bucket(Arc::clone(process));
    Ledger::new(client(process), TABLE.to_owned(), tables, 1).with_bodies(Arc::new(bodies))
}

impl Machine {
    pub(crate) fn new(
        world: &Arc<World>,
        setup: &Arc<Setup>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<(Wakeup, Duration)>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let queue = Queue::Local(sender);
        let handler: Arc<dyn Handler> = Arc::new(Mending {
            world: Arc::clone(world),
            rules: setup.rules.clone(),
        });
        let ingest = |number: u32| {
            let process = Process::new(world, format!("ingest-{number}"));
            let clock: Arc<dyn Clock> = Arc::<Process>::clone(&process);
            let ingest = Ingest::new(
                &setup.config,
                Arc::clone(&setup.store),
                Arc::clone(&handler),
                ledger(&process),
                queue.clone(),
                clock,
            );
            (process, tokio::sync::Mutex::new(ingest))
        };
        let sweeper = Process::new(world, "sweep");
        let mut sweep = Sweep::new(&setup.config, ledger(&sweeper), queue.clone());
        if world.sabotage == Some(Sabotage::NeverSwept) {
            sweep.queue_limit = 0;
            sweep.destinations.clear();
        }
        let source = |name: &'static str| {
            let source = Source::new(&setup.config.sources[name], setup.secrets.all(name));
            (name, source.unwrap())
        };
        let machine = Self {
            ingests: (1..=3).map(ingest).collect(),
            drains: (1..=2)
                .map(|number| Process::new(world, format!("drain-{number}")))
                .collect(),
            sources: BTreeMap::from([source("stripe"), source("github")]),
            world: Arc::clone(world),
            setup: Arc::clone(setup),
            handler,
            queue,
            sweeper: (sweeper, sweep),
            messages: Mutex::default(),
        };
        (Arc::new(machine), receiver)
    }

    /// An environment of ingest takes the request, as soon as one is free.
    pub(crate) async fn receive(
        &self,
        request: lambda_http::Request,
    ) -> Option<lambda_http::Response<lambda_http::Body>> {
        let index = usize::try_from(self.world.draw(3)).unwrap();
        let (process, ingest) = &self.ingests[index];
        let ingest = ingest.lock().await;
        process.run(oncehook_ingest::handle(&ingest, request)).await
    }

    fn drain(&self, process: &Arc<Process>) -> Drain {
        let config = &self.setup.config;
        let destinations = config.destinations.values().map(|config| {
            let mut config = config.clone();
            if self.world.sabotage == Some(Sabotage::WindowTooLong)
                && let Some(keys) = &mut config.idempotency
            {
                keys.retention = keys.retention.saturating_mul(3);
            }
            let name = config.name.clone();
            (name, Destination::new(config, None, self.setup.client.clone()))
        });
        Drain {
            destinations: destinations.collect(),
            secrets: Arc::clone(&self.setup.store),
            ledger: ledger(process),
            queue: self.queue.clone(),
            clock: Arc::<Process>::clone(process),
        }
    }

    fn messages(&self) -> MutexGuard<'_, Vec<Message>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, wakeup: Wakeup, delay: Duration, received: u32) {
        let at = self.world.now() + delay;
        self.messages().push(Message { at, received, wakeup });
        self.world.woken.notify_waiters();
    }

    /// The queue: takes messages, loses some, doubles some, delays some.
    pub(crate) async fn pump(&self, mut sent: mpsc::UnboundedReceiver<(Wakeup, Duration)>) {
        let world = &self.world;
        while let Some((wakeup, delay)) = sent.recv().await {
            let (pk, sk) = wakeup.key.parts();
            if world.database.get(pk, sk).is_none() {
                world.wrong(Kind::Lost, format!("{} is woken before it is stored", wakeup.key));
            }
            let copies = match () {
                () if world.mishap(world.weather.loss) => 0,
                () if world.mishap(10) => 2,
                () => 1,
            };
            world.say("queue", || {
                format!("{} in {} s, {copies} times", wakeup.key, delay.as_secs())
            });
            for _ in 0..copies {
                let late = world.some(Duration::from_secs(if world.mishap(20) { 60 } else { 1 }));
                self.send(wakeup.clone(), delay + late, 0);
            }
        }
    }

    /// Some of the messages that are due, in any order.
    fn due(&self) -> Vec<Message> {
        let now = self.world.now();
        let mut messages = self.messages();
        let most = 1 + self.world.draw(10);
        let mut taken = Vec::new();
        while (taken.len() as u64) < most {
            let due: Vec<usize> = (0..messages.len())
                .filter(|index| messages[*index].at <= now)
                .collect();
            if due.is_empty() {
                break;
            }
            let index = due[usize::try_from(self.world.draw(due.len() as u64)).unwrap()];
            taken.push(messages.remove(index));
        }
        taken
    }

    /// Until a message is due, or there is a new one.
    async fn message(&self) {
        let woken = self.world.woken.notified();
        let next = self.messages().iter().map(|message| message.at).min();
        match next {
            Some(at) => {
                let wait = at.duration_since(self.world.now()).unsigned_abs();
                let _either = timeout(wait + Duration::from_millis(1), woken).await;
            }
            None => woken.await,
        }
    }

    /// One environment of drain, for ever: again from scratch whenever it dies.
    pub(crate) async fn work(&self, number: usize) {
        let process = &self.drains[number];
        let mut drain = self.drain(process);
        loop {
            let batch = self.due();
            if batch.is_empty() {
                self.message().await;
                continue;
            }
            let bodies: Vec<String> = batch.iter().map(|message| message.wakeup.to_json()).collect();
            let deadline = Instant::now() + INVOCATION;
            let handling = oncehook_drain::handle(&drain, queue::event(&bodies), deadline);
            // Whatever runs longer is killed.
            let end = process.run(timeout(INVOCATION, handling)).await;
            let failed: Vec<usize> = match end {
                Some(Ok(answer)) => {
                    let failures = answer.batch_item_failures.iter();
                    failures
                        .filter_map(|failure| failure.item_identifier.parse().ok())
                        .collect()
                }
                Some(Err(_)) => {
                    self.world
                        .wrong(Kind::Stuck, "drain did not end in time".to_owned());
                    (0..batch.len()).collect()
                }
                None => {
                    drain = self.drain(process);
                    (0..batch.len()).collect()
                }
            };
            for (index, message) in batch.into_iter().enumerate() {
                let again = failed.contains(&index) || self.world.mishap(5);
                // The fifth time it goes to the dead-letter queue.
                if again && message.received < 5 {
                    self.send(message.wakeup, VISIBILITY, message.received + 1);
                }
            }
        }
    }

    pub(crate) async fn sweep(&self) {
        if self.world.sabotage == Some(Sabotage::NeverSwept) {
            return;
        }
        let (process, sweep) = &self.sweeper;
        let swept = process.run(oncehook_sweep::handle(sweep, process.now())).await;
        self.world.say("sweep", || format!("{swept:?}"));
    }

    /// Sweeps now and then, seldom if it storms for long, but often enough.
    pub(crate) async fn sweep_on(&self) {
        let most = (self.world.weather.storm / 8).min(Duration::from_secs(4 * 3_600));
        loop {
            sleep(Duration::from_secs(1) + self.world.some(most)).await;
            if !self.world.storming() {
                // From here on the end of the history calls it.
                return std::future::pending().await;
            }
            self.sweep().await;
        }
    }

    /// The database deletes some of what has expired.
    pub(crate) fn expire(&self) {
        let world = &self.world;
        let now = world.now().as_second();
        let items = world.database.all(TABLE);
        let of = |name: &str, item: &serde_json::Value| text(item, name).unwrap_or_default();
        for item in &items {
            if number(item, "expires_at").is_none_or(|at| at > now) || world.chance(30) {
                continue;
            }
            let (pk, sk) = (of("pk", item), of("sk", item));
            world.say("expiry", || format!("deletes {pk} {sk}"));
            world
                .database
                .delete(TABLE, &json!({ "pk": { "S": pk }, "sk": { "S": sk } }));
            let id = of("event_id", item);
            let open = |item: &&serde_json::Value| {
                of("pk", item) == pk
                    && of("sk", item).starts_with("outbox#")
                    && !matches!(of("state", item).as_str(), "done" | "discarded")
            };
            if sk.starts_with("outbox#") && open(&item) {
                let what = format!("{pk} {sk} expired while {}", of("state", item));
                world.wrong(Kind::Lost, what);
            }
            if sk == "event" {
                if let Some(left) = items.iter().find(open) {
                    let what = format!("{pk} expired before {} ({})", of("sk", left), of("state", left));
                    world.wrong(Kind::Lost, what);
                }
                if matches!(of("outcome", item).as_str(), "failed" | "held") {
                    world.wrong(Kind::Lost, format!("{pk} expired while a person must see it"));
                }
                world.book().expired.insert(id);
            }
        }
        world.objects.expire(world);
    }
}
