//! The handler against the embedded database: one item from commit to settlement.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{clock::Clock, config::Auth, settle::Pause};
use oncehook_drain::{Destination, Drain, handle};
use oncehook_edge::{SecretStore, Secrets};
use oncehook_local::{clock::ManualClock, database::Database, sample};
use oncehook_store::{Commit, Keep, Ledger, OutboxView, Queue, Wakeup, create_table};
use tokio::{sync::mpsc, time::Instant};

use crate::{
    server::{Script, Server, status},
    world::{config, destination, now},
};

pub(crate) const PK: &str = "event#stripe#acct#evt_1";

pub(crate) struct World {
    drain: Drain,
    clock: Arc<ManualClock>,
    woken: mpsc::UnboundedReceiver<(Wakeup, Duration)>,
    wakeup: Wakeup,
    pub(crate) server: Server,
    database: Database,
}

async fn world(script: Script, secret: bool) -> World {
    world_with(script, |url| {
        let config = config(url, Auth::Bearer);
        match secret {
            true => destination(config),
            false => Destination::new(config, None, oncehook_drain::client().unwrap()),
        }
    })
    .await
}

pub(crate) async fn world_with(script: Script, mail: impl FnOnce(&str) -> Destination) -> World {
    let database = Database::start(None).unwrap();
    let client = oncehook_edge::local_dynamodb(&database.endpoint());
    create_table(&client, "oncehook").await.unwrap();
    let ledger = Ledger::new(client, "oncehook".into(), BTreeMap::new(), 4);
    let server = Server::start(script).await;
    commit(&ledger, &server.url, &["receipt"]).await;
    let (_, outbox) = ledger.event(PK).await.unwrap().unwrap();
    let wakeup = Wakeup {
        key: outbox[0].key.clone(),
        destination: "mail".into(),
        tenant: String::new(),
        probe: false,
    };
    let (sender, woken) = mpsc::unbounded_channel();
    let mail = mail(&server.url);
    let clock = Arc::new(ManualClock::at(now()));
    let destinations = [("mail".to_owned(), mail)].into();
    let drain = Drain {
        destinations,
        secrets: Arc::new(SecretStore::fixed(Secrets::default())),
        ledger,
        queue: Queue::Local(sender),
        clock: clock.clone(),
    };
    World {
        drain,
        clock,
        woken,
        wakeup,
        server,
        database,
    }
}

pub(crate) async fn commit(ledger: &Ledger, url: &str, effects: &[&str]) {
    let event = sample::event("evt_1");
    let decision = sample::decision(url, effects);
    let day = SignedDuration::from_hours(24);
    let keep = Keep {
        retention: day,
        keys_for: day,
    };
    let deadline = Instant::now() + Duration::from_secs(2);
    let commit = Commit {
        event: &event,
        decision: &decision,
        keep,
        now: now(),
        deadline,
    };
    ledger.commit(commit).await.unwrap();
}

impl World {
    async fn run(&self, bodies: &[String]) -> SqsBatchResponse {
        let mut event = SqsEvent::default();
        for (index, body) in bodies.iter().enumerate() {
            let mut message = SqsMessage::default();
            message.message_id = Some(index.to_string());
            message.body = Some(body.clone());
            event.records.push(message);
        }
        handle(&self.drain, event, Instant::now() + Duration::from_secs(20)).await
    }

    /// Every item of the table, as it is stored.
    pub(crate) async fn dump(&self) -> String {
        let client = oncehook_edge::local_dynamodb(&self.database.endpoint());
        let all = client.scan().table_name("oncehook").send().await.unwrap();
        format!("{:?}", all.items())
    }

    pub(crate) async fn wake(&self) {
        assert!(
            self.run(&[self.wakeup.to_json()])
                .await
                .batch_item_failures
                .is_empty()
        );
    }

    async fn item(&self) -> OutboxView {
        self.drain.ledger.event(PK).await.unwrap().unwrap().1.remove(0)
    }
}

#[tokio::test]
async fn an_item_is_delivered_once_however_often_it_is_woken() {
    let world = world(status("200 OK"), true).await;
    let body = world.wakeup.to_json();
    let answer = world
        .run(&[body.clone(), body.clone(), "junk".into(), body.clone()])
        .await;
    assert!(answer.batch_item_failures.is_empty());
    world.wake().await;
    assert_eq!(world.server.requests().len(), 1);
    assert_eq!(world.item().await.state, "done");
}

#[tokio::test]
async fn a_retry_is_woken_by_the_queue_and_keeps_its_key() {
    let mut world = world(status("503 Busy"), true).await;
    world.wake().await;
    let (_, delay) = world.woken.try_recv().unwrap();
    assert!(
        delay >= Duration::from_secs(1) && delay <= Duration::from_secs(6),
        "{delay:?}"
    );
    world.wake().await;
    assert_eq!(world.server.requests().len(), 1, "not before it is due");
    world.clock.advance(SignedDuration::from_secs(6));
    world.wake().await;
    let requests = world.server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1]);
}

#[tokio::test]
async fn a_refusal_is_dead() {
    let world = world(status("422 No"), true).await;
    world.wake().await;
    assert_eq!(world.item().await.state, "dead");
}

#[tokio::test]
async fn a_throttled_destination_is_left_alone_until_it_asked_for() {
    let answer = "HTTP/1.1 429 Slow\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n";
    let mut world = world(Script::Answer(answer.into()), true).await;
    world.wake().await;
    assert!(world.drain.ledger.paused("mail").await.unwrap().is_some());
    let (_, delay) = world.woken.try_recv().unwrap();
    assert!(delay >= Duration::from_secs(60), "{delay:?}");
    world.wake().await;
    assert_eq!(world.server.requests().len(), 1);
    assert!(
        world.woken.try_recv().is_err(),
        "a message that meets the pause does not keep itself alive"
    );
}

#[tokio::test]
async fn a_missing_secret_pauses_its_destination_and_sends_nothing() {
    let world = world(status("200 OK"), false).await;
    world.wake().await;
    assert_eq!(world.item().await.state, "open");
    assert!(world.server.requests().is_empty());
    assert!(world.drain.ledger.paused("mail").await.unwrap().is_some());
}

#[tokio::test]
async fn a_destination_that_is_no_longer_configured_parks_its_items() {
    let mut world = world(status("200 OK"), true).await;
    world.drain.destinations.clear();
    world.wake().await;
    assert_eq!(
        world.item().await.state,
        "open",
        "it may be on its way with a deployment"
    );
    world.clock.advance(SignedDuration::from_hours(2));
    world.wake().await;
    assert_eq!(world.item().await.state, "parked");
}

/// Panics at one call, counted from the first.
struct FaultyClock {
    calls: std::sync::atomic::AtomicU32,
    panics_at: u32,
}

impl Clock for FaultyClock {
    fn now(&self) -> Timestamp {
        let call = self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        assert_ne!(call, self.panics_at, "a defect of ours");
        now()
    }
}

#[tokio::test]
async fn a_panic_costs_its_item_the_lease_and_the_others_nothing() {
    let mut world = world(status("200 OK"), true).await;
    world.drain.clock = Arc::new(FaultyClock {
        calls: 0.into(),
        panics_at: 0,
    });
    let body = world.wakeup.to_json();
    let answer = world.run(&[body.clone(), body]).await;
    assert!(answer.batch_item_failures.is_empty());
    assert_eq!(world.item().await.state, "done", "the second message was handled");
}

#[tokio::test]
async fn a_probe_goes_through_a_pause_that_the_destination_did_not_ask_for_and_ends_it() {
    let world = world(status("200 OK"), true).await;
    let until = now() + SignedDuration::from_mins(5);
    let named = Pause {
        until,
        probe_from: until,
    };
    world.drain.ledger.pause("mail", named).await.unwrap();
    let probe = Wakeup {
        probe: true,
        ..world.wakeup.clone()
    };
    world.run(&[probe.to_json()]).await;
    assert!(world.server.requests().is_empty(), "Retry-After holds for all");

    world.drain.ledger.resume("mail", named).await.unwrap();
    let ours = Pause {
        until,
        probe_from: now(),
    };
    world.drain.ledger.pause("mail", ours).await.unwrap();
    world.clock.advance(SignedDuration::from_secs(31));
    world.wake().await;
    assert!(world.server.requests().is_empty(), "an ordinary wake-up waits");
    world.run(&[probe.to_json()]).await;
    assert_eq!(world.item().await.state, "done");
    assert_eq!(world.drain.ledger.paused("mail").await.unwrap(), None);
}

#[tokio::test]
async fn a_probe_that_is_refused_renews_the_pause() {
    let mut world = world(status("401 No"), true).await;
    world.wake().await;
    let first = world.drain.ledger.paused("mail").await.unwrap().unwrap();
    world.clock.advance(SignedDuration::from_mins(4));
    let (wakeup, _) = world.woken.try_recv().unwrap();
    assert!(!wakeup.probe);
    let probe = Wakeup {
        probe: true,
        ..wakeup
    };
    // Its own item waits for the end of the pause; the sweep would choose one that does not.
    world.run(&[probe.to_json()]).await;
    assert_eq!(world.server.requests().len(), 1);
    world.clock.advance(SignedDuration::from_mins(2));
    world.run(&[probe.to_json()]).await;
    assert_eq!(world.server.requests().len(), 2);
    assert!(world.drain.ledger.paused("mail").await.unwrap().unwrap().until > first.until);
    assert!(!world.woken.try_recv().unwrap().0.probe, "a retry is no probe");
}

#[tokio::test]
async fn each_metric_of_drain_is_emitted_once_for_an_attempt() {
    let lines = Arc::new(std::sync::Mutex::new(String::new()));
    let into = lines.clone();
    let _watching =
        oncehook_edge::metrics::watch(move |line| into.lock().unwrap().push_str(&format!("{line}\n")));
    for (answer, metric) in [
        ("200 OK", "Delivered"),
        ("503 Busy", "Retried"),
        ("422 No", "Dead"),
    ] {
        let world = world(status(answer), true).await;
        lines.lock().unwrap().clear();
        world.run(&[world.wakeup.to_json(), world.wakeup.to_json()]).await;
        let seen = lines.lock().unwrap().clone();
        assert_eq!(seen.lines().count(), 1, "{seen}");
        for part in [metric, "Attempts", "destination\":\"mail"] {
            assert!(seen.contains(part), "{part}: {seen}");
        }
        assert_eq!(
            seen.contains("ReceivedToDelivered"),
            metric == "Delivered",
            "{seen}"
        );
    }
    // A claim that was never settled, past the destination's memory.
    let world = world(status("503 Busy"), true).await;
    world.wake().await;
    world.clock.advance(SignedDuration::from_hours(25));
    lines.lock().unwrap().clear();
    world.wake().await;
    let seen = lines.lock().unwrap().clone();
    assert!(seen.contains("\"Parked\":1"), "{seen}");
}
