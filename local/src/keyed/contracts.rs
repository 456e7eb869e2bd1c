//! What each API's document says, one contract each. Sources stand with Oncehook's presets of the same names.

use std::time::Duration;

use serde_json::{Value, json};

/// How an API treats keys.
#[derive(Debug, Clone)]
pub struct Contract {
    /// Where it looks for the key.
    pub key: KeyIn,
    /// The longest key, in characters.
    pub longest: usize,
    /// The characters of a key.
    pub charset: fn(u8) -> bool,
    /// How long it remembers one.
    pub kept: Duration,
    /// Whether it remembers failures, too.
    pub stores_errors: bool,
    /// What it answers when it acted.
    pub success: Reply,
    /// What a repetition gets.
    pub repeat: Repeat,
    /// What the same key with another body gets.
    pub other_body: OtherBody,
    /// What a repetition gets while the first is under way, if that is documented.
    pub in_flight: Option<Reply>,
}

/// Where an API looks for the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyIn {
    /// It knows none.
    Nowhere,
    /// In this header.
    Header(&'static str),
    /// In the JSON body, at this pointer.
    Body(&'static str),
}

/// What a repetition gets.
#[derive(Debug, Clone, PartialEq)]
pub enum Repeat {
    /// The first answer.
    Same,
    /// The first answer, with this header set to `true`.
    Marked(&'static str),
    /// This.
    Error(Reply),
}

/// What the same key with another body gets.
#[derive(Debug, Clone, PartialEq)]
pub enum OtherBody {
    /// This.
    Refused(Reply),
    /// What the same body gets: bodies are not compared.
    NotCompared,
    /// Nobody says. The fake does not compare then.
    NotDocumented,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Headers beside the content type.
    pub headers: &'static [(&'static str, &'static str)],
    /// Its body.
    pub body: Value,
}

const HOUR: Duration = Duration::from_hours(1);

fn reply(status: u16, body: Value) -> Reply {
    Reply {
        status,
        headers: &[],
        body,
    }
}

fn refused(status: u16, body: Value) -> OtherBody {
    OtherBody::Refused(reply(status, body))
}

fn keyed(key: KeyIn, longest: usize, kept: Duration) -> Contract {
    Contract {
        key,
        longest,
        charset: |byte| byte.is_ascii_graphic(),
        kept,
        stores_errors: false,
        success: reply(200, json!({ "id": "1" })),
        repeat: Repeat::Same,
        other_body: OtherBody::NotDocumented,
        in_flight: None,
    }
}

fn keyless(body: Value) -> Contract {
    Contract {
        success: reply(200, body),
        ..keyed(KeyIn::Nowhere, 0, HOUR)
    }
}

fn user_error(code: &str) -> Value {
    json!({ "data": { "refundCreate": { "refund": null, "userErrors": [{ "code": code, "message": "no" }] } } })
}

/// The APIs that have a contract.
#[must_use]
pub fn names() -> &'static [&'static str] {
    &[
        "stripe",
        "stripe-v2",
        "paypal",
        "adyen",
        "checkout",
        "amazon-pay",
        "square",
        "shopify",
        "resend",
        "brevo",
        "sparkpost",
        "svix",
        "telnyx",
        "hubspot-single-send",
        "sendgrid",
        "postmark",
        "mailgun",
        "ses",
        "twilio",
        "slack",
        "hubspot",
        "github",
    ]
}

/// The contract of an API.
#[must_use]
pub fn contract(api: &str) -> Option<Contract> {
    let header = KeyIn::Header("idempotency-key");
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    Some(match api {
        "stripe" => Contract {
            stores_errors: true,
            repeat: Repeat::Marked("idempotent-replayed"),
            other_body: refused(
                400,
                json!({ "error": { "type": "idempotency_error", "message": "Keys .. " } }),
            ),
            in_flight: Some(reply(
                409,
                json!({ "error": { "code": "idempotency_key_in_use" } }),
            )),
            ..keyed(header, 255, 24 * HOUR)
        },
        "stripe-v2" => keyed(header, 255, 30 * 24 * HOUR),
        "paypal" => Contract {
            in_flight: Some(reply(
                409,
                json!({ "name": "RESOURCE_CONFLICT", "details": [{ "issue": "PREVIOUS_REQUEST_IN_PROGRESS" }] }),
            )),
            ..keyed(KeyIn::Header("paypal-request-id"), 38, 6 * HOUR)
        },
        "adyen" => Contract {
            in_flight: Some(Reply {
                headers: &[("transient-error", "true")],
                ..reply(
                    422,
                    json!({ "status": 422, "errorCode": "704", "message": "request already processed or in progress" }),
                )
            }),
            ..keyed(header, 64, 7 * 24 * HOUR)
        },
        "checkout" => Contract {
            success: reply(201, json!({ "id": "pay_1" })),
            in_flight: Some(reply(409, json!({}))),
            ..keyed(KeyIn::Header("cko-idempotency-key"), 255, 24 * HOUR)
        },
        "amazon-pay" => Contract {
            charset: word,
            other_body: refused(400, json!({ "reasonCode": "DuplicateIdempotencyKey" })),
            ..keyed(KeyIn::Header("x-amz-pay-idempotency-key"), 32, Duration::MAX)
        },
        "square" => Contract {
            other_body: refused(400, json!({ "errors": [{ "code": "IDEMPOTENCY_KEY_REUSED" }] })),
            ..keyed(KeyIn::Body("/idempotency_key"), 45, 24 * HOUR)
        },
        "shopify" => Contract {
            success: reply(
                200,
                json!({ "data": { "refundCreate": { "refund": { "id": "1" }, "userErrors": [] } } }),
            ),
            other_body: refused(200, user_error("IDEMPOTENCY_KEY_PARAMETER_MISMATCH")),
            in_flight: Some(reply(200, user_error("IDEMPOTENCY_CONCURRENT_REQUEST"))),
            ..keyed(KeyIn::Body("/variables/idempotencyKey"), 255, 24 * HOUR)
        },
        "resend" => Contract {
            other_body: refused(
                409,
                json!({ "statusCode": 409, "name": "invalid_idempotent_request", "message": "Same key .." }),
            ),
            in_flight: Some(reply(
                409,
                json!({ "statusCode": 409, "name": "concurrent_idempotent_requests" }),
            )),
            ..keyed(header, 256, 24 * HOUR)
        },
        "brevo" => {
            let known = reply(
                400,
                json!({ "code": "duplicate_parameter", "message": "Duplicate idempotency key" }),
            );
            Contract {
                success: reply(201, json!({ "messageId": "<1@mail>" })),
                repeat: Repeat::Error(known.clone()),
                other_body: OtherBody::Refused(known.clone()),
                in_flight: Some(known),
                ..keyed(
                    KeyIn::Body("/headers/idempotencyKey"),
                    36,
                    Duration::from_mins(15),
                )
            }
        }
        "sparkpost" => Contract {
            charset: |byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte),
            repeat: Repeat::Marked("x-idempotent-replayed"),
            ..keyed(header, 255, 24 * HOUR)
        },
        "svix" => Contract {
            success: reply(202, json!({ "id": "msg_1" })),
            other_body: OtherBody::NotCompared,
            ..keyed(header, 255, 12 * HOUR)
        },
        "telnyx" => Contract {
            charset: |byte| byte.is_ascii_alphanumeric() || b"_:-".contains(&byte),
            other_body: refused(422, json!({ "errors": [{ "title": "Unprocessable" }] })),
            ..keyed(header, 255, 24 * HOUR)
        },
        "hubspot-single-send" => keyed(KeyIn::Body("/message/sendId"), 255, 24 * HOUR),
        "slack" => keyless(json!({ "ok": true, "ts": "1.2" })),
        "sendgrid" | "postmark" | "mailgun" | "ses" | "twilio" | "hubspot" | "github" => keyless(json!({})),
        _ => return None,
    })
}
