//! Wake-ups as messages.

use std::time::Duration;

use oncehook_store::{OutboxKey, Queue, Wakeup, WakeupError};
use proptest::prelude::*;

fn wakeups() -> impl Strategy<Value = Wakeup> {
    (".{0,30}", ".{0,30}", ".{0,20}", ".{0,20}", any::<bool>()).prop_map(
        |(pk, sk, destination, tenant, probe)| Wakeup {
            key: OutboxKey::from_parts(&pk, &sk),
            destination,
            tenant,
            probe,
        },
    )
}

proptest! {
    #[test]
    fn a_wake_up_comes_back_from_its_message(wakeup in wakeups()) {
        prop_assert_eq!(Wakeup::parse(&wakeup.to_json()), Ok(wakeup));
    }

    #[test]
    fn reading_any_text_never_panics(text in ".{0,60}") {
        let read = Wakeup::parse(&text);
        prop_assert!(matches!(read, Err(WakeupError::Unreadable(_))));
    }
}

#[test]
fn a_newer_message_is_refused_as_such_whatever_else_it_holds() {
    for text in [
        r#"{"v":2,"pk":"a","sk":"b","destination":"c"}"#,
        r#"{"v":2,"address":{"pk":"a"}}"#,
        r#"{"v":2}"#,
    ] {
        assert_eq!(Wakeup::parse(text), Err(WakeupError::Newer(2)), "{text}");
    }
}

#[test]
fn an_unreadable_message_is_refused_as_such() {
    for text in [
        "",
        "null",
        "[]",
        r#"{"pk":"a","sk":"b","destination":"c"}"#,
        r#"{"v":1,"pk":"a","sk":"b"}"#,
        r#"{"v":-1,"pk":"a","sk":"b","destination":"c"}"#,
        r#"{"v":"1","pk":"a","sk":"b","destination":"c"}"#,
    ] {
        let read = Wakeup::parse(text);
        assert!(
            matches!(read, Err(WakeupError::Unreadable(_))),
            "{text}: {read:?}"
        );
    }
}

#[test]
fn a_message_without_a_tenant_and_with_more_is_read() {
    let text = r#"{"v":1,"pk":"a","sk":"b","destination":"c","later":true}"#;
    let wakeup = Wakeup::parse(text).unwrap();
    assert_eq!(wakeup.key, OutboxKey::from_parts("a", "b"));
    assert_eq!(wakeup.tenant, "");
}

#[tokio::test]
async fn a_local_queue_hands_over_each_wake_up_with_its_delay() {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let queue = Queue::Local(sender);
    let wakeup = Wakeup::parse(r#"{"v":1,"pk":"a","sk":"b","destination":"c"}"#).unwrap();
    queue.wake(std::slice::from_ref(&wakeup)).await.unwrap();
    queue.wake_after(&wakeup, Duration::from_secs(5)).await.unwrap();
    let day = Duration::from_secs(86_400);
    queue.wake_after(&wakeup, day).await.unwrap();
    for seconds in [0, 5, 900] {
        let (got, delay) = receiver.recv().await.unwrap();
        assert_eq!((got, delay), (wakeup.clone(), Duration::from_secs(seconds)));
    }
    drop(receiver);
    assert!(queue.wake(&[wakeup]).await.is_err());
    assert_eq!(queue.length().await, Ok(None));
}
