//! `settle` and `admit`: what an attempt means, and that no item is ever sent past its key's window.

use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    outbox::OutboxItem,
    plan::{EffectBody, RenderedRequest},
    settle::{
        Admission, Attempt, MARGIN, OnAmbiguous, Pause, Policy, Settled, Settlement, admit, outlives, settle,
    },
};
use proptest::prelude::*;

const HOUR: SignedDuration = SignedDuration::from_hours(1);

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

fn keyed() -> Policy {
    Policy {
        key_retention: Some(SignedDuration::from_hours(24)),
        replays_errors: true,
        on_ambiguous: OnAmbiguous::Park,
        timeout: SignedDuration::from_secs(10),
        gap: SignedDuration::ZERO,
    }
}

fn keyless(on_ambiguous: OnAmbiguous) -> Policy {
    Policy {
        key_retention: None,
        replays_errors: false,
        on_ambiguous,
        ..keyed()
    }
}

fn item() -> OutboxItem {
    OutboxItem {
        source: "stripe".into(),
        tenant: "acct".into(),
        rule: "credit".into(),
        effect: "receipt".into(),
        destination: "mail".into(),
        request: RenderedRequest {
            method: "POST".into(),
            url: "https://mail.example/emails".into(),
            headers: Vec::new(),
            content_type: Some("application/json".into()),
            body: EffectBody::Text("{}".into()),
        },
        idempotency_key: "k".into(),
        generation: 0,
        attempts: 1,
        created_at: now(),
        due_at: now(),
        give_up_at: now() + SignedDuration::from_hours(72),
        maybe_sent_at: Some(now()),
        server_errors: 0,
        last_status: None,
        kept_until: Some(now() + SignedDuration::from_hours(30 * 24)),
        kept: false,
    }
}

#[test]
fn an_item_that_may_outlive_its_event_keeps_it() {
    let item = item();
    let expiry = item.kept_until.unwrap();
    let hours = SignedDuration::from_hours;
    let again = |before: i64| Settlement::RetryAt(expiry - hours(before));
    assert!(!outlives(&item, &Settlement::Done));
    assert!(!outlives(&item, &again(19)), "the sweep comes by in time");
    assert!(outlives(&item, &again(18)) && outlives(&item, &again(-1)));
    let seen = [Settlement::Dead(String::new()), Settlement::Parked(String::new())];
    assert!(seen.iter().all(|settlement| outlives(&item, settlement)));
    let odd = OutboxItem {
        kept_until: None,
        ..item.clone()
    };
    assert!(outlives(&odd, &again(500)));
    let kept = OutboxItem { kept: true, ..item };
    assert!(!outlives(&kept, &again(0)) && !seen.iter().any(|settlement| outlives(&kept, settlement)));
}

fn failed(status: Option<u16>) -> Attempt {
    Attempt::Ambiguous {
        status,
        retry_after: None,
        detail: "broken".into(),
    }
}

fn unreached() -> Attempt {
    Attempt::Unreached {
        detail: "refused".into(),
    }
}

fn first(policy: &Policy, attempt: &Attempt) -> Settled {
    settle(&item(), policy, attempt, true, now(), 0.5)
}

fn again(policy: &Policy, attempt: &Attempt) -> Settled {
    settle(&item(), policy, attempt, false, now(), 0.5)
}

#[test]
fn an_effect_that_may_have_happened_is_parked_without_keys_unless_resending_is_chosen() {
    assert!(matches!(
        first(&keyless(OnAmbiguous::Park), &failed(None)).settlement,
        Settlement::Parked(_)
    ));
    assert!(matches!(
        first(&keyless(OnAmbiguous::Resend), &failed(None)).settlement,
        Settlement::RetryAt(_)
    ));
    assert!(matches!(
        first(&keyed(), &failed(None)).settlement,
        Settlement::RetryAt(_)
    ));
}

#[test]
fn an_unreached_destination_leaves_no_mark_but_keeps_an_earlier_one() {
    let settled = first(&keyless(OnAmbiguous::Park), &unreached());
    assert!(settled.unsent && matches!(settled.settlement, Settlement::RetryAt(_)));
    assert!(matches!(
        again(&keyless(OnAmbiguous::Park), &unreached()).settlement,
        Settlement::Parked(_)
    ));
}

#[test]
fn a_refusal_is_dead_at_first_and_parked_after_an_attempt_that_may_have_acted() {
    let refused = Attempt::Refused {
        status: 422,
        detail: "no".into(),
    };
    assert!(matches!(
        first(&keyed(), &refused).settlement,
        Settlement::Dead(_)
    ));
    assert!(matches!(
        again(&keyed(), &refused).settlement,
        Settlement::Parked(_)
    ));
}

#[test]
fn bad_credentials_pause_the_destination_and_cost_the_item_nothing() {
    let settled = first(
        &keyless(OnAmbiguous::Park),
        &Attempt::Unauthorized { status: 401 },
    );
    assert!(!settled.counted && settled.unsent);
    let pause = settled.pause.unwrap();
    assert_eq!(pause.until, now() + SignedDuration::from_mins(5));
    assert_eq!(pause.probe_from, now(), "another item may try at once");
    let Settlement::RetryAt(at) = settled.settlement else {
        panic!("{settled:?}")
    };
    assert_eq!(settled.extend, at.duration_since(now()));
}

#[test]
fn throttling_pauses_by_retry_after_within_bounds() {
    for (asked, pause) in [(7, 7), (-4, 1), (9_999_999, 3600)] {
        let settled = first(
            &keyed(),
            &Attempt::Throttled {
                retry_after: Some(SignedDuration::from_secs(asked)),
            },
        );
        let until = now() + SignedDuration::from_secs(pause);
        let silence = Pause {
            until,
            probe_from: until,
        };
        assert_eq!(settled.pause, Some(silence), "the destination named the time");
        assert!(settled.extend >= SignedDuration::from_secs(pause));
    }
}

#[test]
fn the_same_stored_server_error_three_times_under_one_key_is_parked() {
    let twice = OutboxItem {
        server_errors: 2,
        last_status: Some(500),
        ..item()
    };
    let parked = |policy: &Policy, status| {
        matches!(
            settle(&twice, policy, &failed(Some(status)), false, now(), 0.5).settlement,
            Settlement::Parked(_)
        )
    };
    assert!(parked(&keyed(), 500));
    assert!(!parked(&keyed(), 501), "another status starts anew");
    assert!(!parked(&keyed(), 503), "an outage is no stored answer");
    assert!(!parked(&keyless(OnAmbiguous::Resend), 500));
}

#[test]
fn conflict_and_lock_are_retried() {
    for status in [409, 423, 425] {
        let later = Attempt::Later {
            status,
            retry_after: None,
        };
        for policy in [keyed(), keyless(OnAmbiguous::Park)] {
            assert!(
                matches!(first(&policy, &later).settlement, Settlement::RetryAt(_)),
                "{status}"
            );
        }
    }
    let timed_out = Attempt::Later {
        status: 408,
        retry_after: None,
    };
    assert!(matches!(
        first(&keyless(OnAmbiguous::Park), &timed_out).settlement,
        Settlement::Parked(_)
    ));
}

#[test]
fn a_retry_after_the_time_for_delivery_is_given_up_now() {
    let late = OutboxItem {
        give_up_at: now() + SignedDuration::from_secs(2),
        attempts: 9,
        ..item()
    };
    assert!(matches!(
        settle(&late, &keyed(), &unreached(), true, now(), 0.9).settlement,
        Settlement::Dead(_)
    ));
    assert!(matches!(
        settle(&late, &keyed(), &failed(None), true, now(), 0.9).settlement,
        Settlement::Parked(_)
    ));
    // Due and over: given up. Due for as long as it is over: that was waiting, and waiting does not count.
    let over = late.give_up_at + HOUR;
    assert_eq!(admit(&late, &keyed(), true, over), Admission::Send);
    let late = OutboxItem { due_at: over, ..late };
    assert!(matches!(
        admit(&late, &keyed(), true, over),
        Admission::Settle(Settled {
            settlement: Settlement::Dead(_),
            ..
        })
    ));
    assert_eq!(
        admit(&OutboxItem { attempts: 1, ..late }, &keyed(), true, over),
        Admission::Send
    );
}

#[test]
fn a_claim_that_was_never_settled_is_parked_without_keys() {
    let admission = admit(&item(), &keyless(OnAmbiguous::Park), false, now() + HOUR);
    assert!(matches!(
        admission,
        Admission::Settle(Settled {
            settlement: Settlement::Parked(_),
            ..
        })
    ));
    assert_eq!(admit(&item(), &keyed(), false, now() + HOUR), Admission::Send);
    assert_eq!(
        admit(&item(), &keyless(OnAmbiguous::Resend), false, now() + HOUR),
        Admission::Send
    );
}

fn attempts() -> impl Strategy<Value = Attempt> {
    let wait = || proptest::option::of((-10_i64..100_000).prop_map(SignedDuration::from_secs));
    prop_oneof![
        (200_u16..300).prop_map(|status| Attempt::Delivered { status }),
        (400_u16..500).prop_map(|status| Attempt::Refused {
            status,
            detail: String::new()
        }),
        (
            prop_oneof![Just(408_u16), Just(409), Just(423), Just(425)],
            wait()
        )
            .prop_map(|(status, retry_after)| Attempt::Later { status, retry_after }),
        Just(Attempt::Unauthorized { status: 401 }),
        wait().prop_map(|retry_after| Attempt::Throttled { retry_after }),
        Just(unreached()),
        (proptest::option::of(300_u16..600), wait()).prop_map(|(status, retry_after)| Attempt::Ambiguous {
            status,
            retry_after,
            detail: String::new()
        }),
    ]
}

proptest! {
    #[test]
    fn nothing_that_may_have_been_sent_is_sent_past_the_window_and_every_retry_lies_ahead(
        attempt in attempts(),
        first_send: bool,
        retention in proptest::option::of(60_i64..200_000),
        resend: bool,
        age in 0_i64..300_000,
        left in -1000_i64..300_000,
        attempts in 1_u32..40,
        jitter in 0.0_f64..1.0,
    ) {
        let policy = Policy {
            key_retention: retention.map(SignedDuration::from_secs),
            replays_errors: true,
            on_ambiguous: if resend { OnAmbiguous::Resend } else { OnAmbiguous::Park },
            timeout: SignedDuration::from_secs(10),
        gap: SignedDuration::ZERO,
        };
        let sent = if first_send { now() } else { now() - SignedDuration::from_secs(age) };
        let item = OutboxItem {
            maybe_sent_at: Some(sent),
            give_up_at: now() + SignedDuration::from_secs(left),
            attempts,
            ..item()
        };
        let inside = |at: Timestamp| policy.key_retention.is_none_or(|kept| at + policy.timeout + MARGIN < sent + kept);
        if admit(&item, &policy, first_send, now()) == Admission::Send {
            prop_assert!(inside(now()));
            prop_assert!(first_send || policy.key_retention.is_some() || resend);
        }
        let settled = settle(&item, &policy, &attempt, first_send, now(), jitter);
        if let Settlement::RetryAt(at) = settled.settlement {
            prop_assert!(at > now());
            prop_assert!(at < item.give_up_at + settled.extend);
            if !(first_send && settled.unsent) {
                prop_assert!(inside(at));
                prop_assert!(policy.key_retention.is_some() || resend);
            }
        }
        if settled.settlement == Settlement::Done {
            let delivered = matches!(attempt, Attempt::Delivered { .. });
            prop_assert!(delivered);
        }
    }
}
