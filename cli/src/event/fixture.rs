//! The fixtures by name: what each is and how it is made. What each is answered with stands in events/README.md.

use clap::builder::PossibleValuesParser;

/// One fixture.
#[derive(Debug)]
pub(super) struct Fixture {
    pub(super) name: &'static str,
    /// The logical id of the function that gets it.
    function: &'static str,
    about: &'static str,
    pub(super) made: Made,
}

/// Where a fixture comes from.
#[derive(Debug)]
pub(super) enum Made {
    /// A request to the API, made and signed when it is printed.
    Request(Case),
    /// The file as it is: nothing in it ages.
    Stored(&'static str),
}

/// A request to the API.
#[derive(Debug)]
pub(super) struct Case {
    /// The event's type and id, unless others are asked for.
    pub(super) kind: &'static str,
    pub(super) id: &'static str,
    /// The source in the path, if it is not the one that signs.
    pub(super) to: Option<&'static str>,
    pub(super) get: bool,
    pub(super) forged: bool,
    pub(super) stale: bool,
    pub(super) base64: bool,
}

const PAYMENT: Case = Case {
    kind: "invoice.payment_succeeded",
    id: "evt_fixture_payment",
    to: None,
    get: false,
    forged: false,
    stale: false,
    base64: false,
};

/// All of them, in the order in which they are tried on one table.
pub(super) const FIXTURES: &[Fixture] = &[
    request("applied", "a payment, signed", PAYMENT),
    request("duplicate", "the same payment, delivered again", PAYMENT),
    request(
        "bad-signature",
        "signed with another secret",
        Case {
            forged: true,
            ..PAYMENT
        },
    ),
    request(
        "stale",
        "signed ten minutes ago",
        Case {
            stale: true,
            ..PAYMENT
        },
    ),
    request(
        "base64",
        "a subscription, its body in base64",
        Case {
            kind: "customer.subscription.updated",
            id: "evt_fixture_subscription",
            base64: true,
            ..PAYMENT
        },
    ),
    request(
        "unknown-source",
        "to a source that is not configured",
        Case {
            to: Some("nobody"),
            ..PAYMENT
        },
    ),
    request("get", "a GET without a body", Case { get: true, ..PAYMENT }),
    stored(
        "sweep",
        "Sweep",
        "the schedule's event",
        include_str!("../../../events/sweep.json"),
    ),
    stored(
        "batch",
        "Drain",
        "the payment's receipt twice, and an item that is not there",
        include_str!("../../../events/batch.json"),
    ),
    stored(
        "poison",
        "Drain",
        "messages that are no wake-ups",
        include_str!("../../../events/poison.json"),
    ),
];

const fn request(name: &'static str, about: &'static str, case: Case) -> Fixture {
    Fixture {
        name,
        function: "Ingest",
        about,
        made: Made::Request(case),
    }
}

const fn stored(
    name: &'static str,
    function: &'static str,
    about: &'static str,
    json: &'static str,
) -> Fixture {
    Fixture {
        name,
        function,
        about,
        made: Made::Stored(json),
    }
}

/// The fixture of this name.
pub(super) fn find(name: &str) -> Option<&'static Fixture> {
    FIXTURES.iter().find(|fixture| fixture.name == name)
}

/// The names, for the command line.
pub(super) fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(FIXTURES.iter().map(|fixture| fixture.name))
}

impl Fixture {
    /// For the list.
    pub(super) fn row(&self) -> Vec<String> {
        [self.name, self.function, self.about].map(str::to_owned).to_vec()
    }
}
