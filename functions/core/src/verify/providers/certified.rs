//! Signed with RSA: AWS SNS and PayPal under certificates of theirs, Paddle Classic under an account's key.

use super::{after, handshake, hours, id, kind, places, scope, template, text};
use crate::verify::{
    VerifyError,
    certificate::{Host, Issued},
    facts::{About, Answer, Content, Facts, Form, KeyForm, Mark, Proof, Provider},
    scheme::Encoding,
    signed::{Location, Part},
    view::View,
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "aws-sns",
        title: "AWS SNS (HTTPS subscriptions)",
        facts: aws_sns,
    },
    Provider {
        name: "paypal",
        title: "PayPal",
        facts: paypal,
    },
    Provider {
        name: "paddle-classic",
        title: "Paddle Classic",
        facts: paddle_classic,
    },
];

/// Nothing of a message is outside the signature but the signature itself and where its certificate is.
fn aws_sns() -> Facts {
    Facts {
        signature: places(&["/Signature"]),
        form: Form::For(Location::Pointer("/TopicArn".to_owned())),
        proof: Proof::Rsa {
            sha1: true,
            sha256: true,
        },
        key: KeyForm::Named(Issued {
            url: "/SigningCertURL",
            hosts: &[
                Host::Regional("sns.", ".amazonaws.com"),
                Host::Regional("sns.", ".amazonaws.com.cn"),
            ],
            path: ("/", ".pem"),
            subjects: &[".amazonaws.com", ".amazonaws.com.cn"],
        }),
        signed: template([Part::Sns]),
        rule: Some(sns_version),
        empty_body: false,
        handshakes: vec![handshake(
            &[Mark::Text("/Type", "SubscriptionConfirmation")],
            Answer::Visit("/SubscribeURL"),
        )],
        id: id(&["/MessageId"]),
        kind: kind(&[&["/Type"]], ""),
        occurred_at: places(&["/Timestamp"]),
        scope: scope(&[&["/TopicArn"]]),
        timeout: after(15),
        about: About {
            second_hand: false,
            documents: &[
                "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
                "https://docs.aws.amazon.com/sns/latest/dg/sns-message-delivery-retries.html",
                "https://github.com/aws/aws-php-sns-message-validator/blob/01f8e3193c27/src/MessageValidator.php",
                "https://github.com/aws/aws-js-sns-message-validator/blob/04505b52db6d/index.js",
            ],
            secret: "the topic's ARN, which is no secret: messages of other topics are refused, and only subscriptions \
                     to this one are confirmed; any number of them. The certificate may follow on the next lines: then \
                     none is fetched",
            retries: "3 times, 20 seconds apart, or as the subscription's delivery policy says; never after a 4xx",
            signed_anew: Some(false),
            setup: &[
                "Store the topic's ARN as the secret first: the confirmation comes at once, and only once.",
                "SNS > the topic > Create subscription: protocol HTTPS, endpoint {url}, raw message delivery off.",
                "Set the topic's attribute SignatureVersion to 2 (SHA-256).",
            ],
            notes: &[
                "What was published is text in the field Message of the event.",
                "Certificates are fetched over TLS from sns.REGION.amazonaws.com (.cn) only, have to be in force and to name \
                 AWS, and are kept for an hour. Their issuer is not checked: AWS does not hand out its certificate with them.",
                "Within AWS, a subscription of a queue of yours needs no endpoint at all.",
            ],
        },
        ..Facts::plain("", Encoding::Base64)
    }
}

/// There are two versions, and raw delivery is not signed.
fn sns_version(view: &View<'_>) -> Result<(), VerifyError> {
    match view.data["SignatureVersion"].as_str() {
        Some("1" | "2") => Ok(()),
        _ => Err(VerifyError::MalformedPayload),
    }
}

/// The body is bound by a checksum only: whoever holds one notification can make another body of the same checksum.
fn paypal() -> Facts {
    Facts {
        proof: Proof::Rsa {
            sha1: false,
            sha256: true,
        },
        key: KeyForm::Named(Issued {
            url: "header:PAYPAL-CERT-URL",
            hosts: &[
                Host::Named("api.paypal.com"),
                Host::Named("api.sandbox.paypal.com"),
            ],
            path: ("/v1/notifications/certs/", ""),
            subjects: &[".paypal.com"],
        }),
        signed: template([
            Part::Header("PAYPAL-TRANSMISSION-ID".to_owned()),
            text("|"),
            Part::Header("PAYPAL-TRANSMISSION-TIME".to_owned()),
            text("|"),
            Part::Name,
            text("|"),
            Part::Crc32,
        ]),
        rule: Some(paypal_algorithm),
        empty_body: false,
        id: id(&["/id"]),
        kind: kind(&[&["/event_type"]], ""),
        occurred_at: places(&["/create_time"]),
        retried_for: hours(72),
        about: About {
            second_hand: false,
            documents: &[
                "https://developer.paypal.com/api/rest/webhooks/rest/",
                "https://github.com/paypal/PayPal-Python-SDK/blob/28becaf25df0/paypalrestsdk/notifications.py",
                "https://github.com/paypal/PayPal-Java-SDK/blob/ccaa336bf2df/rest-api-sdk/src/test/java/com/paypal/base/ValidateCertTest.java",
            ],
            secret: "the webhook's id, which is no secret; any number of them. The certificate may follow on the next \
                     lines: then none is fetched",
            retries: "up to 25 times in 3 days",
            signed_anew: None,
            setup: &[
                "Developer dashboard > Apps & Credentials > your app > Webhooks > Add webhook: {url}, then events.",
                "Store the webhook's id.",
            ],
            notes: &[
                "The signature covers the body's CRC-32 only, and a checksum can be met on purpose: before money moves, \
                 read the object again from PayPal's API (an effect can do that).",
                "Certificates are fetched from api.paypal.com and api.sandbox.paypal.com only, and kept for an hour. \
                 PayPal's libraries also check the issuer against certificates that they bring along.",
                "Events of the dashboard's simulator are signed for the webhook id WEBHOOK_ID.",
            ],
        },
        ..Facts::plain("PAYPAL-TRANSMISSION-SIG", Encoding::Base64)
    }
}

fn paypal_algorithm(view: &View<'_>) -> Result<(), VerifyError> {
    match view.header("PAYPAL-AUTH-ALGO")?.as_deref() {
        Some("SHA256withRSA") => Ok(()),
        _ => Err(VerifyError::MalformedHeader),
    }
}

fn paddle_classic() -> Facts {
    Facts {
        signature: places(&["/p_signature"]),
        proof: Proof::Rsa {
            sha1: true,
            sha256: false,
        },
        key: KeyForm::Rsa,
        signed: template([Part::Php]),
        content: Content::JsonOrForm,
        empty_body: false,
        id: id(&["/alert_id"]),
        kind: kind(&[&["/alert_name"]], ""),
        occurred_at: places(&["/event_time"]),
        about: About {
            second_hand: false,
            documents: &[
                "https://developer.paddle.com/webhook-reference/verifying-webhooks (the page of Paddle Classic)",
                "https://github.com/jamius19/paddle-verifier/blob/0ff9f5fcb0af/src/test/java/com/jamiussiam/paddle/verifier/VerifierTest.java",
            ],
            secret: "the account's public key: PEM",
            retries: "",
            signed_anew: Some(false),
            setup: &[
                "Developer Tools > Alerts / Webhooks: URL {url}, then alerts.",
                "Developer Tools > Public Key: store it.",
            ],
            notes: &[
                "Fields that are lists are refused: how they are signed is documented nowhere that we found.",
                "SHA-1 is what Paddle Classic signs with; Paddle Billing (`paddle`) does not.",
            ],
        },
        ..Facts::plain("", Encoding::Base64)
    }
}
