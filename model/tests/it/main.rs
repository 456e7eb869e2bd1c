//! Every state within the bounds, for a destination with keys and one without; and each broken rule, found.

#![expect(clippy::print_stdout, reason = "what was looked at, for `--nocapture`")]

use oncehook_model::{Destination, FAULTS, Fault, Protocol};
use stateright::{Checker as _, HasDiscoveries, Model as _};

const KEYS: Destination = Destination::Remembers(4);

/// Two copies of the request, one worker: what can happen on the way in.
const IN: Protocol = Protocol {
    copies: 2,
    workers: 1,
    crashes: 1,
    losses: 1,
    acts: 0,
    destination: KEYS,
    fault: None,
};

/// One copy, two workers and a person: what can happen on the way out.
const OUT: Protocol = Protocol {
    copies: 1,
    workers: 2,
    acts: 1,
    ..IN
};

#[test]
fn every_state_keeps_every_property() {
    for bounds in [IN, OUT] {
        for destination in [KEYS, Destination::NoKeys] {
            let protocol = Protocol {
                destination,
                ..bounds
            };
            let checked = protocol.checker().threads(2).spawn_dfs().join();
            println!(
                "{} copies, {} workers, {destination:?}: {} states",
                bounds.copies,
                bounds.workers,
                checked.unique_state_count()
            );
            checked.assert_properties();
        }
    }
}

/// Which property notices the fault, and with which destination.
fn noticed_by(fault: Fault) -> (&'static str, Protocol) {
    match fault {
        Fault::AcknowledgesFirst => ("an acknowledged event is durable", IN),
        Fault::NoCondition => ("an event is applied once", IN),
        Fault::TwoWrites => ("event and effect are written together", IN),
        Fault::BlindSweep => ("nothing is left when nothing can happen", IN),
        Fault::NoLease => ("one worker at a time holds an effect", OUT),
        Fault::UnfencedSettle => ("what is done stays done", OUT),
        Fault::SlidingWindow | Fault::FreshKeys | Fault::ForgetsSends => ("one generation acts once", OUT),
        Fault::AnyGeneration => ("what is done has happened", OUT),
    }
}

#[test]
fn each_broken_rule_is_noticed() {
    for fault in FAULTS {
        let (property, bounds) = noticed_by(fault);
        let protocol = Protocol {
            losses: 2,
            fault: Some(fault),
            ..bounds
        };
        let checked = protocol
            .checker()
            .threads(2)
            .timeout(std::time::Duration::from_secs(60))
            .finish_when(HasDiscoveries::AnyOf([property].into()))
            .spawn_bfs()
            .join();
        let found = checked.discovery(property);
        println!("{fault:?}: {:?}", found.map(|path| path.into_actions()));
        assert!(checked.discovery(property).is_some(), "{fault:?} was not noticed");
    }
}
