//! What the world does around the functions: time, the queue, the destination, the sweeper, people.

use crate::{Action, CALL, Call, Claimed, Destination, Fault, Item, List, OLD, Protocol, State, Worker};

impl Protocol {
    pub(crate) fn outside_actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.later(self) != *state {
            actions.push(Action::Tick);
        }
        if state.messages > 0 && state.loss_left() {
            actions.push(Action::WakeLost);
        }
        for (place, call) in state.calls.iter().enumerate() {
            if !call.answered {
                actions.push(Action::Act(place));
            }
        }
        let Some(item) = &state.item else { return };
        let free = item.lease.is_none_or(|(_, left)| left == 0);
        if item.list == List::Open
            && item.due == 0
            && free
            && state.messages == 0
            && !self.has(Fault::BlindSweep)
        {
            actions.push(Action::Sweep);
        }
        if item.list == List::Parked && state.left[2] > 0 {
            if item.maybe_sent.is_none_or(|(age, _)| self.within_window(age)) {
                actions.push(Action::Retry);
            }
            if usize::from(item.generation) + 1 < state.acts.len() {
                actions.push(Action::Resend);
            }
            actions.push(Action::Discard);
        }
    }

    pub(crate) fn outside(&self, state: &mut State, action: Action) {
        match action {
            Action::Tick => *state = state.later(self),
            Action::WakeLost => {
                state.left[1] -= 1;
                state.messages -= 1;
            }
            Action::Act(place) => {
                let call = &mut state.calls[place];
                call.answered = true;
                let (key, generation) = (call.key, usize::from(call.generation));
                let known = state.memory.iter().any(|(known, _)| *known == key);
                if !known {
                    state.acts[generation] += 1;
                    if self.destination != Destination::NoKeys {
                        state.memory.push((key, 0));
                        state.memory.sort_unstable();
                    }
                }
                state.tidy();
            }
            Action::Sweep => state.messages += 1,
            Action::Retry => act(state, |item| {
                item.list = List::Open;
                item.due = 0;
                item.tries = 0;
            }),
            Action::Resend => act(state, |item| {
                item.list = List::Open;
                item.due = 0;
                item.tries = 0;
                item.generation += 1;
                item.maybe_sent = None;
            }),
            Action::Discard => act(state, |item| item.list = List::Discarded),
            _ => {}
        }
    }
}

impl State {
    /// One tick on: leases run out, the network gives up, a destination forgets.
    fn later(&self, protocol: &Protocol) -> Self {
        let mut state = self.clone();
        if let Some(item) = &mut state.item {
            item.due = item.due.saturating_sub(1);
            if let Some((_, left)) = &mut item.lease {
                *left = left.saturating_sub(1);
            }
            if let Some((age, _)) = &mut item.maybe_sent {
                *age = (*age + 1).min(OLD);
            }
        }
        for worker in &mut state.workers {
            if let Worker::Holding(claimed) | Worker::Calling(claimed) | Worker::Told(claimed, _) = worker {
                claimed.left = claimed.left.saturating_sub(1);
                claimed.age = (claimed.age + 1).min(OLD);
            }
        }
        for call in &mut state.calls {
            call.age = (call.age + 1).min(OLD);
        }
        state.calls.retain(|call| call.answered || call.age <= CALL);
        for (_, age) in &mut state.memory {
            *age += 1;
        }
        if let Destination::Remembers(retention) = protocol.destination {
            state.memory.retain(|(_, age)| *age < retention);
        }
        state
    }

    /// The call of that claim.
    pub(crate) fn call_of(&self, claimed: &Claimed) -> Option<&Call> {
        self.calls.iter().find(|call| call.lease == claimed.lease)
    }

    /// A call whose worker is gone may still arrive; an answer that nobody waits for is over.
    pub(crate) fn tidy(&mut self) {
        let Self { calls, workers, .. } = self;
        let waits = |lease: u8| {
            workers
                .iter()
                .any(|worker| matches!(worker, Worker::Calling(claimed) if claimed.lease == lease))
        };
        calls.retain(|call| !call.answered || waits(call.lease));
        calls.sort_unstable();
    }
}

fn act(state: &mut State, change: impl FnOnce(&mut Item)) {
    state.left[2] -= 1;
    if let Some(item) = &mut state.item {
        item.lease = None;
        change(item);
    }
}
