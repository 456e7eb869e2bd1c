//! The files in `events/`: that they are what `oncehook event` prints, and that their README knows each of them.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{config::Config, request::SignedRequest, secret::Secret, verify::Source};
use oncehook_tests::{
    binaries::workspace,
    fixtures::{documented, oncehook_event},
};
use serde_json::Value;

/// When every file is signed.
const SIGNED: &str = "2026-12-01T00:00:00Z";
const SECRET: &str = "whsec_for_the_fixtures";

fn printed(arguments: &[&str], secret: Option<&str>) -> String {
    let output = oncehook_event(arguments, secret);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "oncehook event {arguments:?}: {complaint}"
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_file_is_what_oncehook_event_prints() {
    for fixture in documented() {
        let requests: &[&str] = if fixture.function == "Ingest" {
            &["--at", SIGNED]
        } else {
            &[]
        };
        let now = printed(&[&[fixture.name.as_str()], requests].concat(), None);
        let remedy = format!(
            "oncehook event {} {} > events/{}.json",
            fixture.name,
            requests.join(" "),
            fixture.name
        );
        assert!(
            now == fixture.file(),
            "events/{}.json is out of date: {remedy}",
            fixture.name
        );
    }
}

#[test]
fn the_readme_knows_every_file_and_says_what_the_list_says() {
    let rows = documented();
    let folder = std::fs::read_dir(workspace().join("events")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = names
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    assert_eq!(
        rows.iter().map(|row| row.name.clone()).collect::<BTreeSet<_>>(),
        files
    );

    let list = printed(&["--list"], None);
    let listed: Vec<Vec<&str>> = list.lines().skip(1).map(cells).collect();
    let wanted: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| vec![row.name.as_str(), &row.function, &row.about])
        .collect();
    assert_eq!(listed, wanted);
}

/// The columns of a table without borders.
fn cells(line: &str) -> Vec<&str> {
    let cells = line.split("  ").map(str::trim);
    cells.filter(|cell| !cell.is_empty()).collect()
}

/// The request of an event as Ingest would verify it.
fn request(event: &str) -> (SignedRequest, Timestamp) {
    let event: Value = serde_json::from_str(event).unwrap();
    let mut headers = HeaderMap::new();
    for (name, value) in event["headers"].as_object().unwrap() {
        let value = HeaderValue::try_from(value.as_str().unwrap()).unwrap();
        headers.insert(HeaderName::try_from(name).unwrap(), value);
    }
    let at = event["requestContext"]["timeEpoch"].as_i64().unwrap();
    let request = SignedRequest {
        method: Method::POST,
        path_and_query: event["rawPath"].as_str().unwrap().to_owned(),
        headers,
        body: Bytes::from(event["body"].as_str().unwrap().to_owned()),
        source_ip: None,
    };
    (request, Timestamp::from_millisecond(at).unwrap())
}

/// Why a source with the secret of these tests refuses the event, or `ok`.
fn verdict(arguments: &[&str]) -> &'static str {
    let text = std::fs::read_to_string(workspace().join("oncehook.toml")).unwrap();
    let config = Config::parse(&text, "oncehook.toml").unwrap();
    let (secret, _) = Secret::new("stripe", SECRET).unwrap();
    let source = Source::new(&config.sources["stripe"], vec![secret]).unwrap();
    let (request, at) = request(&printed(arguments, Some(SECRET)));
    source
        .verify(request, at)
        .err()
        .map_or("ok", |error| error.reason())
}

#[test]
fn an_event_is_signed_at_this_moment_and_as_asked() {
    let before = Timestamp::from_second(1_700_000_000).unwrap();
    let (_, at) = request(&printed(&["applied"], None));
    assert!(at > before + SignedDuration::from_hours(24));
    assert_eq!(verdict(&["applied"]), "ok");
    assert_eq!(verdict(&["applied", "--tamper"]), "signature_mismatch");
    assert_eq!(
        verdict(&["applied", "--secret", "whsec_another"]),
        "signature_mismatch"
    );
    assert_eq!(verdict(&["bad-signature"]), "signature_mismatch");
    assert_eq!(verdict(&["stale"]), "timestamp_too_old");
    assert_eq!(verdict(&["stale", "--age", "1m"]), "ok");
}

#[test]
fn an_event_of_another_kind_has_an_identity_of_its_own() {
    let body = |arguments: &[&str]| {
        let event: Value = serde_json::from_str(&printed(arguments, None)).unwrap();
        serde_json::from_str::<Value>(event["body"].as_str().unwrap()).unwrap()
    };
    let payment = body(&["applied"]);
    assert_eq!(body(&["duplicate"]), payment);
    let second = body(&["applied", "--id", "evt_2"]);
    assert_eq!(
        (&second["id"], &second["data"]["object"]["id"]),
        (&"evt_2".into(), &"in_2".into())
    );
    let other = body(&["applied", "--kind", "customer.created"]);
    assert_eq!(other["type"], "customer.created");
    assert_ne!(other["id"], payment["id"]);
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_to_do() {
    for (arguments, said) in [
        (vec!["batch", "--tamper"], "leave it out"),
        (vec!["sweep", "--from-outbox"], "leave it out"),
        (vec!["applied", "--from-outbox"], "leave it out"),
        (
            vec!["applied", "--source", "nobody", "--kind", "x"],
            "there is `stripe`",
        ),
        (vec!["applied", "--source", "stripe"], "--kind"),
        (vec!["aplied"], "applied"),
    ] {
        let output = oncehook_event(&arguments, None);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert!(complaint.contains(said), "{arguments:?}: {complaint}");
    }
}
