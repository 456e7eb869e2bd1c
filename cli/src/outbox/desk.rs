//! One act on one outbox item: what it would be, and doing it. What is allowed is the core's to say, and the store writes
//! it under the condition that nothing has changed since.

use oncehook_core::{
    clock::Clock as _,
    config::Config,
    operate::{self, Refusal, Standing, give_up_at, may_discard, may_park, may_resend, may_retry},
    outbox::KeyShape,
    plan::{Effect, EffectBody},
    rules::Rules,
    settle::Policy,
};
use oncehook_edge::SystemClock;
use oncehook_store::{Acting, Fresh, Ledger, OutboxKey, Queue, StoredItem};

use crate::{events, operate::How, storage::Place};

/// An act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Retry,
    Resend { render: bool },
    Park,
    Discard,
}

/// What acts are decided with.
pub(crate) struct Desk {
    pub(crate) place: Place,
    pub(crate) ledger: Ledger,
    pub(crate) config: Option<Config>,
    pub(crate) rules: Option<Rules>,
    pub(crate) queue: Option<Queue>,
    pub(crate) client: oncehook_drain::Client,
}

impl Verb {
    /// Its name.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Resend { .. } => "resend",
            Self::Park => "park",
            Self::Discard => "discard",
        }
    }

    /// Whether an item is to be sent afterwards.
    pub(super) const fn wakes(self) -> bool {
        matches!(self, Self::Retry | Self::Resend { .. })
    }
}

impl Desk {
    /// What would be done with an item, in words, or why nothing.
    pub(crate) async fn would(
        &self,
        verb: Verb,
        item: &StoredItem,
    ) -> anyhow::Result<Result<String, String>> {
        let now = SystemClock.now();
        let Some(state) = item.state else {
            return Ok(Err("its state is none that this release knows".to_owned()));
        };
        if verb == Verb::Discard {
            let allowed = may_discard(state, item.lease_until, now).map(|()| "discard".to_owned());
            return Ok(allowed.map_err(|why| why.to_string()));
        }
        if verb == Verb::Park {
            let allowed = may_park(state, item.lease_until, now);
            let told = "park: nothing sends it until somebody has looked".to_owned();
            return Ok(allowed.map(|()| told).map_err(|why| why.to_string()));
        }
        let Some(view) = &item.view else {
            return Ok(Err(
                "the stored item cannot be read: it can only be parked or discarded".to_owned(),
            ));
        };
        let standing = Standing {
            item: &view.item,
            state,
            lease_until: item.lease_until,
        };
        let policy = self.policy(&item.destination);
        if verb == Verb::Retry {
            let allowed = may_retry(&standing, policy.as_ref(), now);
            let told = || format!("send again under the same key, {}", view.item.idempotency_key);
            return Ok(allowed.map(|()| told()).map_err(|why| why.to_string()));
        }
        if let Err(why) = may_resend(&standing, policy.is_some(), now) {
            return Ok(Err(why.to_string()));
        }
        let render = verb == Verb::Resend { render: true };
        let fresh = match self.fresh(item, render).await {
            Ok(fresh) => fresh,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let request = match &fresh.request {
            None => "the stored request",
            Some(request) if *request == view.item.request => {
                "the request as rendered now, which is the stored one"
            }
            Some(_) => "the request as rendered now, which is another than the stored one",
        };
        Ok(Ok(format!(
            "send {request} under a new key. {}",
            operate::twice(&standing)
        )))
    }

    /// Reads an item again, decides again, and writes.
    pub(crate) async fn act(&self, verb: Verb, how: &How, key: &OutboxKey) -> Result<String, String> {
        let told = |error: anyhow::Error| format!("{error:#}");
        let ledger = &self.ledger;
        let item = ledger.item(key).await.map_err(|error| error.to_string())?;
        let item = item.ok_or("it is gone")?;
        let would = self.would(verb, &item).await.map_err(told)??;
        let (actor, now) = (how.actor(), SystemClock.now());
        let give_up = give_up_at(now, self.give_up_after(&item.destination));
        let written = match verb {
            Verb::Retry => ledger.retry(&item, give_up, &actor, now).await,
            Verb::Resend { render } => {
                let fresh = self.fresh(&item, render).await.map_err(|why| why.to_string())?;
                ledger.resend(&item, &fresh, &actor, now).await
            }
            Verb::Park => ledger.park(&item, &actor, now).await,
            Verb::Discard => ledger.discard(&item, &actor, now).await,
        };
        match written {
            Err(error) => return Err(error.to_string()),
            Ok(Acting::Changed) => return Err("it changed meanwhile: look again".to_owned()),
            Ok(Acting::Written) => {}
        }
        if let (Some(queue), true) = (&self.queue, verb.wakes())
            && let Err(error) = queue.wake(&[item.wakeup()]).await
        {
            return Ok(format!("{would} (not woken: {error}; the next sweep does it)"));
        }
        Ok(would)
    }

    /// What `settle` knows of a destination: what the drain would take from the same configuration.
    fn policy(&self, destination: &str) -> Option<Policy> {
        let config = self.config.as_ref()?.destinations.get(destination)?;
        let destination = oncehook_drain::Destination::new(config.clone(), None, self.client.clone());
        Some(destination.policy())
    }

    fn give_up_after(&self, destination: &str) -> jiff::SignedDuration {
        let config = self.config.as_ref();
        config
            .and_then(|config| config.destinations.get(destination))
            .map_or(oncehook_core::outbox::GIVE_UP_AFTER, |config| {
                config.give_up_after
            })
    }

    /// What the next generation is sent with.
    async fn fresh(&self, item: &StoredItem, render: bool) -> Result<Fresh, Refusal> {
        let other = |why: String| Refusal::Other(why);
        let missing = || other("the stored item cannot be read".to_owned());
        let stored = item.item().ok_or_else(missing)?;
        let shape = self
            .config
            .as_ref()
            .and_then(|config| config.destinations.get(&item.destination))
            .and_then(|config| config.idempotency.as_ref())
            .map_or(KeyShape::DEFAULT, |idempotency| idempotency.shape);
        let give_up_at = give_up_at(SystemClock.now(), self.give_up_after(&item.destination));
        if !render && stored.request.body != EffectBody::Event {
            return Ok(Fresh {
                shape,
                request: None,
                give_up_at,
            });
        }
        let (pk, _) = item.key.parts();
        let event = self
            .ledger
            .event_alone(pk)
            .await
            .map_err(|error| other(error.to_string()))?;
        let event = event.ok_or_else(|| other("its event is gone".to_owned()))?;
        let kept = || other("its event's body is no longer kept".to_owned());
        event.body.as_ref().ok_or_else(kept)?;
        let source = self
            .config
            .as_ref()
            .and_then(|config| config.sources.get(&event.source));
        let (Some(rules), Some(source), true) = (&self.rules, source, render) else {
            return Ok(Fresh {
                shape,
                request: None,
                give_up_at,
            });
        };
        let event = event.event(&source.scheme).map_err(other)?;
        let effect: Effect = events::effect(rules, &event, &stored.rule, &stored.effect).map_err(other)?;
        if effect.destination != item.destination {
            return Err(other(format!(
                "the rule now sends this to `{}`, not to `{}`",
                effect.destination, item.destination
            )));
        }
        Ok(Fresh {
            shape: effect.key,
            request: Some(effect.request),
            give_up_at,
        })
    }
}
