//! A person who retries, resends, discards and replays, at bad moments and from a machine that may break down.

use std::{sync::atomic::Ordering, time::Duration};

use oncehook_core::{
    clock::Clock,
    decide::decide,
    operate::{Standing, give_up_at, may_discard, may_resend, may_retry},
    outbox::{KeyShape, OutboxState},
};
use oncehook_drain::Destination;
use oncehook_store::{
    Acting, Actor, EventFilter, Fresh, Keep, Ledger, Outcome, Replay, Replayed, StoreError, StoredItem,
};
use tokio::time::{Instant, sleep};

use crate::{
    machine::{Machine, ledger},
    world::Process,
};

/// Acts as often as the weather says, then rests.
pub(crate) async fn act(machine: &Machine, client: oncehook_drain::Client) {
    let world = &machine.world;
    let process = Process::new(world, "operator");
    let ledger = ledger(&process);
    for _ in 0..world.weather.acts {
        sleep(world.some(world.weather.storm / u32::max(1, world.weather.acts))).await;
        if !world.storming() {
            return;
        }
        let acted = process.run(one(machine, &process, &ledger, &client)).await;
        world.say("operator", || format!("{acted:?}"));
    }
}

async fn one(
    machine: &Machine,
    process: &Process,
    ledger: &Ledger,
    client: &oncehook_drain::Client,
) -> Result<String, String> {
    let world = &machine.world;
    if world.chance(25) {
        world.mended.store(true, Ordering::Relaxed);
        return replay(machine, process, ledger).await;
    }
    let items = ledger.scan_items().await.map_err(|error| error.to_string())?;
    let items: Vec<&StoredItem> = items.iter().filter(|item| item.item().is_some()).collect();
    let Some(stored) = pick(machine, &items) else {
        return Ok("nothing to do".to_owned());
    };
    // Reading, thinking and typing take time.
    sleep(world.some(Duration::from_secs(5))).await;
    let now = process.now();
    let item = stored.item().ok_or("unreadable")?;
    let standing = Standing {
        item,
        state: stored.state.ok_or("no state")?,
        lease_until: stored.lease_until,
    };
    let config = &machine.setup.config.destinations[&item.destination];
    let policy = Destination::new(config.clone(), None, client.clone()).policy();
    let actor = actor();
    let until = give_up_at(now, config.give_up_after);
    let refused = |error: oncehook_core::operate::Refusal| error.to_string();
    let done = |acting: Result<Acting, StoreError>| format!("{}: {acting:?}", stored.key);
    match world.draw(5) {
        0 | 1 => {
            may_retry(&standing, Some(&policy), now).map_err(refused)?;
            let acting = ledger.retry(stored, until, &actor, now).await;
            wake(machine, stored, &acting).await;
            Ok(format!("retry {}", done(acting)))
        }
        2 | 3 => {
            may_resend(&standing, true, now).map_err(refused)?;
            let event = stored.view.as_ref().map(|view| view.event_id.clone());
            let identity = (item.effect.clone(), event.unwrap_or_default());
            *world.book().resends.entry(identity).or_default() += 1;
            let fresh = Fresh {
                shape: config
                    .idempotency
                    .as_ref()
                    .map_or(KeyShape::DEFAULT, |keys| keys.shape),
                request: None,
                give_up_at: until,
            };
            let acting = ledger.resend(stored, &fresh, &actor, now).await;
            wake(machine, stored, &acting).await;
            Ok(format!("resend {}", done(acting)))
        }
        _ => {
            if standing.state == OutboxState::Open {
                return Ok("leaves it alone".to_owned());
            }
            may_discard(standing.state, standing.lease_until, now).map_err(refused)?;
            Ok(format!(
                "discard {}",
                done(ledger.discard(stored, &actor, now).await)
            ))
        }
    }
}

fn pick<'a, T>(machine: &Machine, all: &'a [T]) -> Option<&'a T> {
    let index = usize::try_from(machine.world.draw(all.len() as u64)).unwrap();
    all.get(index)
}

async fn wake(machine: &Machine, stored: &StoredItem, acting: &Result<Acting, StoreError>) {
    let written = matches!(acting, Ok(Acting::Written));
    if written {
        let _woken = machine.queue.wake(&[stored.wakeup()]).await;
    }
}

fn actor() -> Actor {
    Actor {
        by: "operator".to_owned(),
        why: Some("chaos".to_owned()),
    }
}

async fn replay(machine: &Machine, process: &Process, ledger: &Ledger) -> Result<String, String> {
    let scan = ledger.scan(&EventFilter::default()).await;
    let (events, _) = scan.map_err(|error| error.to_string())?;
    let waiting: Vec<_> = events
        .iter()
        .filter(|event| {
            matches!(
                event.record.outcome,
                Outcome::Failed | Outcome::Held | Outcome::Ignored
            )
        })
        .collect();
    let Some(stored) = pick(machine, &waiting) else {
        return Ok("nothing to replay".to_owned());
    };
    sleep(machine.world.some(Duration::from_secs(2))).await;
    let config = &machine.setup.config.sources[&stored.source];
    let event = stored.event(&config.scheme)?;
    let decision = decide(config.mode, config.not_before, machine.handler.as_ref(), &event);
    let replay = Replay {
        stored,
        event: &event,
        decision: &decision,
        keep: Keep {
            retention: config.retention,
            keys_for: config.keys_for,
        },
        release: false,
        actor: &actor(),
        now: process.now(),
        deadline: Instant::now() + Duration::from_secs(10),
    };
    let replayed = ledger.replay(replay).await.map_err(|error| error.to_string())?;
    if let Replayed::Committed(record) = &replayed {
        let _woken = machine.queue.wake(&record.wakeups).await;
    }
    Ok(format!("replay {}: {replayed:?}", stored.id))
}
