//! Bodies above 64 KiB: outside the table, there before the record that names them, and there as long as it does.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use jiff::SignedDuration;
use oncehook_core::{decide::Decision, event::Event, settle::Settlement, verify::Scheme};
use oncehook_local::faults::Fault;
use oncehook_store::{
    Actor, Bodies, BodyAnswer, BodyError, CommitError, Committed, Folder, OutboxKey, Replay, Replayed,
    StoreError,
};
use tokio::time::Instant;

use crate::{
    builders::{Build, apply, nothing, pk, rule, s, with_body},
    settle::settled,
    support::{KEEP, SPLIT, World, later, now},
};

/// A folder that can be told to fail, and that notes what is asked of it.
#[derive(Debug)]
struct Shelf {
    folder: Folder,
    path: PathBuf,
    fails: AtomicBool,
    asked: Mutex<Vec<String>>,
    _temporary: tempfile::TempDir,
}

impl Shelf {
    fn new() -> Arc<Self> {
        let temporary = tempfile::tempdir().unwrap();
        Arc::new(Self {
            folder: Folder::new(temporary.path().to_owned()),
            path: temporary.path().to_owned(),
            fails: AtomicBool::new(false),
            asked: Mutex::default(),
            _temporary: temporary,
        })
    }

    fn ask(&self, what: &str) -> Result<(), BodyError> {
        self.asked.lock().unwrap().push(what.to_owned());
        if self.fails.load(Ordering::Relaxed) {
            return Err(BodyError::Busy("as told by the test".to_owned()));
        }
        Ok(())
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// What is under `bodies` or `kept`, marks included.
    fn files(&self, folder: &str) -> Vec<String> {
        let mut names = Vec::new();
        for digest in std::fs::read_dir(self.path.join(folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            for file in std::fs::read_dir(digest.path()).unwrap().flatten() {
                let (digest, file) = (digest.file_name(), file.file_name());
                names.push(format!(
                    "{folder}/{}/{}",
                    digest.to_str().unwrap(),
                    file.to_str().unwrap()
                ));
            }
        }
        names
    }

    /// What the lifecycle deletes in the end.
    fn expire(&self) -> usize {
        let later = jiff::Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 200);
        self.folder
            .expire(SignedDuration::from_hours(24 * 32), later)
            .unwrap()
    }
}

impl Bodies for Shelf {
    fn put<'a>(&'a self, name: &'a str, body: Bytes) -> BodyAnswer<'a, ()> {
        Box::pin(async move {
            self.ask("put")?;
            self.folder.put(name, body).await
        })
    }

    fn get<'a>(&'a self, name: &'a str, most: usize) -> BodyAnswer<'a, Option<Bytes>> {
        Box::pin(async move {
            self.ask("get")?;
            self.folder.get(name, most).await
        })
    }

    fn copy<'a>(&'a self, from: &'a str, to: &'a str) -> BodyAnswer<'a, bool> {
        Box::pin(async move {
            self.ask("copy")?;
            self.folder.copy(from, to).await
        })
    }

    fn release<'a>(&'a self, name: &'a str) -> BodyAnswer<'a, ()> {
        Box::pin(async move {
            self.ask("release")?;
            self.folder.release(name).await
        })
    }
}

async fn world() -> (World, Arc<Shelf>) {
    let mut world = World::with_account().await;
    let shelf = Shelf::new();
    world.ledger = world.ledger.clone().with_bodies(Arc::<Shelf>::clone(&shelf));
    (world, shelf)
}

/// Bytes that no compression makes smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..length).map(|_| random.u8(..)).collect()
}

fn large(id: &str) -> Event {
    let mut body = id.as_bytes().to_vec();
    body.extend(noise(100_000));
    with_body(id, body)
}

impl World {
    /// The body as people and the drain read it.
    async fn body(&self, event: &Event) -> Option<Vec<u8>> {
        let (view, _) = self.ledger.event(&pk(&event.id)).await.unwrap().unwrap();
        view.body
    }

    /// Where it is said to lie.
    async fn place(&self, id: &str) -> String {
        match self.find(&pk(id), "body").await {
            Some(split) => s(&split, "body_at"),
            None => s(&self.record(id).await, "body_at"),
        }
    }

    async fn fail(&self, event: &Event) {
        self.new_record(event, &Decision::Fail("a rule is broken".to_owned()))
            .await;
    }

    async fn settle_once(&self, key: &OutboxKey, at: jiff::Timestamp, settlement: Settlement) {
        let (lease, item) = self.claimed(key, at).await;
        self.settle(&lease, &item, &settled(settlement), at).await;
    }
}

#[tokio::test]
async fn a_large_body_lies_outside_the_table_and_comes_back_as_it_was() {
    let (mut world, shelf) = world().await;
    for (id, keep, length) in [
        ("a", KEEP, 66_000),
        ("b", SPLIT, 66_000),
        ("c", KEEP, 6 * 1024 * 1024),
    ] {
        world.keep = keep;
        let event = with_body(id, noise(length));
        let decision = apply([rule("forward").effect("app")]);
        let record = world.new_record(&event, &decision).await;
        let place = world.place(id).await;
        assert!(
            place.starts_with("bodies/") && shelf.files("bodies").contains(&place),
            "{place}"
        );
        assert!(
            world
                .everything()
                .await
                .iter()
                .all(|item| !item.contains_key("body"))
        );
        let (body, kind) = world.ledger.body(&record.wakeups[0].key).await.unwrap().unwrap();
        assert!(body == event.body, "byte for byte");
        assert_eq!(kind.as_deref(), Some("application/json"));
        assert!(world.body(&event).await.unwrap() == event.body);
        let alone = world.ledger.event_alone(&pk(id)).await.unwrap().unwrap();
        assert!(alone.body.unwrap() == event.body);
    }
    assert_eq!(shelf.files("bodies").len(), 3);
    // What compresses well stays in the table.
    world
        .new_record(&with_body("text", vec![b'a'; 1_000_000]), &nothing())
        .await;
    assert_eq!(shelf.files("bodies").len(), 3);
    let too_large = world
        .commit(&with_body("d", noise(6 * 1024 * 1024 + 1)), &nothing())
        .await;
    assert!(matches!(too_large, Err(CommitError::TooLarge { .. })));
}

#[tokio::test]
async fn a_place_that_fails_commits_nothing_and_the_provider_comes_again() {
    let (world, shelf) = world().await;
    shelf.fails.store(true, Ordering::Relaxed);
    for decision in [
        nothing(),
        Decision::Fail("x".to_owned()),
        Decision::Hold("x".to_owned()),
    ] {
        let refused = world.commit(&large("evt_1"), &decision).await;
        assert!(matches!(refused, Err(CommitError::Busy { .. })), "{refused:?}");
    }
    assert_eq!(world.writes(), (0, 0));
    assert!(world.everything().await.is_empty());
    shelf.fails.store(false, Ordering::Relaxed);
    world.new_record(&large("evt_1"), &nothing()).await;
}

#[tokio::test]
async fn a_duplicate_writes_nothing_anywhere() {
    let (world, shelf) = world().await;
    world.new_record(&large("evt_1"), &nothing()).await;
    world.fail(&large("evt_2")).await;
    let writes = world.writes();
    let _before = shelf.asked();
    world.duplicate(&large("evt_1"), &nothing()).await;
    world
        .duplicate(&large("evt_1"), &Decision::Fail("x".to_owned()))
        .await;
    world
        .duplicate(&large("evt_2"), &Decision::Fail("x".to_owned()))
        .await;
    assert_eq!((world.writes(), shelf.asked()), (writes, Vec::new()));
}

#[tokio::test]
async fn a_body_that_was_changed_is_noticed() {
    let (world, shelf) = world().await;
    let event = large("evt_1");
    world.new_record(&event, &nothing()).await;
    let file = shelf.path.join(world.place("evt_1").await);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[50_000] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let read = world.ledger.event_alone(&pk("evt_1")).await;
    assert!(
        matches!(&read, Err(StoreError::Broken { detail, .. }) if detail.contains("not what was received")),
        "{read:?}"
    );
    // Larger than anything that can have been received: not even read.
    std::fs::write(&file, vec![0; 7 * 1024 * 1024]).unwrap();
    assert!(world.ledger.event_alone(&pk("evt_1")).await.is_err());
    std::fs::remove_file(&file).unwrap();
    assert_eq!(world.body(&event).await, None, "gone, as after the retention");
}

#[tokio::test]
async fn what_a_person_must_see_keeps_its_body_and_lets_it_go_when_it_is_resolved() {
    let (world, shelf) = world().await;
    let (failed, held) = (large("failed"), large("held"));
    world.fail(&failed).await;
    world
        .new_record(&held, &Decision::Hold("for a person".to_owned()))
        .await;
    shelf.expire();
    for event in [&failed, &held] {
        assert!(world.place(&event.id).await.starts_with("kept/"));
        assert!(world.body(event).await.unwrap() == event.body);
    }
    // A redelivery heals the failed one; a person drops the held one.
    let before = world.place("failed").await;
    world.new_record(&failed, &nothing()).await;
    assert!(world.place("failed").await.starts_with("bodies/"));
    assert!(shelf.files("kept").contains(&format!("{before}.released")));
    let view = world.ledger.event_alone(&pk("held")).await.unwrap().unwrap();
    let actor = Actor {
        by: "ada".to_owned(),
        why: Some("a test".to_owned()),
    };
    assert!(world.ledger.dismiss(&view, KEEP, &actor, later(9)).await.unwrap());
    assert!(world.place("held").await.starts_with("bodies/"));
    for event in [&failed, &held] {
        assert!(
            world.body(event).await.unwrap() == event.body,
            "until its time is over"
        );
    }
    shelf.expire();
    assert_eq!(
        (shelf.files("kept"), shelf.files("bodies")),
        (Vec::new(), Vec::new())
    );
}

#[tokio::test]
async fn a_replay_takes_a_failed_events_body_along() {
    let (world, shelf) = world().await;
    let event = large("evt_1");
    world.fail(&event).await;
    let stored = world.ledger.event_alone(&pk("evt_1")).await.unwrap().unwrap();
    let again = Event {
        data: Arc::new(serde_json::json!({})),
        ..stored.event(&Scheme::from_name("stripe").unwrap()).unwrap()
    };
    let actor = Actor {
        by: "ada".to_owned(),
        why: None,
    };
    let replay = Replay {
        stored: &stored,
        event: &again,
        decision: &apply([rule("r").effect("mail")]),
        keep: KEEP,
        release: false,
        actor: &actor,
        now: later(5),
        deadline: Instant::now() + Duration::from_secs(5),
    };
    assert!(matches!(
        world.ledger.replay(replay).await.unwrap(),
        Replayed::Committed(_)
    ));
    assert!(world.place("evt_1").await.starts_with("bodies/"));
    assert!(world.body(&event).await.unwrap() == event.body);
    assert_eq!(shelf.files("kept").len(), 2, "the old one, and its mark");
}

#[tokio::test]
async fn an_open_parked_or_dead_effect_keeps_its_events_body() {
    let (mut world, shelf) = world().await;
    let far = now() + KEEP.retention + SignedDuration::from_hours(400);
    for (name, keep) in [("whole", KEEP), ("split", SPLIT)] {
        world.keep = keep;
        for (state, settlement) in [
            ("parked", Settlement::Parked("x".to_owned())),
            ("dead", Settlement::Dead("x".to_owned())),
            ("open", Settlement::RetryAt(far)),
        ] {
            let event = large(&format!("{name}_{state}"));
            let record = world.new_record(&event, &apply([rule("r").effect("mail")])).await;
            let key = record.wakeups[0].key.clone();
            world.settle_once(&key, now(), settlement).await;
            shelf.expire();
            assert!(world.place(&event.id).await.starts_with("kept/"), "{state}");
            let (body, _) = world.ledger.body(&key).await.unwrap().unwrap();
            assert!(body == event.body, "{state}");
            if state == "open" {
                world.settle_once(&key, far, Settlement::Done).await;
                assert!(world.place(&event.id).await.starts_with("bodies/"));
                assert!(world.body(&event).await.unwrap() == event.body);
            }
        }
    }
    // What nobody claimed is kept by the sweep.
    let event = large("untouched");
    world.new_record(&event, &apply([rule("r").effect("mail")])).await;
    for shard in 0..4 {
        for due in world.ledger.due("mail", shard, now(), 10).await.unwrap() {
            assert!(world.ledger.keep(&due, later(50_000)).await.unwrap());
        }
    }
    shelf.expire();
    assert!(world.body(&event).await.unwrap() == event.body);
}

#[tokio::test]
async fn a_settlement_that_cannot_keep_the_body_is_not_written() {
    let (world, shelf) = world().await;
    let record = world
        .new_record(&large("evt_1"), &apply([rule("r").effect("mail")]))
        .await;
    let key = &record.wakeups[0].key;
    let (lease, item) = world.claimed(key, now()).await;
    shelf.fails.store(true, Ordering::Relaxed);
    let parked = settled(Settlement::Parked("x".to_owned()));
    let refused = world.ledger.settle(&lease, &item, &parked, later(1)).await;
    assert!(matches!(refused, Err(StoreError::Busy { .. })), "{refused:?}");
    assert_eq!(s(&world.stored(key).await, "state"), "open");
    assert!(world.place("evt_1").await.starts_with("bodies/"));
    shelf.fails.store(false, Ordering::Relaxed);
    world.settle(&lease, &item, &parked, later(2)).await;
    assert!(world.place("evt_1").await.starts_with("kept/"));
}

/// People reopen an item at the moment when the last one done lets the event go, and two effects are parked at once:
/// whatever comes first, a record without an expiry names a body that never expires.
#[tokio::test]
async fn a_name_in_a_record_is_always_that_of_a_body_that_lives_as_long() {
    let (mut world, shelf) = world().await;
    let mut seen = [0; 2];
    for round in 0..24 {
        world.keep = if round % 2 == 0 { KEEP } else { SPLIT };
        let event = large(&format!("evt_{round}"));
        let decision = apply([rule("r").effect("mail").effect("app")]);
        let record = world.new_record(&event, &decision).await;
        let keys: Vec<OutboxKey> = record.wakeups.iter().map(|wakeup| wakeup.key.clone()).collect();
        let park = || Settlement::Parked("x".to_owned());
        tokio::join!(
            world.settle_once(&keys[0], now(), park()),
            world.settle_once(&keys[1], now(), park())
        );
        let items = [
            world.ledger.item(&keys[0]).await.unwrap().unwrap(),
            world.ledger.item(&keys[1]).await.unwrap().unwrap(),
        ];
        let actor = Actor {
            by: "ada".to_owned(),
            why: Some("a test".to_owned()),
        };
        world.ledger.discard(&items[0], &actor, later(1)).await.unwrap();
        // The second one dropped lets the event go; the first is sent again at the same moment.
        let dropped = world.ledger.item(&keys[0]).await.unwrap().unwrap();
        let give_up = later(500_000);
        let wait = Duration::from_millis(fastrand::u64(0..12));
        let (discarded, reopened) = tokio::join!(world.ledger.discard(&items[1], &actor, later(2)), async {
            tokio::time::sleep(wait).await;
            world.ledger.retry(&dropped, give_up, &actor, later(2)).await
        });
        discarded.unwrap();
        reopened.unwrap();
        let record = world.record(&event.id).await;
        let holder = world.find(&pk(&event.id), "body").await.unwrap_or(record);
        let (place, expires) = (s(&holder, "body_at"), holder.contains_key("expires_at"));
        assert_eq!(place.starts_with("bodies/"), expires, "{place}");
        assert!(
            !shelf.files("kept").contains(&format!("{place}.released")),
            "{place}"
        );
        assert!(!expires, "an item is open");
        seen[usize::from(round % 2 == 1)] += 1;
    }
    assert_eq!(seen, [12, 12]);
    shelf.expire();
    for round in 0..24 {
        let event = large(&format!("evt_{round}"));
        assert!(world.body(&event).await.unwrap() == event.body, "{round}");
    }
    assert_eq!(shelf.files("kept").len(), 24, "and nothing else is kept");
}

#[tokio::test]
async fn the_answer_to_the_commit_is_lost_and_the_body_stays() {
    let (world, shelf) = world().await;
    let event = large("evt_1");
    world.proxy.fault("PutItem", Fault::internal_error().acting());
    let committed = world
        .commit(&event, &Decision::Fail("x".to_owned()))
        .await
        .unwrap();
    assert!(matches!(committed, Committed::New(_)), "{committed:?}");
    shelf.expire();
    assert!(world.body(&event).await.unwrap() == event.body);
}
