//! A destination's secret that is set or changed while drain runs: no deploy is needed.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::SignedDuration;
use oncehook_core::{config::Auth, config::Config};
use oncehook_drain::{Drain, handle};
use oncehook_edge::{SecretStore, local_ssm};
use oncehook_local::{
    behaviour::Behaviour, clock::ManualClock, database::Database, parameters::Parameters, queue,
    recorder::Recorder,
};
use oncehook_store::{Ledger, Queue, Wakeup, create_table};
use tokio::{sync::mpsc, time::Instant};

use crate::{
    drain::{PK, commit},
    world::{config, now},
};

const NAME: &str = "/oncehook/test/secrets";

struct World {
    drain: Drain,
    clock: Arc<ManualClock>,
    ssm: Parameters,
    mail: Recorder,
    _woken: mpsc::UnboundedReceiver<(Wakeup, Duration)>,
    _database: Database,
}

/// Two items for one destination, and a parameter with this text, if any.
async fn world(text: Option<&str>) -> World {
    let database = Database::start(None).unwrap();
    let client = oncehook_edge::local_dynamodb(&database.endpoint());
    create_table(&client, "oncehook").await.unwrap();
    let ledger = Ledger::new(client, "oncehook".into(), BTreeMap::new(), 4);
    let mail = Recorder::start(None).unwrap();
    commit(&ledger, &mail.endpoint(), &["first", "second"]).await;
    let ssm = Parameters::start().unwrap();
    if let Some(text) = text {
        ssm.put(NAME, text);
    }
    let clock = Arc::new(ManualClock::at(now()));
    let secrets = SecretStore::open(local_ssm(&ssm.endpoint()), NAME.into(), now()).await;
    let mut all = Config::parse(
        "[source.stripe]\nscheme = \"stripe\"\nsecret = \"stripe\"",
        "oncehook.toml",
    )
    .unwrap();
    let destination = config(&mail.endpoint(), Auth::Bearer);
    all.destinations.insert("mail".into(), destination);
    let (sender, woken) = mpsc::unbounded_channel();
    let queue = Queue::Local(sender);
    let drain = Drain::new(&all, Arc::new(secrets), ledger, queue, clock.clone()).unwrap();
    World {
        drain,
        clock,
        ssm,
        mail,
        _woken: woken,
        _database: database,
    }
}

impl World {
    async fn wake(&self, index: usize, probe: bool) {
        let (_, outbox) = self.drain.ledger.event(PK).await.unwrap().unwrap();
        let wakeup = Wakeup {
            key: outbox[index].key.clone(),
            destination: "mail".into(),
            tenant: String::new(),
            probe,
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        let answer = handle(&self.drain, queue::event(&[wakeup.to_json()]), deadline).await;
        assert!(answer.batch_item_failures.is_empty());
    }

    async fn states(&self) -> Vec<String> {
        let (_, outbox) = self.drain.ledger.event(PK).await.unwrap().unwrap();
        outbox.into_iter().map(|item| item.state).collect()
    }

    fn used(&self) -> Vec<String> {
        let received = self.mail.received();
        let used = received
            .iter()
            .map(|one| one.header("authorization").unwrap().to_owned());
        used.collect()
    }
}

#[tokio::test]
async fn a_secret_that_was_changed_is_used_after_a_refusal() {
    let world = world(Some(r#"{"mail": "re_old"}"#)).await;
    world.mail.next(Behaviour::Status(401, None));
    world.wake(0, false).await;
    assert_eq!(world.states().await, ["open", "open"]);
    world.ssm.put(NAME, r#"{"mail": ["re_new", "re_old"]}"#);
    world.clock.advance(SignedDuration::from_secs(20));
    world.wake(1, true).await;
    assert_eq!(world.used(), ["Bearer re_old", "Bearer re_new"]);
    assert_eq!(world.states().await, ["open", "done"]);
    world.clock.advance(SignedDuration::from_mins(6));
    world.wake(0, false).await;
    assert_eq!(world.states().await, ["done", "done"]);
}

#[tokio::test]
async fn refusals_lead_to_one_reading_a_minute() {
    let world = world(Some(r#"{"mail": "re_old"}"#)).await;
    for _ in 0..30 {
        world.mail.next(Behaviour::Status(403, None));
        world.wake(0, true).await;
        world.clock.advance(SignedDuration::from_secs(1));
    }
    assert_eq!(world.ssm.calls().len(), 2, "at start, and once since");
}

#[tokio::test]
async fn a_secret_that_is_set_for_the_first_time_is_found_without_a_deploy() {
    for before in [None, Some(r#"{"other": "x"}"#), Some(r#"{"mail": 5}"#)] {
        let world = world(before).await;
        world.wake(0, false).await;
        assert!(world.used().is_empty(), "nothing is sent without it");
        world.ssm.put(NAME, r#"{"mail": "re_1"}"#);
        world.clock.advance(SignedDuration::from_secs(10));
        world.wake(1, true).await;
        assert_eq!(world.used(), ["Bearer re_1"], "{before:?}");
    }
}

#[tokio::test]
async fn a_systems_manager_that_fails_does_not_keep_a_batch_from_its_deliveries() {
    let world = world(Some(r#"{"mail": "re_1"}"#)).await;
    world.clock.advance(SignedDuration::from_mins(6));
    world.ssm.next(Behaviour::Hang(Duration::from_secs(30)));
    let started = Instant::now();
    world.wake(0, false).await;
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    world.wake(1, false).await;
    assert_eq!(world.used(), ["Bearer re_1", "Bearer re_1"]);
    assert_eq!(
        world.ssm.calls().len(),
        2,
        "a failure is not repeated at every batch"
    );
}
