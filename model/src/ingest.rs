//! The way in: verify and plan, commit, wake, acknowledge. Signatures and plans are taken as right.

use crate::{Action, Delivery, Fault, Item, List, Protocol, State};

impl Protocol {
    pub(crate) fn ingest_actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (copy, delivery) in state.deliveries.iter().enumerate() {
            match delivery {
                Delivery::AtProvider => actions.push(Action::Arrive(copy)),
                Delivery::Planned => {
                    actions.push(Action::Commit(copy));
                    if self.has(Fault::AcknowledgesFirst) {
                        actions.push(Action::Acknowledge(copy));
                    }
                }
                Delivery::HalfWritten => actions.push(Action::CommitRest(copy)),
                Delivery::Durable => actions.push(Action::Wake(copy)),
                Delivery::Woken => {
                    actions.push(Action::Acknowledge(copy));
                    if state.loss_left() {
                        actions.push(Action::AnswerLost(copy));
                    }
                }
                Delivery::Acknowledged => continue,
            }
            if *delivery != Delivery::AtProvider && state.crash_left() {
                actions.push(Action::IngestDies(copy));
            }
        }
    }

    pub(crate) fn ingest(&self, state: &mut State, action: Action) {
        match action {
            Action::Arrive(copy) => state.deliveries[copy] = Delivery::Planned,
            Action::Commit(copy) => self.commit(state, copy),
            Action::CommitRest(copy) => {
                state.item = Some(fresh());
                state.deliveries[copy] = Delivery::Durable;
            }
            Action::Wake(copy) => {
                state.messages = (state.messages + 1).min(2);
                state.deliveries[copy] = Delivery::Woken;
            }
            Action::Acknowledge(copy) => {
                state.acknowledged = true;
                state.deliveries[copy] = Delivery::Acknowledged;
            }
            Action::AnswerLost(copy) => {
                state.left[1] -= 1;
                state.deliveries[copy] = Delivery::AtProvider;
            }
            Action::IngestDies(copy) => {
                state.left[0] -= 1;
                state.deliveries[copy] = Delivery::AtProvider;
            }
            _ => {}
        }
    }

    /// Everything at once if the event is absent; otherwise it is a duplicate, and as durable.
    fn commit(&self, state: &mut State, copy: usize) {
        state.deliveries[copy] = Delivery::Durable;
        if state.event && !self.has(Fault::NoCondition) {
            return;
        }
        state.event = true;
        state.applied += 1;
        if self.has(Fault::TwoWrites) {
            state.deliveries[copy] = Delivery::HalfWritten;
        } else {
            state.item = Some(fresh());
        }
    }
}

fn fresh() -> Item {
    Item {
        list: List::Open,
        was_done: false,
        generation: 0,
        due: 0,
        attempts: 0,
        tries: 0,
        maybe_sent: None,
        lease: None,
    }
}
