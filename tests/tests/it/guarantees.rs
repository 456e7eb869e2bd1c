//! The seven guarantees of the README, one test each, by the same sentence.

use http::HeaderValue;
use jiff::SignedDuration;
use oncehook_local::{
    behaviour::Behaviour,
    faults::{Fault, Reason},
};
use oncehook_store::Outcome;
use oncehook_tests::{CONFIG, RequestParts, World, invoice};

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// Nothing is acknowledged before it is durable: a 2xx means that the event and its effects are committed.
#[tokio::test]
async fn guarantee_1_nothing_is_acknowledged_before_it_is_durable() {
    let world = World::new().await;
    let request = world.signed(&invoice("evt_1", "cus_1", 5000));
    for fault in [
        Fault::Refuse,
        Fault::access_denied("TransactWriteItems"),
        Fault::throttling(),
    ] {
        world.proxy.reset();
        for _ in 0..100 {
            world.proxy.fault("TransactWriteItems", fault.clone());
            world.proxy.fault("PutItem", fault.clone());
        }
        let answer = world.post(&request).await;
        assert!(matches!(answer.status, 500 | 503), "{fault:?}: {answer:?}");
        let (events, outbox) = world.stored().await;
        assert!(
            events.is_empty() && outbox.is_empty(),
            "{fault:?} left something behind"
        );
        assert_eq!(world.balance("cus_1").await, "null");
    }
    world.proxy.reset();
    assert_eq!(world.post(&request).await.status, 200);
    let (events, outbox) = world.stored().await;
    assert_eq!((events.len(), outbox.len()), (1, 1));
    assert_eq!(world.balance("cus_1").await, "5000");
    world.drain_due().await;
}

/// Within the retention of its source, an event is applied once: however often, concurrently and in whatever order
/// it comes.
#[tokio::test]
async fn guarantee_2_an_event_is_applied_once() {
    let world = World::new().await;
    let payload = invoice("evt_2", "cus_2", 5000);
    let other = invoice("evt_2b", "cus_2", 1);
    let first = world.signed(&payload);
    let answers = futures_util::future::join_all((0..8).map(|_| world.post(&first))).await;
    assert_eq!(answers.iter().filter(|answer| !answer.replayed).count(), 1);
    for day in [0, 1, 7, 29] {
        world.clock.advance(SignedDuration::from_hours(24 * day));
        assert_eq!(world.post(&world.signed(&other)).await.status, 200);
        let again = world.post(&world.signed(&payload)).await;
        assert!(
            again.replayed && again.body == answers[0].body,
            "day {day}: {again:?}"
        );
        world.clock.advance(SignedDuration::from_hours(-24 * day));
    }
    assert_eq!(world.balance("cus_2").await, "5001");
    world.drain_due().await;
    assert_eq!(world.mail.mails().len(), 2);
}

/// The event record, the business updates and the outbox items commit together or not at all.
#[tokio::test]
async fn guarantee_3_record_updates_and_outbox_commit_together_or_not_at_all() {
    let world = World::new().await;
    let request = world.signed(&invoice("evt_3", "cus_3", 5000));
    // The update is refused: the record stands alone, as failed, and nothing else happened.
    let reasons = [
        Reason::none(),
        Reason::validation("An operand has an incorrect data type"),
        Reason::none(),
    ];
    world.proxy.fault("TransactWriteItems", Fault::canceled(&reasons));
    let answer = world.post(&request).await;
    assert_eq!((answer.status, answer.outcome.as_str()), (200, "failed"));
    let (events, outbox) = world.stored().await;
    assert_eq!((events.len(), outbox.len()), (1, 0));
    assert_eq!(world.balance("cus_3").await, "null");
    // A redelivery heals it: all three, by one transaction.
    world.proxy.reset();
    let answer = world.post(&request).await;
    assert_eq!(
        (answer.status, answer.outcome.as_str(), answer.replayed),
        (200, "applied", false)
    );
    assert_eq!(world.proxy.operations(), ["TransactWriteItems"]);
    let (events, outbox) = world.stored().await;
    assert_eq!((events.len(), outbox.len()), (1, 1));
    assert_eq!(world.balance("cus_3").await, "5000");
    world.drain_due().await;
}

/// An acknowledged event or effect is completed, or it stands in a list that a person sees (failed, held, parked,
/// dead); nothing on such a list expires.
#[tokio::test]
async fn guarantee_4_what_was_acknowledged_is_completed_or_stands_in_a_list() {
    let keyless = CONFIG.replace("destination = \"mail\"", "destination = \"keyless\"");
    let cases = [
        (CONFIG, Behaviour::Normal, "done"),
        (CONFIG, Behaviour::Status(422, None), "dead"),
        (keyless.as_str(), Behaviour::AcceptAndDrop, "parked"),
    ];
    for (config, behaviour, state) in cases {
        let world = World::with(config).await;
        world.mail.next(behaviour);
        assert_eq!(
            world
                .post(&world.signed(&invoice("evt_4", "cus_4", 5)))
                .await
                .status,
            200
        );
        world.drain_due().await;
        let (_, outbox) = world.stored().await;
        assert_eq!(outbox[0].state, state, "{behaviour:?}: {:?}", outbox[0]);
        assert_eq!(outbox[0].reason.is_some(), state != "done", "{behaviour:?}");
        let expires = world.expiries().await;
        assert_eq!(
            expires.iter().filter(|at| at.is_none()).count(),
            if state == "done" { 0 } else { 2 },
            "{state}"
        );
        world
            .pass(
                SignedDuration::from_hours(40 * 24),
                SignedDuration::from_hours(12),
            )
            .await;
        assert_eq!(world.stored().await.1[0].state, state);
        assert!(world.mail.mails().len() <= 1);
    }
    let failing = CONFIG.replace("/data/object/customer\"", "/data/object/nobody\"");
    let world = World::with(&failing).await;
    assert_eq!(
        world
            .post(&world.signed(&invoice("evt_4", "cus_4", 5)))
            .await
            .outcome,
        "failed"
    );
    assert_eq!(world.stored().await.0[0].record.outcome, Outcome::Failed);
    assert_eq!(world.expiries().await, [None]);
}

/// An effect that may have happened is never sent again once the destination may have forgotten its idempotency key:
/// it is parked for a person.
#[tokio::test]
async fn guarantee_5_an_effect_that_may_have_happened_is_never_sent_past_the_window() {
    let world = World::new().await;
    world.mail.next(Behaviour::AcceptAndDrop);
    for _ in 0..500 {
        world.mail.next(Behaviour::Drop);
    }
    assert_eq!(
        world
            .post(&world.signed(&invoice("evt_5", "cus_5", 5)))
            .await
            .status,
        200
    );
    world.drain_due().await;
    world.pass(SignedDuration::from_hours(23), MINUTE * 10).await;
    let before = world.mail.calls().len();
    assert!(before > 20, "it is retried all day: {before} calls");
    assert_eq!(world.stored().await.1[0].state, "open");
    world.pass(SignedDuration::from_hours(2), MINUTE * 5).await;
    let parked = world.mail.calls().len();
    let (_, outbox) = world.stored().await;
    assert_eq!(outbox[0].state, "parked", "{:?}", outbox[0]);
    world
        .pass(SignedDuration::from_hours(72), SignedDuration::from_hours(1))
        .await;
    assert_eq!(world.mail.calls().len(), parked, "never sent again");
    assert_eq!(world.mail.mails().len(), 1);
    let keys: std::collections::BTreeSet<_> = world.mail.calls().into_iter().map(|call| call.key).collect();
    assert_eq!(keys.len(), 1, "one key for every attempt");
}

/// Only a request whose raw bytes carry a valid, fresh signature reaches the database.
#[tokio::test]
async fn guarantee_6_only_a_valid_fresh_signature_reaches_the_database() {
    let world = World::new().await;
    let payload = invoice("evt_6", "cus_6", 5000);
    let good = world.signed(&payload);
    let edit = |change: &dyn Fn(&mut RequestParts)| {
        let mut request = good.clone();
        change(&mut request);
        request
    };
    let at = |minutes: i32| RequestParts::signed(&world.source, &payload, world.now() + MINUTE * minutes);
    let refused = [
        ("unsigned", edit(&|request| request.headers.clear())),
        (
            "garbage",
            edit(&|request| {
                request
                    .headers
                    .insert("stripe-signature", HeaderValue::from_static("t=1,v1=00"));
            }),
        ),
        (
            "tampered",
            edit(&|request| {
                request.body = String::from_utf8_lossy(&request.body)
                    .replace("5000", "9000")
                    .into_bytes()
                    .into();
            }),
        ),
        (
            "re-serialised",
            edit(&|request| request.body = [&request.body[..], b"\n"].concat().into()),
        ),
        ("stale", at(-10)),
        ("from the future", at(10)),
    ];
    for (what, request) in &refused {
        assert_eq!(world.post(request).await.status, 401, "{what}");
    }
    assert_eq!(world.proxy.operations(), Vec::<String>::new(), "no database call");
    assert_eq!(world.post(&good).await.status, 200);
    world.drain_due().await;
}

/// SQS is only a wake-up: losing, repeating or reordering every message changes nothing but latency.
#[tokio::test]
async fn guarantee_7_sqs_is_only_a_wake_up() {
    let world = World::new().await;
    for number in 0..5 {
        let payload = invoice(&format!("evt_7_{number}"), "cus_7", 100);
        assert_eq!(world.post(&world.signed(&payload)).await.status, 200);
    }
    world.lose_wakeups();
    world.pass(MINUTE * 10, MINUTE).await;
    assert_eq!(
        world.mail.mails().len(),
        5,
        "the sweeper finds what was forgotten"
    );

    for number in 5..10 {
        let payload = invoice(&format!("evt_7_{number}"), "cus_7", 100);
        assert_eq!(world.post(&world.signed(&payload)).await.status, 200);
    }
    let mut wakeups = world.due_wakeups();
    wakeups.reverse();
    let repeated: Vec<_> = std::iter::repeat_n(wakeups, 4).flatten().collect();
    assert_eq!(world.drain(&repeated).await, 0);
    world.pass(MINUTE * 10, MINUTE).await;
    assert_eq!(world.mail.mails().len(), 10);
    assert_eq!(world.mail.calls().len(), 10, "not even a second call");
    assert_eq!(world.balance("cus_7").await, "1000");
}

/// Beside guarantee 5: a throttled attempt certainly had no effect, so it opens no window.
#[tokio::test]
async fn a_throttled_attempt_opens_no_window() {
    let world = World::new().await;
    world.mail.next(Behaviour::Status(429, None));
    assert_eq!(
        world
            .post(&world.signed(&invoice("evt_8", "cus_8", 5)))
            .await
            .status,
        200
    );
    world.drain_due().await;
    world.lose_wakeups();
    world.clock.advance(SignedDuration::from_hours(25));
    world.pass(MINUTE * 10, MINUTE).await;
    assert_eq!(world.stored().await.1[0].state, "done");
    assert_eq!(world.mail.mails().len(), 1);
}

/// Beside guarantee 4: time in which Oncehook waited is not time in which a destination failed.
#[tokio::test]
async fn waiting_does_not_count_towards_giving_up() {
    let world = World::new().await;
    world.mail.next(Behaviour::Status(503, None));
    assert_eq!(
        world
            .post(&world.signed(&invoice("evt_9", "cus_9", 5)))
            .await
            .status,
        200
    );
    world.drain_due().await;
    world.lose_wakeups();
    world.clock.advance(SignedDuration::from_hours(23));
    world.pass(MINUTE * 10, MINUTE).await;
    assert_eq!(world.stored().await.1[0].state, "done");
}
