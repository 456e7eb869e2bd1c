use serde_json::{Value, json};

use super::*;
use crate::plan::EffectBody;

const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders";
const KEY: &str = "0123456789abcdef";

fn request(target: &str, parameters: &[(&str, &str)]) -> RenderedRequest {
    RenderedRequest {
        method: String::new(),
        url: target.to_owned(),
        headers: parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        content_type: None,
        body: EffectBody::Event,
    }
}

fn bus() -> Kind {
    Kind::EventBridge {
        source: "com.example".into(),
    }
}

fn received<'a>(bytes: &'a [u8], content_type: Option<&'a str>) -> Body<'a> {
    Body {
        bytes,
        content_type,
        received: true,
    }
}

fn rendered(text: &str) -> Body<'_> {
    Body {
        bytes: text.as_bytes(),
        content_type: Some("application/json"),
        received: false,
    }
}

fn sent(call: &Call) -> Value {
    serde_json::from_slice(&call.body).unwrap()
}

#[test]
fn a_message_carries_the_exact_text_and_the_key_in_an_attribute() {
    let body = received(b"{ \"a\" : 1.10 }", Some("application/json"));
    let call = Call::new(&Kind::Sqs { fifo: false }, &request(QUEUE, &[]), body, KEY).unwrap();
    assert_eq!(
        (
            call.service,
            call.region.as_deref(),
            call.origin.as_deref(),
            call.path.as_str()
        ),
        (
            "sqs",
            Some("eu-central-1"),
            Some("https://sqs.eu-central-1.amazonaws.com"),
            "/"
        )
    );
    assert!(
        call.headers
            .contains(&("x-amz-target", "AmazonSQS.SendMessage".to_owned()))
    );
    assert_eq!(
        sent(&call),
        json!({
            "QueueUrl": QUEUE, "MessageBody": "{ \"a\" : 1.10 }",
            "MessageAttributes": {
                "idempotency-key": { "DataType": "String", "StringValue": KEY },
                "content-type": { "DataType": "String", "StringValue": "application/json" },
            },
        })
    );
    // Without an address of AWS the Region is the function's own.
    let local = request("http://127.0.0.1:4566/000000000000/orders", &[]);
    let call = Call::new(&Kind::Sqs { fifo: false }, &local, body, KEY).unwrap();
    assert_eq!(
        (call.region, call.origin.as_deref()),
        (None, Some("http://127.0.0.1:4566"))
    );
}

#[test]
fn a_fifo_queue_gets_the_key_for_its_own_recognition_and_a_group() {
    let kind = Kind::Sqs { fifo: true };
    let call = |parameters: &[_]| {
        let call = Call::new(&kind, &request(QUEUE, parameters), rendered("{}"), KEY).unwrap();
        let sent = sent(&call);
        (
            sent["MessageDeduplicationId"].clone(),
            sent["MessageGroupId"].clone(),
        )
    };
    assert_eq!(call(&[]), (json!(KEY), json!(KEY)));
    assert_eq!(call(&[(GROUP, "cus_1")]), (json!(KEY), json!("cus_1")));
    // Fair queues take a group, too; without one there is none.
    let plain = |parameters: &[_]| {
        let call = Call::new(
            &Kind::Sqs { fifo: false },
            &request(QUEUE, parameters),
            rendered("{}"),
            KEY,
        );
        sent(&call.unwrap())["MessageGroupId"].clone()
    };
    assert_eq!((plain(&[]), plain(&[(GROUP, "g")])), (Value::Null, json!("g")));
}

#[test]
fn bytes_that_sqs_would_change_or_refuse_go_as_base64_and_say_so() {
    for bytes in [&b"\xff\xfe"[..], b"a\0b", "a\u{ffff}b".as_bytes()] {
        let call = Call::new(
            &Kind::Sqs { fifo: false },
            &request(QUEUE, &[]),
            received(bytes, None),
            KEY,
        );
        let sent = sent(&call.unwrap());
        assert_eq!(sent["MessageAttributes"]["encoding"]["StringValue"], "base64");
        assert_eq!(
            BASE64_STANDARD
                .decode(sent["MessageBody"].as_str().unwrap())
                .unwrap(),
            bytes
        );
    }
    let call = Call::new(
        &Kind::Sqs { fifo: false },
        &request(QUEUE, &[]),
        received("ü\t\u{1f600}".as_bytes(), None),
        KEY,
    );
    assert_eq!(sent(&call.unwrap())["MessageBody"], "ü\t\u{1f600}");
}

#[test]
fn a_content_type_with_odd_characters_is_left_out_of_the_attributes() {
    for odd in ["", "a\r\nb", "ü", &"x".repeat(300)] {
        let call = Call::new(
            &Kind::Sqs { fifo: false },
            &request(QUEUE, &[]),
            received(b"x", Some(odd)),
            KEY,
        );
        assert_eq!(
            sent(&call.unwrap())["MessageAttributes"].get("content-type"),
            None
        );
    }
}

#[test]
fn a_function_gets_exact_json_or_a_wrapper_and_the_key_in_the_context() {
    let arn = "arn:aws:lambda:us-west-2:123456789012:function:orders:live";
    let call = |target: &str, body| Call::new(&Kind::Lambda, &request(target, &[]), body, KEY).unwrap();
    let exact = b" {\"n\": 12345678901234567890.10}\n";
    let made = call(arn, received(exact, None));
    assert_eq!((made.region.as_deref(), made.origin), (Some("us-west-2"), None));
    assert_eq!(
        made.path,
        "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-west-2%3A123456789012%3Afunction%3Aorders%3Alive/invocations"
    );
    assert_eq!(made.body, exact);
    let context = made
        .headers
        .iter()
        .find(|(name, _)| *name == "x-amz-client-context")
        .unwrap();
    let context: Value = serde_json::from_slice(&BASE64_STANDARD.decode(&context.1).unwrap()).unwrap();
    assert_eq!(context, json!({ "custom": { "idempotency_key": KEY } }));

    assert_eq!(
        sent(&call("orders", rendered("{\"n\":1.10}"))).to_string(),
        format!("{{\"idempotency_key\":\"{KEY}\",\"n\":1.10}}")
    );
    assert_eq!(call("orders", rendered("[1]")).body, b"[1]");
    assert_eq!(
        sent(&call(
            "orders",
            received(b"a=b", Some("application/x-www-form-urlencoded"))
        )),
        json!({ "content_type": "application/x-www-form-urlencoded", "text": "a=b" })
    );
    assert_eq!(
        sent(&call("orders", received(b"\xff", None))),
        json!({ "base64": "/w==" })
    );
}

#[test]
fn an_event_on_a_bus_is_an_object_with_the_key_and_the_exact_bytes() {
    let parameters = [(SOURCE, "com.example"), (DETAIL_TYPE, "invoice.paid")];
    let arn = "arn:aws:events:eu-west-1:123456789012:event-bus/orders";
    let call = |body| Call::new(&bus(), &request(arn, &parameters), body, KEY).unwrap();
    let made = call(received(b"[ 1.10 ]", Some("application/json")));
    assert_eq!(
        (made.service, made.region.as_deref()),
        ("events", Some("eu-west-1"))
    );
    let entry = &sent(&made)["Entries"][0];
    assert_eq!(
        (&entry["EventBusName"], &entry["Source"], &entry["DetailType"]),
        (&json!(arn), &json!("com.example"), &json!("invoice.paid"))
    );
    assert_eq!(
        entry["Detail"],
        format!("{{\"idempotency_key\":\"{KEY}\",\"content_type\":\"application/json\",\"event\":[ 1.10 ]}}")
    );
    let detail = |body| {
        sent(&call(body))["Entries"][0]["Detail"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        detail(rendered("{\"n\":1}")),
        format!("{{\"idempotency_key\":\"{KEY}\",\"n\":1}}")
    );
    assert_eq!(
        detail(received(b"x", None)),
        format!("{{\"idempotency_key\":\"{KEY}\",\"text\":\"x\"}}")
    );
    let refused = |body| Call::new(&bus(), &request(arn, &parameters), body, KEY).unwrap_err();
    assert!(refused(rendered("[1]")).contains("JSON object"));
    assert!(refused(rendered("{\"idempotency_key\":1}")).contains("already"));
}

/// The largest that fits, and one byte more.
#[test]
fn what_the_service_would_not_take_is_refused_here() {
    let queue = Kind::Sqs { fifo: false };
    let made = |kind: &Kind, target: &str, bytes: usize| {
        let body = "x".repeat(bytes);
        Call::new(kind, &request(target, &[]), received(body.as_bytes(), None), KEY)
            .map(|call| call.body.len())
    };
    let attribute = "idempotency-key".len() + "String".len() + KEY.len();
    assert!(made(&queue, QUEUE, SQS_MOST - attribute).is_ok());
    let error = made(&queue, QUEUE, SQS_MOST - attribute + 1).unwrap_err();
    assert_eq!(
        error,
        "the message has 1048577 bytes, and 1048576 are the most that the service takes"
    );
    assert!(made(&queue, QUEUE, 0).unwrap_err().contains("empty"));

    let wrapper = "{\"text\":\"\"}".len();
    assert_eq!(made(&Kind::Lambda, "f", LAMBDA_MOST - wrapper), Ok(LAMBDA_MOST));
    assert!(made(&Kind::Lambda, "f", LAMBDA_MOST - wrapper + 1).is_err());

    let wrapper = format!("{{\"idempotency_key\":\"{KEY}\",\"text\":\"\"}}oncehookevent").len();
    assert!(made(&bus(), "default", EVENTBRIDGE_MOST - wrapper).is_ok());
    assert!(made(&bus(), "default", EVENTBRIDGE_MOST - wrapper + 1).is_err());
    let long = "t".repeat(DETAIL_TYPE_MOST + 1);
    let long = request("default", &[(DETAIL_TYPE, &long)]);
    assert!(
        Call::new(&bus(), &long, received(b"{}", None), KEY)
            .unwrap_err()
            .contains("128")
    );
}

#[test]
fn a_group_is_what_sqs_takes_whatever_the_event_says() {
    assert_eq!(group("cus_1:live"), "cus_1:live");
    for odd in ["", "a b", "ü", "a\r\nMessageGroupId: x", &"x".repeat(129)] {
        let made = group(odd);
        assert!(
            made.len() == 64 && made.chars().all(|c| c.is_ascii_hexdigit()),
            "{odd}"
        );
    }
    assert_ne!(group("a b"), group("a  b"));
}
