//! When secrets are read again, and what a reading that fails leaves.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use oncehook_edge::{SecretStore, Why, local_ssm};
use oncehook_local::{behaviour::Behaviour, parameters::Parameters};

const NAME: &str = "/oncehook/test/secrets";

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

async fn open(ssm: &Parameters) -> SecretStore {
    SecretStore::open(local_ssm(&ssm.endpoint()), NAME.to_owned(), at(0)).await
}

fn value(store: &SecretStore) -> Option<String> {
    let secret = store.current().first("stripe")?;
    Some(secret.expose().to_owned())
}

fn stripe(value: &str) -> String {
    format!(r#"{{"stripe": "{value}"}}"#)
}

#[tokio::test]
async fn at_start_a_busy_systems_manager_is_asked_again() {
    let ssm = Parameters::start().unwrap();
    ssm.put(NAME, &stripe("whsec_1"));
    for behaviour in [
        Behaviour::Status(400, None),
        Behaviour::Status(500, None),
        Behaviour::Drop,
    ] {
        ssm.next(behaviour);
    }
    let store = open(&ssm).await;
    assert_eq!(value(&store).as_deref(), Some("whsec_1"));
    assert_eq!(ssm.calls().len(), 4);
}

#[tokio::test]
async fn a_start_that_finds_nothing_succeeds_and_is_bounded() {
    let ssm = Parameters::start().unwrap();
    let store = open(&ssm).await;
    assert_eq!(value(&store), None);
    assert_eq!(
        ssm.calls().len(),
        1,
        "what is not there is not asked for again at once"
    );
    for _ in 0..10 {
        ssm.next(Behaviour::Hang(Duration::from_secs(30)));
    }
    let started = Instant::now();
    assert_eq!(value(&open(&ssm).await), None);
    assert!(
        started.elapsed() < Duration::from_secs(4),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn a_secret_that_is_set_later_is_found_within_seconds() {
    let ssm = Parameters::start().unwrap();
    let store = open(&ssm).await;
    ssm.put(NAME, &stripe("whsec_1"));
    assert!(!store.refresh(Why::Missing, at(4)).await, "not at every request");
    assert!(store.refresh(Why::Missing, at(5)).await);
    assert_eq!(value(&store).as_deref(), Some("whsec_1"));
}

#[tokio::test]
async fn old_secrets_are_read_again_after_five_minutes() {
    let ssm = Parameters::start().unwrap();
    ssm.put(NAME, &stripe("whsec_1"));
    let store = open(&ssm).await;
    ssm.put(NAME, &stripe("whsec_2"));
    assert!(!store.refresh(Why::Old, at(299)).await);
    assert_eq!(value(&store).as_deref(), Some("whsec_1"));
    assert!(store.refresh(Why::Old, at(300)).await);
    assert_eq!(value(&store).as_deref(), Some("whsec_2"));
    let before = store.current();
    assert!(store.refresh(Why::Old, at(600)).await);
    assert!(
        std::sync::Arc::ptr_eq(&before, &store.current()),
        "what did not change is not made anew"
    );
}

#[tokio::test]
async fn refusals_lead_to_one_reading_a_minute() {
    let ssm = Parameters::start().unwrap();
    ssm.put(NAME, &stripe("whsec_1"));
    let store = open(&ssm).await;
    assert!(
        store.refresh(Why::Refused, at(1)).await,
        "even right after the start"
    );
    for second in 2..61 {
        assert!(!store.refresh(Why::Refused, at(second)).await, "{second}");
    }
    assert!(store.refresh(Why::Refused, at(61)).await);
    assert!(
        store.refresh(Why::Refused, at(-3600)).await,
        "a clock that was set back does not stop it"
    );
}

#[tokio::test]
async fn a_slow_systems_manager_holds_up_a_request_for_200_ms_once_a_minute_and_costs_no_secret() {
    let ssm = Parameters::start().unwrap();
    ssm.put(NAME, &stripe("whsec_1"));
    let store = open(&ssm).await;
    ssm.put(NAME, &stripe("whsec_2"));
    ssm.next(Behaviour::Hang(Duration::from_secs(30)));
    let started = Instant::now();
    assert!(store.refresh(Why::Old, at(300)).await);
    let took = started.elapsed();
    assert!(
        took >= Duration::from_millis(190) && took < Duration::from_millis(900),
        "{took:?}"
    );
    assert_eq!(value(&store).as_deref(), Some("whsec_1"));
    assert!(
        !store.refresh(Why::Old, at(359)).await,
        "a failure is not repeated at every request"
    );
    assert!(store.refresh(Why::Old, at(360)).await);
    assert_eq!(value(&store).as_deref(), Some("whsec_2"));
}

#[tokio::test]
async fn what_fails_or_is_malformed_leaves_the_last_good_secrets() {
    let ssm = Parameters::start().unwrap();
    ssm.put(NAME, &stripe("whsec_1"));
    let store = open(&ssm).await;
    let mut now = 0;
    let mut refresh = async || {
        now += 360;
        assert!(store.refresh(Why::Old, at(now)).await);
        value(&store)
    };
    for behaviour in [Behaviour::Status(500, None), Behaviour::Drop] {
        ssm.next(behaviour);
        assert_eq!(refresh().await.as_deref(), Some("whsec_1"), "{behaviour:?}");
    }
    for malformed in ["whsec_2", "[\"whsec_2\"]", "{\"stripe\": \"whsec_2\""] {
        ssm.put(NAME, malformed);
        assert_eq!(refresh().await.as_deref(), Some("whsec_1"), "{malformed}");
    }
    ssm.remove(NAME);
    assert_eq!(refresh().await.as_deref(), Some("whsec_1"), "removed");
    ssm.put(NAME, "{\"other\": \"x\"}");
    assert_eq!(
        refresh().await,
        None,
        "a secret that was taken out is no longer valid"
    );
}

#[tokio::test]
async fn one_reading_is_in_flight_and_who_needs_it_waits_for_it() {
    let ssm = Parameters::start().unwrap();
    let store = open(&ssm).await;
    ssm.put(NAME, &stripe("whsec_1"));
    ssm.next(Behaviour::Hang(Duration::from_millis(300)));
    let readers = (0..20).map(|_| async {
        store.refresh(Why::Missing, at(10)).await;
        value(&store)
    });
    let old = async { store.refresh(Why::Old, at(10)).await };
    let started = Instant::now();
    let (values, tried) = tokio::join!(futures_util::future::join_all(readers), async {
        let tried = old.await;
        (tried, started.elapsed())
    });
    assert!(values.iter().all(|value| value.as_deref() == Some("whsec_1")));
    assert!(!tried.0 && tried.1 < Duration::from_millis(250), "{tried:?}");
    assert_eq!(ssm.calls().len(), 2, "one at start, one for all");
}

#[tokio::test]
async fn fixed_secrets_are_never_read_again() {
    let store = SecretStore::fixed(oncehook_edge::Secrets::parse(&stripe("whsec_1")).unwrap());
    for why in [Why::Old, Why::Refused, Why::Missing] {
        assert!(!store.refresh(why, at(100_000)).await);
    }
    assert_eq!(value(&store).as_deref(), Some("whsec_1"));
}
