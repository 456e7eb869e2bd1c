//! How long a source remembers, and that it is longer than its provider repeats.

use jiff::SignedDuration;
use oncehook_core::{config::Config, verify::Scheme};

#[test]
fn an_event_is_known_longer_than_its_provider_delivers_it() {
    let kept = |scheme: &str, lines: &str| {
        let text = format!("[source.x]\nscheme = \"{scheme}\"\nsecret = \"s\"\n{lines}");
        Config::parse(&text, "oncehook.toml").map(|config| config.sources["x"].retention)
    };
    let error = |scheme: &str, lines: &str| kept(scheme, lines).unwrap_err().to_string();
    let days = |days: i64| SignedDuration::from_hours(24 * days);
    assert_eq!(kept("stripe", "").unwrap(), days(30));
    assert_eq!(
        kept("adyen", "").unwrap(),
        days(31),
        "the default follows a provider that repeats for longer"
    );
    assert_eq!(kept("stripe", "retention = \"4d\"").unwrap(), days(4));
    assert_eq!(kept("shopify", "retention = \"2d\"").unwrap(), days(2));
    assert_eq!(
        error("stripe", "retention = \"95h\""),
        "oncehook.toml:4:13: [source.x]: `retention` is 95h, and what comes after it is applied once more; the provider \
         delivers an event again for up to 3d: write at least \"4d\""
    );
    // GitHub says nothing: people redeliver.
    let unsaid = error("github", "retention = \"7d\"");
    assert!(
        unsaid.contains("7d are assumed: write at least \"8d\", or, if you know better, `retried_for`"),
        "{unsaid}"
    );
    assert_eq!(kept("github", "retention = \"8d\"").unwrap(), days(8));
    assert_eq!(
        kept("github", "retention = \"2d\"\nretried_for = \"24h\"").unwrap(),
        days(2)
    );
    assert_eq!(kept("github", "retried_for = \"40d\"").unwrap(), days(41));
    let known = error("stripe", "retried_for = \"1h\"");
    assert!(
        known.starts_with("oncehook.toml:4:15: ") && known.contains("it is 3d: leave it out"),
        "{known}"
    );
}

#[test]
fn every_provider_that_says_how_it_repeats_has_a_horizon_or_none_that_can_be_counted() {
    // In words only: by hand, as the receiver's policy says, or without a number.
    const WITHOUT: [&str; 8] = [
        "aws-sns",
        "docusign",
        "github",
        "gitlab",
        "gitlab-token",
        "recurly",
        "standard-webhooks",
        "twitch",
    ];
    for scheme in Scheme::names().filter_map(Scheme::from_name) {
        let described = scheme.describe().unwrap();
        let said = !described.retries.is_empty() && !WITHOUT.contains(&described.name);
        assert_eq!(
            scheme.retried_for().is_some(),
            said,
            "{}: {}",
            described.name,
            described.retries
        );
    }
}
