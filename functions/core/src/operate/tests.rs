//! Which acts are allowed when.

use super::*;
use crate::plan::{EffectBody, RenderedRequest};

const HOUR: SignedDuration = SignedDuration::from_hours(1);

fn at(hours: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1_000_000 / 24 + hours)
}

fn item(maybe_sent_at: Option<Timestamp>) -> OutboxItem {
    OutboxItem {
        source: "s".to_owned(),
        tenant: String::new(),
        rule: "credit".to_owned(),
        effect: "receipt".to_owned(),
        destination: "mail".to_owned(),
        request: RenderedRequest {
            method: "POST".to_owned(),
            url: "https://example.com/".to_owned(),
            headers: Vec::new(),
            content_type: None,
            body: EffectBody::Event,
        },
        idempotency_key: "k".to_owned(),
        generation: 0,
        attempts: 1,
        created_at: at(0),
        due_at: at(0),
        give_up_at: at(72),
        maybe_sent_at,
        server_errors: 0,
        last_status: None,
        kept_until: None,
        kept: false,
    }
}

fn policy(key_retention: Option<SignedDuration>, on_ambiguous: OnAmbiguous) -> Policy {
    Policy {
        gap: SignedDuration::ZERO,
        key_retention,
        replays_errors: true,
        on_ambiguous,
        timeout: SignedDuration::from_secs(10),
    }
}

fn standing(item: &OutboxItem, state: OutboxState) -> Standing<'_> {
    Standing {
        item,
        state,
        lease_until: None,
    }
}

#[test]
fn the_same_key_is_sent_again_only_while_the_destination_certainly_knows_it() {
    let keys = policy(Some(24 * HOUR), OnAmbiguous::Park);
    let sent = item(Some(at(0)));
    let parked = standing(&sent, OutboxState::Parked);
    let last = at(24) - keys.timeout - MARGIN;
    let just_before = last - SignedDuration::from_millis(1);
    assert_eq!(may_retry(&parked, Some(&keys), just_before), Ok(()));
    let over = Err(Refusal::WindowOver {
        sent: at(0),
        over: last,
    });
    assert_eq!(may_retry(&parked, Some(&keys), last), over);
    let unsent = item(None);
    let dead = standing(&unsent, OutboxState::Dead);
    assert_eq!(
        may_retry(&dead, Some(&keys), at(9999)),
        Ok(()),
        "it certainly did not act"
    );
}

#[test]
fn without_keys_what_may_have_acted_is_not_retried_unless_the_destination_says_so() {
    let sent = item(Some(at(0)));
    let parked = standing(&sent, OutboxState::Parked);
    let park = policy(None, OnAmbiguous::Park);
    assert_eq!(
        may_retry(&parked, Some(&park), at(1)),
        Err(Refusal::NoKeys { sent: at(0) })
    );
    assert_eq!(
        may_retry(&parked, Some(&policy(None, OnAmbiguous::Resend)), at(1)),
        Ok(())
    );
    assert!(matches!(
        may_retry(&parked, None, at(1)),
        Err(Refusal::NoDestination(_))
    ));
}

#[test]
fn nothing_is_done_to_an_item_that_somebody_is_sending() {
    let item = item(None);
    let leased = Standing {
        lease_until: Some(at(1)),
        ..standing(&item, OutboxState::Open)
    };
    let keys = policy(Some(24 * HOUR), OnAmbiguous::Park);
    let refused = Err(Refusal::Leased(at(1)));
    assert_eq!(may_retry(&leased, Some(&keys), at(0)), refused);
    assert_eq!(may_resend(&leased, true, at(0)), refused);
    assert_eq!(may_discard(OutboxState::Open, Some(at(1)), at(0)), refused);
    assert_eq!(
        may_retry(&leased, Some(&keys), at(1)),
        Ok(()),
        "the lease is over"
    );
}

#[test]
fn what_is_finished_is_neither_retried_nor_dropped() {
    let item = item(None);
    let keys = policy(Some(24 * HOUR), OnAmbiguous::Park);
    for state in [OutboxState::Done, OutboxState::Discarded] {
        assert!(may_retry(&standing(&item, state), Some(&keys), at(0)).is_err());
        assert!(may_discard(state, None, at(0)).is_err());
        assert_eq!(may_resend(&standing(&item, state), true, at(0)), Ok(()));
        assert_eq!(OutboxState::parse(state.as_str()), Some(state));
    }
    assert!(twice(&standing(&item, OutboxState::Done)).contains("second time"));
}

#[test]
fn what_could_still_be_sent_can_be_parked() {
    for state in [OutboxState::Open, OutboxState::Dead] {
        assert_eq!(may_park(state, None, at(0)), Ok(()));
        assert_eq!(
            may_park(state, Some(at(1)), at(0)),
            Err(Refusal::Leased(at(1))),
            "an attempt decides itself"
        );
        assert_eq!(may_park(state, Some(at(1)), at(1)), Ok(()));
    }
    for state in [OutboxState::Parked, OutboxState::Done, OutboxState::Discarded] {
        assert!(matches!(may_park(state, None, at(0)), Err(Refusal::State { .. })));
    }
}
