use http::Response;
use oncehook_core::settle::Attempt;

use super::*;

fn attempt(kind: &Kind, status: u16, headers: &[(&str, &str)], text: &str) -> Attempt {
    let mut answer = Response::builder().status(status);
    for (name, value) in headers {
        answer = answer.header(*name, *value);
    }
    let (head, ()) = answer.body(()).unwrap().into_parts();
    let answer = Answer {
        kind,
        target: "orders",
        head: &head,
        text: text.as_bytes(),
        now: Timestamp::UNIX_EPOCH,
    };
    answer.attempt(|text| text.chars().take(120).collect::<String>().trim().to_owned())
}

const QUEUE: Kind = Kind::Sqs { fifo: false };

fn bus() -> Kind {
    Kind::EventBridge {
        source: "oncehook".into(),
    }
}

fn error(name: &str) -> String {
    format!("{{\"__type\":\"com.amazonaws.sqs#{name}\",\"message\":\"why\"}}")
}

#[test]
fn rights_and_missing_targets_are_the_destinations_fault_and_say_what_to_do() {
    for (kind, status, name, word) in [
        (
            &QUEUE,
            403,
            "AccessDenied",
            "drain's role needs sqs:SendMessage on orders",
        ),
        (&QUEUE, 400, "KmsAccessDenied", "sqs:SendMessage"),
        (&QUEUE, 400, "QueueDoesNotExist", "see to orders"),
        (
            &Kind::Lambda,
            403,
            "AccessDeniedException",
            "lambda:InvokeFunction on orders",
        ),
        (&Kind::Lambda, 404, "ResourceNotFoundException", "see to orders"),
        (&Kind::Lambda, 502, "KMSDisabledException", "see to orders"),
        (&bus(), 400, "AccessDeniedException", "events:PutEvents on orders"),
        (&bus(), 400, "ExpiredTokenException", "ExpiredTokenException"),
    ] {
        let made = attempt(kind, status, &[], &error(name));
        assert!(
            matches!(&made, Attempt::Unusable { detail } if detail.contains(word) && detail.starts_with(name)),
            "{name}: {made:?}"
        );
    }
    // Without a name the status speaks.
    for status in [401, 403, 404] {
        assert!(matches!(
            attempt(&QUEUE, status, &[], "<html>"),
            Attempt::Unusable { .. }
        ));
    }
}

#[test]
fn throttling_did_nothing_and_says_how_long_to_wait() {
    for (kind, status, name) in [
        (&QUEUE, 403, "RequestThrottled"),
        (&QUEUE, 400, "KmsThrottled"),
        (&Kind::Lambda, 502, "EC2ThrottledException"),
        (&Kind::Lambda, 409, "ResourceConflictException"),
        (&bus(), 400, "ThrottlingException"),
    ] {
        assert_eq!(
            attempt(kind, status, &[], &error(name)),
            Attempt::Throttled { retry_after: None },
            "{name}"
        );
    }
    let told = [
        ("x-amzn-errortype", "TooManyRequestsException:http://x"),
        ("retry-after", "2"),
    ];
    let made = attempt(&Kind::Lambda, 429, &told, "");
    assert!(matches!(made, Attempt::Throttled { retry_after: Some(wait) } if wait.as_secs() == 2));
}

#[test]
fn what_would_never_be_taken_is_refused() {
    for (kind, status, name) in [
        (&QUEUE, 400, "InvalidMessageContents"),
        (&QUEUE, 400, "InvalidParameterValue"),
        (&Kind::Lambda, 413, "RequestTooLargeException"),
        (&Kind::Lambda, 400, "InvalidRequestContentException"),
        (&Kind::Lambda, 400, "RecursiveInvocationException"),
        (&bus(), 400, "ValidationException"),
    ] {
        let made = attempt(kind, status, &[], &error(name));
        let expected = Attempt::Refused {
            status,
            detail: format!("{name} why"),
        };
        assert_eq!(made, expected);
    }
}

#[test]
fn a_failed_function_ran_and_may_have_acted() {
    let failed = [("x-amz-function-error", "Unhandled")];
    let made = attempt(&Kind::Lambda, 200, &failed, "{\"errorMessage\":\"no\"}");
    let Attempt::Ambiguous {
        status: None, detail, ..
    } = made
    else {
        panic!("{made:?}")
    };
    assert_eq!(
        detail,
        "the function failed (Unhandled): {\"errorMessage\":\"no\"}"
    );
    assert_eq!(
        attempt(&Kind::Lambda, 200, &[], "null"),
        Attempt::Delivered { status: 200 }
    );
}

#[test]
fn a_bus_takes_an_event_or_says_why_not_within_200() {
    let entry = |entry: &str| {
        attempt(
            &bus(),
            200,
            &[],
            &format!("{{\"FailedEntryCount\":0,\"Entries\":[{entry}]}}"),
        )
    };
    assert_eq!(entry("{\"EventId\":\"1\"}"), Attempt::Delivered { status: 200 });
    assert_eq!(
        entry("{\"ErrorCode\":\"ThrottlingException\"}"),
        Attempt::Throttled { retry_after: None }
    );
    assert!(matches!(
        entry("{\"ErrorCode\":\"NotAuthorizedForSourceException\"}"),
        Attempt::Unusable { .. }
    ));
    assert!(matches!(
        entry("{\"ErrorCode\":\"MalformedDetail\"}"),
        Attempt::Refused { .. }
    ));
    assert!(matches!(
        entry("{\"ErrorCode\":\"InternalFailure\"}"),
        Attempt::Ambiguous { .. }
    ));
    for unclear in ["", "{}", "{\"Entries\":[]}"] {
        assert!(
            matches!(attempt(&bus(), 200, &[], unclear), Attempt::Ambiguous { .. }),
            "{unclear}"
        );
    }
}

#[test]
fn the_rest_is_uncertain() {
    for (status, name) in [
        (500, "InternalFailure"),
        (500, "ServiceException"),
        (503, "ServiceUnavailable"),
    ] {
        let made = attempt(&Kind::Lambda, status, &[], &error(name));
        assert!(
            matches!(made, Attempt::Ambiguous { status: Some(found), .. } if found == status),
            "{made:?}"
        );
    }
    assert!(matches!(
        attempt(&QUEUE, 502, &[], "<html>"),
        Attempt::Ambiguous { .. }
    ));
    assert!(matches!(attempt(&QUEUE, 307, &[], ""), Attempt::Ambiguous { .. }));
    assert_eq!(attempt(&QUEUE, 200, &[], ""), Attempt::Delivered { status: 200 });
}

#[test]
fn errors_about_signatures_do_not_repeat_what_was_signed() {
    let text = "{\"__type\":\"SignatureDoesNotMatch\",\"message\":\"x-amz-security-token: token\"}";
    let Attempt::Unusable { detail } = attempt(&QUEUE, 403, &[], text) else {
        panic!()
    };
    assert!(
        !detail.contains("token") && detail.starts_with("SignatureDoesNotMatch;"),
        "{detail}"
    );
}
