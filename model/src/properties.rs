//! What must hold in every state. The names are used by the tests and in `docs/model.md`.

use stateright::{Model as _, Property};

use crate::{List, Protocol, State, Worker};

/// The guarantees, as far as the model knows what they speak of, and two that show that it is alive.
pub(crate) fn all() -> Vec<Property<Protocol>> {
    vec![
        Property::always(
            "an acknowledged event is durable",
            |_: &Protocol, state: &State| !state.acknowledged || state.event,
        ),
        Property::always("an event is applied once", |_: &Protocol, state: &State| {
            state.applied <= 1
        }),
        Property::always(
            "event and effect are written together",
            |_: &Protocol, state: &State| state.event == state.item.is_some(),
        ),
        Property::always("one generation acts once", |_: &Protocol, state: &State| {
            state.acts.iter().all(|acts| *acts <= 1)
        }),
        Property::always(
            "one worker at a time holds an effect",
            |_: &Protocol, state: &State| {
                let holds = |worker: &&Worker| match worker {
                    Worker::Holding(claimed) | Worker::Calling(claimed) | Worker::Told(claimed, _) => {
                        claimed.left > 0
                    }
                    Worker::Idle | Worker::Woken => false,
                };
                state.workers.iter().filter(holds).count() <= 1
            },
        ),
        Property::always("what is done stays done", |_: &Protocol, state: &State| {
            state
                .item
                .as_ref()
                .is_none_or(|item| !item.was_done || item.list == List::Done)
        }),
        Property::always("what is done has happened", |_: &Protocol, state: &State| {
            state
                .item
                .as_ref()
                .is_none_or(|item| item.list != List::Done || state.acts[usize::from(item.generation)] > 0)
        }),
        Property::always(
            "nothing is left when nothing can happen",
            |protocol: &Protocol, state: &State| {
                let mut actions = Vec::new();
                protocol.actions(state, &mut actions);
                !actions.is_empty() || state.item.as_ref().is_some_and(|item| item.list != List::Open)
            },
        ),
        Property::sometimes("an effect is done", |_: &Protocol, state: &State| {
            state.item.as_ref().is_some_and(|item| item.list == List::Done)
        }),
        Property::sometimes("an effect waits for a person", |_: &Protocol, state: &State| {
            state.item.as_ref().is_some_and(|item| item.list == List::Parked)
        }),
    ]
}
