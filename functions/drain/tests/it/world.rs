//! Items and destinations for the tests.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    config::{Auth, DestinationConfig, Idempotency, KeyPlace, Kind},
    outbox::{KeyShape, OutboxItem},
    secret::Secret,
    settle::OnAmbiguous,
};
use oncehook_drain::{Destination, client};
use oncehook_local::sample;

pub(crate) fn now() -> Timestamp {
    "2026-12-01T00:00:00Z".parse().unwrap()
}

pub(crate) fn config(url: &str, auth: Auth) -> DestinationConfig {
    DestinationConfig {
        name: "mail".into(),
        kind: Kind::Http,
        preset: None,
        url: url.into(),
        method: "POST".into(),
        content_type: "application/json".into(),
        headers: BTreeMap::new(),
        auth,
        secret: Some("mail".into()),
        idempotency: Some(Idempotency {
            place: KeyPlace::Header("Idempotency-Key".into()),
            shape: KeyShape::DEFAULT,
            retention: SignedDuration::from_hours(24),
            quoted: false,
            stores_errors: true,
            needs: None,
        }),
        on_ambiguous: OnAmbiguous::Park,
        timeout: SignedDuration::from_secs(2),
        give_up_after: SignedDuration::from_hours(72),
        concurrency: 4,
    }
}

pub(crate) fn destination(config: DestinationConfig) -> Destination {
    destination_with(config, "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0")
}

pub(crate) fn destination_with(config: DestinationConfig, secret: &str) -> Destination {
    let (secret, _) = Secret::new("mail", secret).unwrap();
    Destination::new(config, Some(secret), client().unwrap())
}

pub(crate) fn item(url: &str) -> OutboxItem {
    OutboxItem {
        source: "stripe".into(),
        tenant: "acct".into(),
        rule: "credit".into(),
        effect: "receipt".into(),
        destination: "mail".into(),
        request: sample::request(url),
        idempotency_key: "key-1".into(),
        generation: 0,
        attempts: 1,
        created_at: now(),
        due_at: now(),
        give_up_at: now() + SignedDuration::from_hours(72),
        maybe_sent_at: Some(now()),
        server_errors: 0,
        last_status: None,
        kept_until: None,
        kept: false,
    }
}
