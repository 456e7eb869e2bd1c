//! `oncehook outbox park` against a running `oncehook dev`: everything that could still be sent, held back in one go.

use oncehook_local::behaviour::Behaviour;
use serde_json::json;

use super::{
    dev::{CONFIG, Dev},
    err, out,
};

#[test]
fn after_a_restore_all_is_parked_and_each_goes_on_when_somebody_says_so() {
    let dev = Dev::start(CONFIG);
    // Both wait: one is to be sent in an hour, one was refused.
    dev.mail.next(Behaviour::Status(422, None));
    dev.send("invoice.payment_succeeded", "evt_dead");
    dev.wait_for("evt_dead", "dead");
    dev.mail.next(Behaviour::Status(429, Some(3600)));
    dev.send("invoice.payment_succeeded", "evt_open");
    dev.wait("throttled call", || dev.keys().len() == 2);
    dev.wait("end of the attempt", || {
        dev.item("evt_open")["lease_until"].is_null()
    });

    let mute = dev.run(&["outbox", "park", "--all", "--yes"]);
    assert_eq!(mute.status.code(), Some(2), "without a reason");
    assert!(err(&mute).contains("--reason"), "{}", err(&mute));
    let narrow = dev.run(&["outbox", "park", "--reason", "restored"]);
    assert_eq!(narrow.status.code(), Some(2), "neither key nor filter nor --all");
    let dry = dev.run(&["outbox", "park", "--all", "--reason", "restored"]);
    assert_eq!(dry.status.code(), Some(0), "{}", err(&dry));
    assert!(out(&dry).contains("would: park"), "{}", out(&dry));
    assert!(
        err(&dry).contains("2 to park, 0 not") && err(&dry).contains("nothing was changed"),
        "{}",
        err(&dry)
    );
    assert_eq!(dev.item("evt_open")["state"], "open");

    let parked = dev.json(&[
        "outbox", "park", "--all", "--reason", "restored", "--yes", "--as", "ada@desk", "--json",
    ]);
    assert_eq!(parked.as_array().unwrap().len(), 2);
    for id in ["evt_open", "evt_dead"] {
        let item = dev.item(id);
        assert_eq!(item["state"], "parked", "{item}");
        assert_eq!(item["reason"], "parked by ada@desk: restored");
        assert_eq!(
            (&item["acts"][0]["act"], &item["acts"][0]["why"]),
            (&json!("park"), &json!("restored"))
        );
        assert_eq!(
            item["maybe_sent_at"], item["created_at"],
            "it may have been sent since it was made"
        );
    }
    assert_eq!(
        dev.run(&["outbox", "park", "--all", "--reason", "again", "--yes"])
            .status
            .code(),
        Some(1),
        "nothing is left"
    );
    assert_eq!(dev.keys().len(), 2, "nothing was sent");

    let retried = dev.run(&["outbox", "retry", "--event", "evt_dead", "--yes"]);
    assert_eq!(retried.status.code(), Some(0), "{}", out(&retried));
    assert_eq!(dev.item("evt_open")["state"], "parked");
    assert_ne!(dev.item("evt_dead")["state"], "parked");
}
