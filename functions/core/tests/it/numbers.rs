//! Numbers are exact from the event to DynamoDB and to effects, or refused.

use std::cmp::Ordering;

use oncehook_core::{
    decimal::{Decimal, DecimalError},
    template::{RenderError, Scope, Templates},
};
use proptest::prelude::*;

use crate::rules::event;

fn render(template: &str, body: &str) -> Result<String, RenderError> {
    let mut templates = Templates::new();
    templates.add("t", template).expect("a template");
    templates.render("t", &Scope::new(&event("kind", body)))
}

fn test(expression: &str, body: &str) -> Result<bool, RenderError> {
    let mut templates = Templates::new();
    templates.add_expression("t", expression).expect("an expression");
    templates.test("t", &Scope::new(&event("kind", body)))
}

#[test]
fn integers_beyond_f64_compare_and_render_exactly() {
    let body = r#"{"a": 9007199254740993, "b": 9007199254740992}"#;
    for (expression, expected) in [
        ("event.a == 9007199254740993", true),
        ("event.a == 9007199254740992", false),
        ("event.a > 9007199254740992", true),
        ("event.a > event.b", true),
        ("event.a == event.b", false),
        ("event.a - event.b == 1", true),
    ] {
        assert_eq!(test(expression, body), Ok(expected), "{expression}");
    }
    assert_eq!(
        render("{{ event.a }} {{ event | tojson }}", body).unwrap(),
        format!("9007199254740993 {}", body.replace(": ", ":").replace(", ", ","))
    );
}

#[test]
fn decimals_compare_by_value_and_keep_their_text() {
    let body = r#"{"a": 12.50, "b": 12.5, "c": 19.99, "n": 12, "e": 1.20e+3, "z": -0.0}"#;
    for (expression, expected) in [
        ("event.a == event.b", true),
        ("event.a == 12.5", true),
        ("event.c == 19.99", true),
        ("event.c > 19.98 and event.c < 20", true),
        ("event.a > event.n", true),
        ("event.e == 1200", true),
        ("event.z == 0", true),
        ("event.a > -1.5", true),
    ] {
        assert_eq!(test(expression, body), Ok(expected), "{expression}");
    }
    assert_eq!(
        render(
            "{{ event.a }} {{ event.b }} {{ event.a | tojson }} {{ [event.a, event.e] }}",
            body
        )
        .unwrap(),
        "12.50 12.5 12.50 [12.50,1.20e+3]"
    );
    assert_eq!(
        render(
            "{% if event.n > 0 %}{{ event.n - 2 }} at {{ event.a }}{% endif %}",
            body
        )
        .unwrap(),
        "10 at 12.50"
    );
}

#[test]
fn what_would_not_be_exact_is_refused() {
    let body = r#"{"c": 19.99, "n": 1999, "long": 0.12345678901234567890123, "big": 1e+400}"#;
    for expression in [
        "event.c * 100 == 1999",
        "event.long > 0",
        "event.big == 1",
        "event.big < 2",
    ] {
        assert!(
            matches!(test(expression, body), Err(RenderError::Failed(_))),
            "{expression}"
        );
    }
    for template in ["{{ event.c * 3 }}", "{{ event.n / 100 }}", "{{ event.c ~ '' }}"] {
        assert!(
            matches!(render(template, body), Err(RenderError::Failed(_))),
            "{template}"
        );
    }
    assert_eq!(
        render(
            "{% if event.n > 0 %}{{ event.long }} {{ event.big | tojson }}{% endif %}",
            body
        )
        .unwrap(),
        "0.12345678901234567890123 1e+400"
    );
    assert_eq!(
        render(r#"{{ "%d.%02d" | format(event.n // 100, event.n % 100) }}"#, body).unwrap(),
        "19.99"
    );
    assert!(
        Templates::new()
            .add_expression("t", "event.a == 0.30000000000000000001")
            .is_err()
    );
}

#[test]
fn a_missing_field_is_an_error_unless_asked_for() {
    let body = r#"{"a": 1, "list": [1], "null": null, "yes": true}"#;
    for expression in [
        "event.x > 0",
        "event.x == 1",
        "event.x != 1",
        "not event.x",
        "event.list[1] == 1",
        "1 == event.x.y",
        "event.x",
    ] {
        assert!(
            matches!(test(expression, body), Err(RenderError::Missing(_))),
            "{expression}"
        );
    }
    assert_eq!(test("event.a == 1 or event.x == 1", body), Ok(true));
    assert_eq!(test("event.x is defined", body), Ok(false));
    assert_eq!(test("event.x is undefined", body), Ok(true));
    assert_eq!(test("event.x | default(5) == 5", body), Ok(true));
    assert_eq!(test("event.a | default(event.x) == 1", body), Ok(true));
    assert_eq!(
        test("event.list[-1] == 1 and event.yes and event.null is none", body),
        Ok(true)
    );
    assert_eq!(
        render("{{ event.x.y }}", body),
        Err(RenderError::Missing("event.x".to_owned()))
    );
    assert_eq!(
        render("{{ meta.occurred_at }}", body),
        Err(RenderError::Missing("meta.occurred_at".to_owned()))
    );
    assert!(matches!(test("event.a", body), Err(RenderError::Failed(_))));
    assert!(
        Templates::new()
            .add("t", "{{ evnt.a }}")
            .unwrap_err()
            .contains("evnt")
    );
}

#[test]
fn values_render_as_json() {
    let body = r#"{"yes": true, "no": null, "s": "a\"<b>", "m": {"k": [1.50, "x"]}}"#;
    assert_eq!(
        render("{{ event.yes }} {{ event.no }} {{ event.s }} {{ event.m }}", body).unwrap(),
        "true null a\"<b> {\"k\":[1.50,\"x\"]}"
    );
    assert_eq!(
        render("{{ event.s | tojson }} {{ {'a': event.m.k[0]} | tojson }}", body).unwrap(),
        "\"a\\\"<b>\" {\"a\":1.50}"
    );
    assert_eq!(
        render(
            "{% for x in event.m.k %}{{ x }};{% endfor %}{% for k in event.m %}{{ k }}{% endfor %}",
            body
        )
        .unwrap(),
        "1.50;x;k"
    );
}

#[test]
fn decimals_are_canonical() {
    for (text, expected) in [
        ("0", "0"),
        ("-0.00", "0"),
        ("12.50", "12.5"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("-7", "-7"),
        ("9007199254740993", "9007199254740993"),
        ("1E125", "1E125"),
        ("1e-130", "1E-130"),
        ("0.1e1", "1"),
        (
            "9.9999999999999999999999999999999999999E+125",
            "9.9999999999999999999999999999999999999E125",
        ),
        (
            "99999999999999999999999999999999999999",
            "99999999999999999999999999999999999999",
        ),
    ] {
        assert_eq!(Decimal::parse(text).unwrap().as_str(), expected, "{text}");
    }
    for text in [
        "", "-", "01", "1.", ".5", "+1", "1e", "NaN", "1 ", "0x1", "1_0", "1e1.5",
    ] {
        assert!(
            matches!(Decimal::parse(text), Err(DecimalError::NotANumber(_))),
            "{text}"
        );
    }
    for text in [
        "1e126",
        "1e-131",
        "1e99999999999999999999",
        "-1e-99999999999999999999",
    ] {
        assert_eq!(Decimal::parse(text), Err(DecimalError::OutOfRange), "{text}");
    }
    assert_eq!(
        Decimal::parse("0.123456789012345678901234567890123456789"),
        Err(DecimalError::TooManyDigits(39))
    );
}

proptest! {
    #[test]
    fn integers_order_as_decimals(a in any::<i64>(), b in any::<i64>()) {
        prop_assert_eq!(Decimal::from(a).cmp(&Decimal::from(b)), a.cmp(&b));
        prop_assert_eq!(Decimal::parse(&a.to_string()).unwrap(), Decimal::from(a));
        prop_assert_eq!(Decimal::from(a).negate().negate(), Decimal::from(a));
        prop_assert_eq!(Decimal::from(a).negate().cmp(&Decimal::from(b).negate()), b.cmp(&a));
    }

    #[test]
    fn the_point_and_the_exponent_do_not_change_the_value(digits in 1_i64..1_000_000_000, shift in -20_i32..20) {
        let plain = Decimal::parse(&format!("{digits}e{shift}")).unwrap();
        let padded = Decimal::parse(&format!("{digits}.000e{shift}")).unwrap();
        let moved = Decimal::parse(&format!("{digits}0e{}", shift - 1)).unwrap();
        prop_assert_eq!(&plain, &padded);
        prop_assert_eq!(&plain, &moved);
        prop_assert_eq!(&Decimal::parse(plain.as_str()).unwrap(), &plain);
        prop_assert_eq!(plain.cmp(&Decimal::parse(&format!("{}e{shift}", digits + 1)).unwrap()), Ordering::Less);
    }

    #[test]
    fn comparisons_of_decimals_agree_with_their_values(a in -10_000_i64..10_000, b in -10_000_i64..10_000) {
        let text = |n: i64| format!("{}{}.{:02}", if n < 0 { "-" } else { "" }, n.abs() / 100, n.abs() % 100);
        let body = format!(r#"{{"a": {}, "b": {}}}"#, text(a), text(b));
        prop_assert_eq!(test("event.a < event.b", &body), Ok(a < b));
        prop_assert_eq!(test("event.a == event.b", &body), Ok(a == b));
        let rendered = render("{{ event.a }}", &body).unwrap();
        // Two texts of one value, such as 0.00 and -0.00, may stand for each other.
        prop_assert_eq!(Decimal::parse(&rendered).unwrap(), Decimal::parse(&text(a)).unwrap());
    }
}
