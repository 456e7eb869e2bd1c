//! One event with one effect, for tests that need some item in the outbox and do not care what it says.

use std::sync::Arc;

use bytes::Bytes;
use oncehook_core::{
    decide::Decision,
    event::Event,
    outbox::{GIVE_UP_AFTER, KeyShape},
    plan::{Effect, EffectBody, Plan, RenderedRequest, RulePlan},
};

/// A Stripe event of this id, scope `acct`, body `{}`.
#[must_use]
pub fn event(id: &str) -> Event {
    Event {
        source: "stripe".into(),
        namespace: "stripe".into(),
        scope: "acct".into(),
        id: id.into(),
        kind: "paid".into(),
        occurred_at: None,
        tenant: "acct".into(),
        id_signed: true,
        guard_body: false,
        token: None,
        content_type: Some("application/json".into()),
        body: Bytes::from_static(b"{}"),
        data: Arc::new(serde_json::json!({})),
        defect: None,
    }
}

/// A POST of a small JSON body.
#[must_use]
pub fn request(url: &str) -> RenderedRequest {
    RenderedRequest {
        method: "POST".into(),
        url: url.into(),
        headers: vec![("x-fixed".into(), "1".into())],
        content_type: Some("application/json".into()),
        body: EffectBody::Text("{\"to\":\"ada\"}".into()),
    }
}

/// The rule `credit` with these effects, each a [`request`] to the destination `mail`.
#[must_use]
pub fn decision(url: &str, effects: &[&str]) -> Decision {
    let effect = |name: &&str| Effect {
        name: (*name).into(),
        destination: "mail".into(),
        request: request(url),
        key: KeyShape::DEFAULT,
        give_up_after: GIVE_UP_AFTER,
    };
    let rule = RulePlan {
        rule: "credit".into(),
        guards: vec![],
        updates: vec![],
        effects: effects.iter().map(effect).collect(),
    };
    Decision::Apply(Plan {
        rules: vec![rule],
        response: None,
    })
}
