//! What is wrong with a configuration is said at once, with line, remedy and the nearest right word.

use jiff::SignedDuration;
use oncehook_core::{
    config::{Auth, Config},
    outbox::KeyShape,
};

const EXAMPLE: &str = include_str!("../../../../oncehook.toml");
const HEAD: &str = "[source.stripe]\nscheme = \"stripe\"\nsecret = \"s\"\n[table.accounts]\nkey = { id = \"S\" }\n\
    [destination.mail]\nurl = \"https://example.com/\"\n[[rule]]\nname = \"r\"\nsource = \"stripe\"\nevents = [\"a\"]\n";

/// The mistakes of a text, one a line.
fn errors(text: &str) -> Vec<String> {
    Config::parse(text, "oncehook.toml").map_or_else(|errors| errors.lines().to_vec(), |_| Vec::new())
}

/// One mistake after the head, which is 11 lines long.
fn error(rest: &str) -> String {
    let found = errors(&format!("{HEAD}{rest}"));
    assert_eq!(found.len(), 1, "{found:#?}");
    found.concat()
}

fn source(line: &str) -> String {
    let found = errors(&format!("[source.x]\nsecret = \"s\"\n{line}"));
    assert_eq!(found.len(), 1, "{line}: {found:#?}");
    found.concat()
}

#[test]
fn the_example_is_right_and_has_the_documented_defaults() {
    let config = Config::parse(EXAMPLE, "oncehook.toml").unwrap_or_else(|errors| panic!("{errors}"));
    let stripe = &config.sources["stripe"];
    assert_eq!(
        (stripe.success, stripe.namespace.as_str(), stripe.max_body),
        (200, "stripe", 4 * 1024 * 1024)
    );
    assert_eq!(
        (stripe.retention, stripe.keys_for),
        (SignedDuration::from_hours(720), SignedDuration::from_hours(720))
    );
    let mail = &config.destinations["mail"];
    assert_eq!(
        (&mail.auth, mail.concurrency, mail.method.as_str()),
        (&Auth::Bearer, 10, "POST")
    );
    let keys = mail.idempotency.as_ref().unwrap();
    assert_eq!(
        keys.shape,
        KeyShape {
            max_length: 256,
            ..KeyShape::DEFAULT
        }
    );
    assert_eq!(keys.retention, SignedDuration::from_hours(24));
    assert_eq!((config.shards, config.rules.len()), (4, 2));
    let github = Config::parse("[source.g]\nscheme = \"github\"\nsecret = [\"a\", \"b\"]", "f").unwrap();
    assert_eq!(github.sources["g"].keys_for, SignedDuration::from_hours(400 * 24));
}

#[test]
fn mistakes_are_named_with_their_line_and_remedy() {
    for (rest, expected) in [
        (
            "whn = \"true\"",
            "oncehook.toml:12:1: rule `r`: unknown key `whn`; did you mean `when`?",
        ),
        (
            "when = 5",
            "oncehook.toml:12:8: rule `r`: `when` is an integer, but must be a string in quotes",
        ),
        (
            "[[rule.effect]]\nname = \"e\"\ndestination = \"mial\"\nbody = '{}'",
            "oncehook.toml:14:15: rule `r` effect 1: there is no destination `mial`; did you mean `mail`?",
        ),
        (
            "newer_by = { of = \"/id\", at = \"/at\" }\n[[rule.update]]\ntable = \"accounts\"\nkey = { id = \"/id\" }\nadd = { n = 1 }",
            "oncehook.toml:16:7: rule `r`: `add` beside `newer_by`: an event that came late would never be added; use `set`, or move it to a rule of its own",
        ),
        (
            "response = { a = \"paid\" }",
            "oncehook.toml:12:18: rule `r` response.a: `paid` is not a JSON Pointer, which begins with `/`; fixed text is written { literal = \"paid\" }, a rendered one { template = \"..\" }",
        ),
        (
            "once_per = \"{{ evnt.id }}\"",
            "oncehook.toml:12:12: rule `r`: `once_per`: there is no variable `evnt`: use `event` (the body) or `meta`",
        ),
        (
            "[[rule.update]]\ntable = \"accounts\"\nkey = { ids = \"/id\", id = \"/id\" }\nadd = { n = 1 }",
            "oncehook.toml:14:9: rule `r` update 1: `ids` is not part of the key of table `accounts`; did you mean `id`?",
        ),
    ] {
        assert_eq!(error(rest), expected);
    }
}

#[test]
fn bad_templates_and_expressions_are_found() {
    let found = error(
        "[[rule.effect]]\nname = \"e\"\ndestination = \"mail\"\nbody = '''\n{\n{{ event.a | nofilter }}'''",
    );
    assert!(
        found.starts_with("oncehook.toml:15:8: rule `r` effect 1: `body`: ")
            && found.ends_with("no filter `nofilter`"),
        "{found}"
    );
    let found =
        error("[[rule.effect]]\nname = \"e\"\ndestination = \"mail\"\nbody = '''\n{\n{{ event.a }'''");
    assert!(
        found.starts_with("oncehook.toml:15:8: ") && found.contains("(line 2 of the template)"),
        "{found}"
    );
    let found = error("when = \"event.a >\"");
    assert!(
        found.starts_with("oncehook.toml:12:8: rule `r`: `when`: "),
        "{found}"
    );
}

#[test]
fn sources_are_checked() {
    assert!(source("scheme = \"strip\"").ends_with("there is no scheme `strip`; did you mean `stripe`?"));
    for (line, part) in [
        ("tolerance = \"5 minutes\"", "is not a duration"),
        ("networks = [\"10.0.0.0/33\"]", "CIDR"),
        ("max_body = \"4mb\"", "is not a size"),
        ("keys_for = \"10d\"", "shorter than `retention`"),
        ("success = 301", "200 to 299"),
        ("mode = \"aply\"", "did you mean `apply`?"),
        ("namespace = \"a#b\"", "cannot be a name"),
        ("not_before = 2026-12-01", "offset"),
        ("body_guard = false", "leave it out"),
        ("enrol_until = 2026-12-01T12:00:00Z", "leave it out"),
    ] {
        let found = source(&format!("scheme = \"stripe\"\n{line}"));
        assert!(found.contains(part), "{found}");
    }
    assert!(source("").contains("`scheme` is missing"));
    assert!(errors("[source.\"a#b\"]\nscheme = \"stripe\"\nsecret = \"s\"")[0].contains("cannot be a name"));
}

#[test]
fn what_a_provider_needs_is_asked_for_and_what_it_does_not_need_is_refused() {
    let missing = source("scheme = \"twilio\"");
    assert!(
        missing.contains("`public_url` is missing") && missing.contains("/webhooks/twilio"),
        "{missing}"
    );
    assert!(source("scheme = \"square\"\npublic_url = \"hooks.example.com\"").contains("https://"));
    assert!(source("scheme = \"stripe\"\npublic_url = \"https://a.example\"").contains("leave it out"));
    assert!(source("scheme = \"stripe\"\nverify_token = \"t\"").contains("leave it out"));

    let text = "[source.crm]\nscheme = \"hubspot-v3\"\nsecret = \"s\"\npublic_url = \"https://a.example/crm\"\n\
        [source.chat]\nscheme = \"meta\"\nsecret = \"s\"\nverify_token = \"t\"\n\
        [source.bot]\nscheme = \"discord\"\nsecret = \"s\"\n";
    let config = Config::parse(text, "oncehook.toml").unwrap_or_else(|errors| panic!("{errors}"));
    let (crm, chat) = (&config.sources["crm"], &config.sources["chat"]);
    assert_eq!(
        (&*crm.namespace, crm.public_url.as_deref()),
        ("hubspot", Some("https://a.example/crm"))
    );
    assert_eq!(chat.secret_names().collect::<Vec<_>>(), ["s", "t"]);
    assert_eq!(config.sources["bot"].success, 204);
    // Where nothing limits a request's age, its id is remembered for longer.
    assert_eq!(crm.keys_for, SignedDuration::from_hours(720));
    assert_eq!(chat.keys_for, SignedDuration::from_hours(400 * 24));
}

#[test]
fn a_scheme_of_ones_own_is_read() {
    let text = "[source.x]\nscheme = \"hmac\"\nsecret = \"s\"\nheader = \"X-Signature\"\nprefix = \"v1=\"\nencoding = \"base64\"\n\
        signed = \"{timestamp}.{body}\"\ntimestamp = { header = \"X-Time\", unit = \"ms\" }\nid = \"/id\"\nkind = \"header:X-Kind\"";
    let config = Config::parse(text, "f").unwrap_or_else(|errors| panic!("{errors}"));
    assert!(config.sources["x"].scheme.signs_time());
    let found = errors("[source.x]\nscheme = \"hmac\"\nsecret = \"s\"\nheader = \"X Y\"\nid = \"id\"");
    assert_eq!(found.len(), 2, "{found:#?}");
}

#[test]
fn destinations_are_checked() {
    for (line, part) in [
        ("url = \"http://example.com/\"", "must begin with https://"),
        ("url = \"https://user:pw@example.com/\"", "without user"),
        ("url = \"example.com\"", "must begin with https://"),
        (
            "url = \"https://e.com/emails\"\npreset = \"resnd\"",
            "there is no preset `resnd`; did you mean `resend`?",
        ),
        ("url = \"https://e.com/\"\ntimeout = \"2m\"", "must be 1s to 60s"),
        ("url = \"https://e.com/\"\nconcurrency = 0", "must be 1 to 1000"),
        (
            "url = \"https://e.com/\"\nidempotency = { max_length = 64 }",
            "`retention` is missing",
        ),
        (
            "url = \"https://e.com/\"\nidempotency = { retention = \"1d\", max_length = 31 }",
            "must be 32 to 4096",
        ),
        (
            "url = \"https://e.com/\"\nidempotency = { retention = \"1d\", format = \"base64\" }",
            "cannot be `base64`",
        ),
        (
            "url = \"https://e.com/\"\nidempotency = { retention = \"1d\", header = \"a b\" }",
            "not the name of a header",
        ),
        (
            "url = \"https://e.com/\"\nsign = \"standard-webhooks\"",
            "`secret` is missing",
        ),
    ] {
        let found = errors(&format!(
            "[source.x]\nscheme = \"stripe\"\nsecret = \"s\"\n[destination.d]\n{line}"
        ));
        assert!(found.len() == 1 && found[0].contains(part), "{line}: {found:#?}");
    }
}

#[test]
fn all_mistakes_are_said_at_once_in_the_order_of_the_file() {
    let found = errors(&format!(
        "{HEAD}whn = 1\nwhen = 5\n[[rule]]\nname = \"r\"\nsource = \"strip\"\nevents = [\"b\"]\n[oubox]\n"
    ));
    let lines: Vec<&str> = found.iter().map(|line| line.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["12", "13", "15", "16", "18"], "{found:#?}");
    assert!(found[2].contains("two rules are called `r`"), "{found:#?}");
    assert!(errors("[source.x")[0].starts_with("oncehook.toml:1:"));
}

#[test]
fn a_destination_can_be_sent_elsewhere() {
    let mut config = Config::parse(EXAMPLE, "oncehook.toml").unwrap();
    config.override_url("mail", "http://127.0.0.1:9000/mail").unwrap();
    assert_eq!(config.destinations["mail"].url, "http://127.0.0.1:9000/mail");
    config.override_url("mail", "http://[::1]:9000/").unwrap();
    assert!(config.override_url("mail", "http://192.0.2.1/").is_err());
    assert!(
        config
            .override_url("mial", "https://e.com/")
            .unwrap_err()
            .contains("did you mean `mail`?")
    );
}

#[test]
fn an_event_is_kept_longer_than_its_effects_are_tried() {
    let text = include_str!("../../../../oncehook.toml");
    assert!(Config::parse(text, "oncehook.toml").is_ok());
    let short = text.replacen(
        "scheme = \"stripe\"",
        "scheme = \"stripe\"\nretention = \"3d\"",
        1,
    );
    let errors = Config::parse(&short, "oncehook.toml").unwrap_err().to_string();
    assert!(
        errors.contains("make `retention` at least a day longer than `give_up_after`"),
        "{errors}"
    );
}
