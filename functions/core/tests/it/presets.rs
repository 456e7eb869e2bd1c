//! The table of presets holds together, agrees with its document, and cannot be made less safe by a configuration.

use jiff::SignedDuration;
use oncehook_core::{
    config::{Auth, Config, KeyPlace},
    event::Event,
    outbox::{EffectId, KeyFormat, OutboxItem},
    plan::{EffectBody, Handler, RenderedRequest},
    preset::{self, Known, Preset, Spot},
    rules::Rules,
    settle::{Attempt, OnAmbiguous, Policy, Settlement, Stuck, settle},
};
use proptest::prelude::*;

const SOURCE: &str = "[source.x]\nscheme = \"stripe\"\nsecret = \"s\"\n[destination.d]\n";

fn parse(lines: &str) -> Result<Config, Vec<String>> {
    Config::parse(&format!("{SOURCE}secret = \"d\"\n{lines}"), "f").map_err(|errors| errors.lines().to_vec())
}

#[test]
fn the_document_is_up_to_date() {
    let kept = include_str!("../../../../docs/destinations.md");
    assert!(
        kept == preset::markdown(),
        "docs/destinations.md is not what the table says: oncehook destinations --markdown > docs/destinations.md"
    );
}

#[test]
fn every_entry_has_its_sources_a_name_of_its_own_and_keys_within_the_limits() {
    let mut names: Vec<_> = Preset::all().map(|preset| preset.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Preset::all().count());
    let id = EffectId {
        namespace: "n",
        scope: "s",
        id: "i",
        rule: "r",
        effect: "e",
        generation: 0,
    };
    for preset in Preset::all() {
        assert!(
            !preset.facts.is_empty() && !preset.title.is_empty(),
            "{}",
            preset.name
        );
        assert!(preset.facts.iter().any(|fact| fact.known == Known::Read) || preset.name == "slack");
        let Some(keys) = preset.keys else { continue };
        let key = id.key(keys.shape);
        assert!(
            key.len() <= keys.longest.unwrap_or(36) && key.len() >= 32,
            "{}",
            preset.name
        );
        // The smallest alphabet documented, that of SparkPost and Telnyx together.
        assert!(
            key.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        );
        assert_eq!(keys.shape.format == KeyFormat::Uuid, key.contains('-'));
        assert!(!matches!(keys.place, Spot::Field(_)) || preset.content_type == "application/json");
    }
}

#[test]
fn a_preset_stands_in_for_what_is_not_said() {
    let config = parse("preset = \"brevo\"\nurl = \"https://api.brevo.com/v3/smtp/email\"").unwrap();
    let brevo = &config.destinations["d"];
    let keys = brevo.idempotency.as_ref().unwrap();
    assert_eq!(keys.place, KeyPlace::Field("/headers/idempotencyKey".into()));
    assert_eq!(keys.retention, SignedDuration::from_mins(15));
    assert_eq!(brevo.auth, Auth::Header("api-key".into()));
    let config = parse("preset = \"mailgun\"\nurl = \"https://api.mailgun.net/v3/d/messages\"").unwrap();
    let mailgun = &config.destinations["d"];
    assert!(mailgun.idempotency.is_none() && mailgun.on_ambiguous == OnAmbiguous::Park && mailgun.is_form());
    assert_eq!(mailgun.auth, Auth::Basic(Some("api".into())));
    let longer = "preset = \"paypal\"\nurl = \"https://api-m.paypal.com/v2/payments\"\n\
        idempotency = { retention = \"45d\", longer_than_documented = true }";
    let keys = parse(longer).unwrap().destinations["d"]
        .idempotency
        .clone()
        .unwrap();
    assert_eq!(keys.retention, SignedDuration::from_hours(45 * 24));
    assert_eq!(keys.place, KeyPlace::Header("PayPal-Request-Id".into()));
}

#[test]
fn nothing_can_be_written_that_makes_a_repetition_less_safe() {
    let resend = |line: &str| format!("preset = \"resend\"\nurl = \"https://api.resend.com/emails\"\n{line}");
    for (lines, part) in [
        (resend("idempotency = { retention = \"25h\" }"), "promises 1d only"),
        (resend("idempotency = { header = \"X-Key\" }"), "in the header `Idempotency-Key`"),
        (resend("idempotency = { field = \"/key\" }"), "in the header `Idempotency-Key`"),
        (resend("idempotency = { max_length = 257 }"), "must be 32 to 256"),
        (resend("idempotency = { quoted = true }"), "remove `quoted`"),
        (resend("idempotency = { retention = \"1h\", longer_than_documented = true }"), "nothing to confirm"),
        (resend("method = \"PUT\""), "for POST only"),
        (resend("on_ambiguous = \"resend\""), "without idempotency keys"),
        (resend("sign = \"standard-webhooks\""), "remove one"),
        ("preset = \"resend\"\nurl = \"https://api.resend.com/domains\"".to_owned(), "some paths only"),
        ("preset = \"telnyx\"\nurl = \"https://api.telnyx.com/v2/messages\"".to_owned(), "some paths only"),
        ("preset = \"square\"\nurl = \"https://e.com/v2/payments\"".to_owned(), "does not say how long"),
        (
            "preset = \"square\"\nurl = \"https://e.com/\"\nidempotency = { retention = \"1d\", longer_than_documented = true }".to_owned(),
            "belongs to a preset",
        ),
        (
            "preset = \"stripe\"\nurl = \"https://e.com/v1/x\"\nidempotency = { stores_errors = false }".to_owned(),
            "stores errors",
        ),
        (
            "preset = \"slack\"\nurl = \"https://slack.com/api/x\"\nidempotency = { retention = \"1d\" }".to_owned(),
            "takes no keys",
        ),
        ("preset = \"amazon-pay\"\nurl = \"https://e.com/\"".to_owned(), "RSA-PSS"),
        ("preset = \"ses\"\nurl = \"https://e.com/\"".to_owned(), "SigV4"),
        (
            "preset = \"brevo\"\nurl = \"https://e.com/v3/smtp/email\"\ncontent_type = \"text/plain\"".to_owned(),
            "goes into a JSON body",
        ),
        (
            "url = \"https://e.com/\"\nidempotency = { retention = \"1d\", field = \"key\" }".to_owned(),
            "not a JSON Pointer",
        ),
        ("url = \"https://e.com/\"\nauth = { basic = \"a:b\" }".to_owned(), "cannot be a user"),
    ] {
        let found = parse(&lines).unwrap_err();
        assert!(found.len() == 1 && found[0].contains(part), "{lines}: {found:#?}");
        assert!(found[0].starts_with("f:"), "{found:?}");
    }
}

fn event(id: &str) -> Event {
    Event {
        source: "x".into(),
        namespace: "x".into(),
        scope: String::new(),
        id: id.into(),
        kind: "paid".into(),
        occurred_at: None,
        tenant: String::new(),
        id_signed: true,
        guard_body: false,
        token: None,
        content_type: None,
        body: bytes::Bytes::new(),
        data: serde_json::json!({ "id": id }).into(),
        defect: None,
    }
}

fn rules(destination: &str, effect: &str) -> Result<Rules, String> {
    let text = format!(
        "{SOURCE}{destination}\n[[rule]]\nname = \"r\"\nsource = \"x\"\nevents = [\"*\"]\n[[rule.effect]]\nname = \"e\"\n\
         destination = \"d\"\n{effect}\n"
    );
    let config = Config::parse(&text, "f").map_err(|errors| errors.to_string())?;
    Rules::new(&config).map_err(|errors| errors.to_string())
}

#[test]
fn a_body_that_cannot_carry_the_key_is_found_before_anything_is_written() {
    let square =
        "url = \"https://e.com/\"\nidempotency = { retention = \"1d\", field = \"/idempotency_key\" }";
    let found = rules(square, "body = { event = true }").unwrap_err();
    assert!(
        found.contains("exact bytes of the event have no place"),
        "{found}"
    );
    for (body, part) in [("[1]", "no object"), (r#"{"idempotency_key":"x"}"#, "already")] {
        let error = rules(square, &format!("body = '{body}'"))
            .unwrap()
            .plan(&event("a"))
            .unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    let shopify = "preset = \"shopify\"\nsecret = \"d\"\nurl = \"https://e.com/graphql.json\"";
    let error = rules(shopify, r#"body = '{"query":"mutation { a }"}'"#)
        .unwrap()
        .plan(&event("a"))
        .unwrap_err();
    assert!(
        error.to_string().contains("must contain `$idempotencyKey`"),
        "{error}"
    );
}

fn item(first_error: Option<u16>) -> OutboxItem {
    let now = jiff::Timestamp::UNIX_EPOCH;
    OutboxItem {
        source: "x".into(),
        tenant: String::new(),
        rule: "r".into(),
        effect: "e".into(),
        destination: "d".into(),
        request: RenderedRequest {
            method: "POST".into(),
            url: "https://e.com/".into(),
            headers: Vec::new(),
            content_type: None,
            body: EffectBody::Text("{}".into()),
        },
        idempotency_key: "k".into(),
        generation: 0,
        attempts: 2,
        created_at: now,
        due_at: now,
        give_up_at: now + SignedDuration::from_hours(72),
        maybe_sent_at: Some(now),
        server_errors: 0,
        last_status: first_error,
        kept_until: None,
        kept: false,
    }
}

#[test]
fn a_duplicate_is_delivered_unless_the_first_attempt_may_have_failed() {
    let now = jiff::Timestamp::UNIX_EPOCH;
    let policy = Policy {
        key_retention: Some(SignedDuration::from_hours(24)),
        replays_errors: false,
        on_ambiguous: OnAmbiguous::Park,
        timeout: SignedDuration::from_secs(10),
        gap: SignedDuration::from_secs(30),
    };
    let duplicate = Attempt::Duplicate {
        status: 400,
        detail: "duplicate_parameter".into(),
    };
    let judged =
        |item: &OutboxItem, attempt: &Attempt, first| settle(item, &policy, attempt, first, now, 0.0);
    assert_eq!(
        judged(&item(None), &duplicate, false).settlement,
        Settlement::Done
    );
    assert!(matches!(
        judged(&item(None), &duplicate, true).settlement,
        Settlement::Parked(_)
    ));
    // A 503 and then a lost answer: the key may still be bound to the 503.
    let failed = |status| Attempt::Ambiguous {
        status,
        retry_after: None,
        detail: String::new(),
    };
    let first = judged(&item(None), &failed(Some(503)), true);
    assert_eq!(
        first.settlement,
        Settlement::RetryAt(now + policy.gap),
        "the gap is kept"
    );
    let second = judged(&item(first.last_status), &failed(None), false);
    assert!(matches!(
        judged(&item(second.last_status), &duplicate, false).settlement,
        Settlement::Parked(_)
    ));
    let recognised = judged(&item(Some(503)), &Attempt::Recognised { status: 200 }, false);
    assert_eq!(recognised.settlement, Settlement::Done);
    assert!(
        recognised.error.unwrap().contains("recognised"),
        "it is on the record"
    );
    let stuck = Attempt::Stuck {
        status: 409,
        why: Stuck::OtherBody,
        detail: "name".into(),
    };
    let stuck = judged(&item(None), &stuck, true);
    assert!(matches!(stuck.settlement, Settlement::Parked(why) if why.contains("another request")));
    assert!(!stuck.unsent, "under this key something was done");
}

proptest! {
    /// Whatever an event contains, the request goes to the host of the configuration, below its path.
    #[test]
    fn no_value_of_an_event_changes_scheme_or_host(id in "\\PC{0,20}|[/.@:?#%\\\\\r\n a-z]{0,12}") {
        let rules = rules(
            "url = \"https://api.example.com/base?v=1\"",
            "path = \"users/{{ event.id }}\"\nbody = '{}'",
        ).unwrap();
        // An empty or relative segment is a failed plan: nothing is sent.
        if let Ok(plan) = rules.plan(&event(&id)) {
            let request = &plan.rules[0].effects[0].request;
            let url: http::Uri = request.url.parse().unwrap();
            prop_assert_eq!(url.scheme_str(), Some("https"));
            prop_assert_eq!(url.authority().map(http::uri::Authority::as_str), Some("api.example.com"));
            prop_assert!(url.path().starts_with("/base/users/"));
            prop_assert_eq!(url.path().split('/').count(), 4);
            prop_assert_eq!(url.query(), Some("v=1"));
        }
    }
}
