//! The example configuration on events as Stripe sends them.

use std::sync::Arc;

use oncehook_core::{
    config::Config,
    decimal::Decimal,
    event::Event,
    plan::{Attr, EffectBody, Guard, Handler, Plan, PlanError},
    rules::{Rules, Why},
};
use proptest::prelude::*;

const EXAMPLE: &str = include_str!("../../../../oncehook.toml");

pub(crate) fn event(kind: &str, body: &str) -> Event {
    Event {
        source: "stripe".to_owned(),
        namespace: "stripe".to_owned(),
        scope: "live".to_owned(),
        id: "evt_1".to_owned(),
        kind: kind.to_owned(),
        occurred_at: None,
        tenant: "live".to_owned(),
        id_signed: true,
        guard_body: false,
        token: None,
        content_type: None,
        body: body.to_owned().into(),
        data: Arc::new(serde_json::from_str(body).expect("JSON")),
        defect: None,
    }
}

fn invoice(amount: &str) -> Event {
    let body = format!(
        r#"{{"id": "evt_1", "object": "event", "created": 1780000000, "type": "invoice.payment_succeeded",
            "data": {{"object": {{"id": "in_1", "object": "invoice", "customer": "cus_1", "currency": "eur",
            "customer_email": "a\"b@example.com", "amount_paid": {amount}}}}}}}"#
    );
    event("invoice.payment_succeeded", &body)
}

fn subscription(created: &str) -> Event {
    let body = format!(
        r#"{{"id": "evt_2", "created": {created}, "data": {{"object": {{"id": "sub_1", "status": "active",
            "metadata": {{"organization_id": "org_1"}}, "items": {{"data": [{{"price": {{"id": "price_1"}}}}]}}}}}}}}"#
    );
    event("customer.subscription.updated", &body)
}

fn rules(text: &str) -> Rules {
    Rules::new(&Config::parse(text, "oncehook.toml").unwrap_or_else(|errors| panic!("{errors}")))
        .expect("rules")
}

fn plan(event: &Event) -> Result<Plan, PlanError> {
    rules(EXAMPLE).plan(event)
}

/// The example's source, table and destination with one rule of the test's.
fn with_rule(rule: &str) -> Rules {
    rules(&format!(
        "[source.stripe]\nscheme = \"stripe\"\nsecret = \"s\"\n[table.t]\nkey = {{ id = \"S\" }}\n\
         [destination.d]\nurl = \"https://example.com/a?v=1\"\n[[rule]]\nname = \"r\"\nsource = \"stripe\"\nevents = [\"*\"]\n{rule}"
    ))
}

#[test]
fn a_paid_invoice_credits_once_and_sends_a_receipt() {
    let plan = plan(&invoice("4900")).unwrap();
    let [rule] = plan.rules.as_slice() else {
        panic!("{plan:?}")
    };
    assert_eq!(rule.rule, "credit");
    assert_eq!(
        rule.guards,
        [Guard::Once {
            key: "invoice:in_1".to_owned(),
            lasts: None
        }]
    );
    assert_eq!(rule.updates[0].key["customer_id"], Attr::S("cus_1".to_owned()));
    assert_eq!(rule.updates[0].add["balance"], Decimal::from(4900));
    assert!(!rule.updates[0].must_exist);
    let request = &rule.effects[0].request;
    assert_eq!(
        (request.method.as_str(), request.url.as_str()),
        ("POST", "https://api.resend.com/emails")
    );
    let EffectBody::Text(body) = &request.body else {
        panic!("{request:?}")
    };
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["to"][0], "a\"b@example.com");
    assert_eq!(body["text"], "We received your payment of 4900 eur");
    assert_eq!(plan.response.unwrap().to_string(), r#"{"credited":4900}"#);
}

#[test]
fn amounts_beyond_f64_stay_exact_up_to_dynamodb() {
    let plan = plan(&invoice("9007199254740993")).unwrap();
    assert_eq!(
        plan.rules[0].updates[0].add["balance"].as_str(),
        "9007199254740993"
    );
    assert_eq!(
        plan.response.unwrap().to_string(),
        r#"{"credited":9007199254740993}"#
    );
    let EffectBody::Text(body) = &plan.rules[0].effects[0].request.body else {
        panic!()
    };
    assert!(body.contains("payment of 9007199254740993 eur"), "{body}");
}

#[test]
fn a_number_too_long_for_dynamodb_is_a_failed_plan_that_names_its_place() {
    let error = with_rule("[[rule.update]]\ntable = \"t\"\nkey = { id = \"/id\" }\nset = { n = \"/n\" }")
        .plan(&event(
            "k",
            r#"{"id": "a", "n": 1234567890123456789012345678901234567890.1}"#,
        ))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("rule `r`: update.set.n: DynamoDB cannot hold 1234567890"),
        "{error}"
    );
    assert!(error.to_string().contains("as = \"string\""), "{error}");
    let kept = with_rule("[[rule.update]]\ntable = \"t\"\nkey = { id = \"/id\" }\nset = { n = { pointer = \"/n\", as = \"string\" } }")
        .plan(&event("k", r#"{"id": "a", "n": 1234567890123456789012345678901234567890.10}"#))
        .unwrap();
    assert_eq!(
        kept.rules[0].updates[0].set["n"],
        Attr::S("1234567890123456789012345678901234567890.10".to_owned())
    );
}

#[test]
fn subscriptions_are_ordered_by_their_time() {
    let plan = plan(&subscription("1780000000")).unwrap();
    assert_eq!(
        plan.rules[0].guards,
        [Guard::Newer {
            of: "sub_1".to_owned(),
            order: Decimal::from(1_780_000_000)
        }]
    );
    assert_eq!(
        plan.rules[0].updates[0].set["plan"],
        Attr::S("price_1".to_owned())
    );
    let earlier = super::rules::plan(&subscription(r#""2026-06-01T00:00:00.5Z""#)).unwrap();
    let Guard::Newer { order, .. } = &earlier.rules[0].guards[0] else {
        panic!()
    };
    assert_eq!(order.as_str(), "1780272000500000000");
    assert!(matches!(
        super::rules::plan(&subscription("\"monday\"")),
        Err(PlanError::Value { .. })
    ));
}

#[test]
fn other_events_match_no_rule_and_explain_says_why() {
    let rules = rules(EXAMPLE);
    assert_eq!(
        rules.plan(&event("charge.refunded", "{}")).unwrap(),
        Plan::default()
    );
    assert_eq!(rules.plan(&invoice("0")).unwrap(), Plan::default());
    let why: Vec<Why> = rules
        .explain(&invoice("0"))
        .into_iter()
        .map(|explained| explained.why)
        .collect();
    assert_eq!(
        why,
        [
            Why::When("event.data.object.amount_paid > 0".to_owned()),
            Why::OtherKind(vec!["customer.subscription.*".to_owned()])
        ]
    );
    assert_eq!(rules.explain(&invoice("1"))[0].why, Why::Matches);
}

#[test]
fn a_missing_field_is_a_failed_plan_that_names_it() {
    let error = plan(&event("invoice.payment_succeeded", r#"{"data": {"object": {}}}"#)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rule `credit`: when: the event has nothing at event.data.object.amount_paid"
    );
    let error = plan(&event(
        "customer.subscription.created",
        r#"{"created": 1, "data": {"object": {"id": "s"}}}"#,
    ))
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "rule `subscription`: update.key.organization_id: the event has nothing at /data/object/metadata/organization_id"
    );
}

#[test]
fn values_cannot_change_where_an_effect_goes() {
    let rules = with_rule(
        "[[rule.effect]]\nname = \"e\"\ndestination = \"d\"\npath = \"users/{{ event.id }}/notes\"\nbody = '{}'",
    );
    let url = |id: &str| {
        let body = serde_json::json!({ "id": id }).to_string();
        rules
            .plan(&event("k", &body))
            .map(|plan| plan.rules[0].effects[0].request.url.clone())
    };
    assert_eq!(url("a b").unwrap(), "https://example.com/a/users/a%20b/notes?v=1");
    assert_eq!(
        url("@evil.com/../x?y#z").unwrap(),
        "https://example.com/a/users/%40evil.com%2F..%2Fx%3Fy%23z/notes?v=1"
    );
    assert!(url("..").is_err());
    assert!(url("").is_err());
}

#[test]
fn a_body_that_is_not_json_is_a_failed_plan() {
    let rules =
        with_rule("[[rule.effect]]\nname = \"e\"\ndestination = \"d\"\nbody = '{\"a\": {{ event.s }}}'");
    let error = rules
        .plan(&event("k", r#"{"s": "text"}"#))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("effect.body") && error.contains("tojson"),
        "{error}"
    );
    assert!(rules.plan(&event("k", r#"{"s": 12.50}"#)).is_ok());
}

#[test]
fn types_are_checked_against_the_table_and_text_is_not_added() {
    let update = |rest: &str| with_rule(&format!("[[rule.update]]\ntable = \"t\"\n{rest}"));
    let body = event("k", r#"{"id": 7, "s": "5"}"#);
    let error = update("key = { id = \"/id\" }\nadd = { n = 1 }")
        .plan(&body)
        .unwrap_err()
        .to_string();
    assert!(error.contains("update.key.id: is a number"), "{error}");
    let key = "key = { id = { pointer = \"/id\", as = \"string\" } }";
    let error = update(&format!("{key}\nadd = {{ n = \"/s\" }}"))
        .plan(&body)
        .unwrap_err()
        .to_string();
    assert!(error.contains("as = \"number\""), "{error}");
    let plan = update(&format!(
        "{key}\nadd = {{ n = {{ pointer = \"/s\", as = \"number\", negate = true }} }}"
    ))
    .plan(&body)
    .unwrap();
    assert_eq!(plan.rules[0].updates[0].add["n"], Decimal::from(-5));
}

#[test]
fn when_must_be_true_or_false_and_one_rule_answers() {
    assert!(matches!(
        with_rule("when = \"event.a\"").plan(&event("k", r#"{"a": 1}"#)),
        Err(PlanError::Template { .. })
    ));
    let two = "response = { a = \"/a\" }\n[[rule]]\nname = \"q\"\nsource = \"stripe\"\nevents = [\"k\"]\nresponse = { b = 1 }";
    assert!(matches!(
        with_rule(two).plan(&event("k", r#"{"a": 1}"#)),
        Err(PlanError::TwoResponses { .. })
    ));
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Into::into),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..3)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn planning_is_deterministic_and_never_panics(amount in json(), email in json(), customer in json()) {
        let body = serde_json::json!({"data": {"object": {"id": "in_1", "currency": "eur", "customer": customer,
            "customer_email": email, "amount_paid": amount}}}).to_string();
        let event = event("invoice.payment_succeeded", &body);
        let rules = rules(EXAMPLE);
        prop_assert_eq!(rules.plan(&event), rules.plan(&event));
    }
}
