//! No secret is shown: not in the log at its finest, with the SDK and its HTTP client talking, and not by `Debug`.

use std::time::Duration;

use oncehook_edge::{SecretStore, Secrets, Why, local_ssm};
use oncehook_local::{behaviour::Behaviour, lines, parameters::Parameters};
use tracing::Level;

use crate::store::at;

#[tokio::test]
async fn the_finest_log_tells_what_happened_and_shows_no_secret() {
    lines::start(Level::TRACE);
    let ssm = Parameters::start().unwrap();
    let name = "/oncehook/shown/secrets";
    ssm.put(
        name,
        r#"{"stripe": ["whsec_private1", 5, " "], "mail": {"x": "re_private2"}, "n": "z_private3\n"}"#,
    );
    ssm.next(Behaviour::Drop);
    let store = SecretStore::open(local_ssm(&ssm.endpoint()), name.to_owned(), at(0)).await;
    assert!(store.current().first("stripe").is_some());
    for (minute, text) in [
        (6, "whsec_private4"),
        (12, r#"{"stripe": whsec_private5}"#),
        (18, r#"["whsec_private6"]"#),
    ] {
        ssm.put(name, text);
        store.refresh(Why::Old, at(minute * 60)).await;
    }
    ssm.next(Behaviour::Hang(Duration::from_secs(5)));
    store.refresh(Why::Old, at(24 * 60)).await;
    ssm.remove(name);
    store.refresh(Why::Old, at(30 * 60)).await;
    let shown = format!("{store:?} {:?}", store.current());
    let log = lines::take();
    for expected in [
        "reading the secrets again",
        "a value of this secret is a number and not a string",
        "a value of this secret is an object and not a string",
        "secrets read",
        "it is not JSON (line 1, column 12)",
        "it is not a JSON object",
        "did not answer in time",
        "there is no such parameter",
        "the last good secrets stay in use",
    ] {
        assert!(log.contains(expected), "{expected} is not in the log");
    }
    assert!(log.contains("aws_smithy"), "the SDK logs, too");
    for text in [log, shown] {
        let place = text.find("_private");
        let around = place.map(|place| &text[place.saturating_sub(300)..(place + 20).min(text.len())]);
        assert_eq!(around, None);
    }
    let secrets = Secrets::parse(r#"{"stripe": "whsec_private7"}"#).unwrap();
    assert!(!format!("{secrets:?}").contains("private7"));
}
