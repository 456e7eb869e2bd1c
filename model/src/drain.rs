//! The way out: claim, call, settle.

use crate::{
    ATTEMPTS, Action, CALL, Call, Claimed, Destination, Fault, LEASE, List, Protocol, State, Told, Worker,
};

impl Protocol {
    pub(crate) fn drain_actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (number, worker) in state.workers.iter().enumerate() {
            match worker {
                Worker::Idle => {
                    if state.messages > 0 {
                        actions.push(Action::Take(number));
                        if state.loss_left() {
                            actions.push(Action::TakeCopy(number));
                        }
                    }
                    continue;
                }
                Worker::Woken => actions.push(Action::Claim(number)),
                Worker::Holding(_) => {
                    actions.push(Action::Send(number));
                    if state.loss_left() {
                        actions.push(Action::Unreached(number));
                    }
                }
                Worker::Calling(claimed) => {
                    let call = state.call_of(claimed);
                    if call.is_some_and(|call| call.answered) {
                        actions.push(Action::Hear(number));
                    }
                    // The deadline, or a connection that broke.
                    if state.loss_left() || call.is_none_or(|call| call.age >= CALL) {
                        actions.push(Action::Silence(number));
                    }
                }
                Worker::Told(..) => actions.push(Action::Settle(number)),
            }
            if state.crash_left() {
                actions.push(Action::WorkerDies(number));
            }
        }
    }

    pub(crate) fn drain(&self, state: &mut State, action: Action) {
        match action {
            Action::Take(number) => {
                state.messages -= 1;
                state.workers[number] = Worker::Woken;
            }
            Action::TakeCopy(number) => {
                state.left[1] -= 1;
                state.workers[number] = Worker::Woken;
            }
            Action::Claim(number) => state.workers[number] = self.claim(state),
            Action::Send(number) => self.send(state, number),
            Action::Unreached(number) => {
                state.left[1] -= 1;
                tell(state, number, Told::Unreached);
            }
            Action::Hear(number) => {
                tell(state, number, Told::Delivered);
            }
            Action::Silence(number) => {
                if let Worker::Calling(item) = &state.workers[number]
                    && state.call_of(item).is_some_and(|call| call.age < CALL)
                {
                    state.left[1] -= 1;
                }
                tell(state, number, Told::Ambiguous);
            }
            Action::Settle(number) => {
                if let Worker::Told(seen, told) = std::mem::replace(&mut state.workers[number], Worker::Idle)
                {
                    self.settle(state, seen, told);
                }
            }
            Action::WorkerDies(number) => {
                state.left[0] -= 1;
                state.workers[number] = Worker::Idle;
                state.messages = (state.messages + 1).min(2);
            }
            _ => {}
        }
        state.tidy();
    }

    /// Open, due and free: counted, leased, and the time of the first possible effect noted.
    fn claim(&self, state: &mut State) -> Worker {
        let Some(item) = &mut state.item else {
            return Worker::Idle;
        };
        let free = item.lease.is_none_or(|(_, left)| left == 0) || self.has(Fault::NoLease);
        if item.list != List::Open || item.due > 0 || !free {
            return Worker::Idle;
        }
        if item.tries >= ATTEMPTS {
            // Whoever tried last did not say what came of it.
            item.list = List::Parked;
            item.lease = None;
            return Worker::Idle;
        }
        item.attempts += 1;
        item.tries += 1;
        item.lease = Some((item.attempts, LEASE));
        if self.has(Fault::SlidingWindow) {
            item.maybe_sent = None;
        }
        let (age, by) = *item.maybe_sent.get_or_insert((0, item.attempts));
        Worker::Holding(Claimed {
            lease: item.attempts,
            left: LEASE,
            generation: item.generation,
            age,
            first: by == item.attempts,
        })
    }

    /// Only while the lease outlasts the call, and only if nothing was sent before or the destination still knows the key.
    fn send(&self, state: &mut State, number: usize) {
        let Worker::Holding(claimed) = state.workers[number] else {
            return;
        };
        if claimed.left <= CALL {
            return tell(state, number, Told::Unreached);
        }
        if !claimed.first && !self.within_window(claimed.age) {
            return tell(state, number, Told::TooLate);
        }
        state.calls.push(Call {
            lease: claimed.lease,
            key: if self.has(Fault::FreshKeys) {
                10 + claimed.lease
            } else {
                claimed.generation
            },
            generation: claimed.generation,
            age: 0,
            answered: false,
        });
        state.workers[number] = Worker::Calling(claimed);
    }

    /// Under the lease; a delivery under its generation.
    fn settle(&self, state: &mut State, claimed: Claimed, told: Told) {
        let Some(item) = &mut state.item else { return };
        if told == Told::Delivered {
            let same = item.generation == claimed.generation || self.has(Fault::AnyGeneration);
            if same && item.list != List::Done {
                item.list = List::Done;
                item.was_done = true;
                item.lease = None;
            }
            return;
        }
        let holds = item.lease.is_some_and(|(lease, _)| lease == claimed.lease);
        if !holds && !self.has(Fault::UnfencedSettle) {
            return;
        }
        item.lease = None;
        item.list = List::Open;
        if told == Told::Unreached && (claimed.first || self.has(Fault::ForgetsSends)) {
            item.maybe_sent = None;
        }
        let blind = self.destination == Destination::NoKeys && told == Told::Ambiguous;
        if told == Told::TooLate || item.tries >= ATTEMPTS || blind {
            item.list = List::Parked;
        } else {
            item.due = 1;
        }
    }
}

fn tell(state: &mut State, number: usize, told: Told) {
    if let Worker::Holding(claimed) | Worker::Calling(claimed) = state.workers[number] {
        state.workers[number] = Worker::Told(claimed, told);
    }
}
