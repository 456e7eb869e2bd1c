//! Payments whose signatures are in the body, or whose requests hold many events: Adyen, Braintree, GoCardless.

use super::{after, at, hours, id, ids, kind, places, scope, template, text};
use crate::verify::{
    VerifyError,
    facts::{About, Batch, Challenge, Content, Facts, Form, IdPart, KeyForm, Proof, Provider},
    handshake,
    scheme::{Algorithm, Encoding},
    signed::{Location, Part},
    view::View,
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "adyen",
        title: "Adyen (payments)",
        facts: adyen,
    },
    Provider {
        name: "adyen-platform",
        title: "Adyen (platforms, issuing, management)",
        facts: adyen_platform,
    },
    Provider {
        name: "braintree",
        title: "Braintree",
        facts: braintree,
    },
    Provider {
        name: "gocardless",
        title: "GoCardless",
        facts: gocardless,
    },
];

const ADYEN: &[&str] = &[
    "https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures",
    "https://docs.adyen.com/development-resources/webhooks/troubleshoot",
    "https://github.com/Adyen/adyen-node-api-library/blob/main/src/utils/hmacValidator.ts",
];

const ADYEN_RETRIES: &str = "three times at once, then after 2 minutes up to 8 hours, for 30 days";

/// Every item carries its own signature over eight of its values, joined by colons that nothing escapes.
fn adyen() -> Facts {
    let values = [
        "/pspReference",
        "/originalReference",
        "/merchantAccountCode",
        "/merchantReference",
        "/amount/value",
        "/amount/currency",
        "/eventCode",
        "/success",
    ];
    let mut parts = Vec::new();
    for value in values {
        parts.extend([text(":"), at(value)]);
    }
    Facts {
        signature: places(&["/additionalData/hmacSignature"]),
        key: KeyForm::Hex,
        signed: template(parts.split_off(1)),
        per_element: true,
        batch: Batch::List {
            at: "/notificationItems",
            within: "/NotificationRequestItem",
        },
        id: ids(&["/pspReference"], &[&["/eventCode"], &["/success"]]),
        kind: kind(&[&["/eventCode"]], ""),
        occurred_at: places(&["/eventDate"]),
        scope: scope(&[&["/merchantAccountCode"]]),
        timeout: after(10),
        retried_for: hours(720),
        about: About {
            second_hand: false,
            documents: ADYEN,
            secret: "the webhook's HMAC key, in hex",
            retries: ADYEN_RETRIES,
            signed_anew: Some(false),
            setup: &[
                "Customer Area > Developers > Webhooks > Create new webhook > Standard webhook.",
                "URL: {url}; method JSON.",
                "Security > HMAC Key > Generate; store it. A new key takes a while to be used: keep both.",
            ],
            notes: &[
                "Only pspReference, originalReference, merchantAccountCode, merchantReference, amount, eventCode and \
                 success are signed. Do not decide on anything else in an item.",
            ],
        },
        ..Facts::plain("", Encoding::Base64)
    }
}

fn adyen_platform() -> Facts {
    Facts {
        key: KeyForm::Hex,
        // No id of its own is documented: the same resource, kind and bytes are the same message.
        id: vec![
            IdPart::Needed(places(&["/type"])),
            IdPart::Also(places(&["/data/id"])),
            IdPart::Hash,
        ],
        kind: kind(&[&["/type"]], ""),
        occurred_at: places(&["/timestamp", "/createdAt", "/data/creationDate"]),
        scope: scope(&[&["/environment"]]),
        timeout: after(10),
        retried_for: hours(720),
        about: About {
            second_hand: false,
            documents: ADYEN,
            secret: "the webhook's HMAC key, in hex",
            retries: ADYEN_RETRIES,
            signed_anew: Some(false),
            setup: &[
                "Customer Area > Developers > Webhooks > Create new webhook, of the kind that you need.",
                "URL: {url}",
                "Security > HMAC Key > Generate; store it.",
            ],
            notes: &[],
        },
        ..Facts::plain("HmacSignature", Encoding::Base64)
    }
}

/// Notifications are XML in base64 in a form, signed for every public key of the account.
fn braintree() -> Facts {
    Facts {
        signature: vec![Location::Pointer("/bt_signature".to_owned())],
        form: Form::Labelled,
        proof: Proof::Hmac(Algorithm::Sha1),
        key: KeyForm::Pair,
        signed: template([at("/bt_payload"), Part::MaybeLineFeed]),
        rule: Some(braintree_payload),
        content: Content::Braintree,
        challenge: Some(Challenge::Braintree),
        id: ids(
            &["/kind"],
            &[
                &["/timestamp"],
                &[
                    "/subject/subscription/id",
                    "/subject/transaction/id",
                    "/subject/dispute/id",
                    "/subject/disbursement/id",
                    "/subject/merchant-account/id",
                    "/subject/account-updater-daily-report/report-date",
                    "/subject/connected-merchant-status-transitioned/oauth-application-client-id",
                    "/subject/local-payment/payment-id",
                ],
            ],
        ),
        kind: kind(&[&["/kind"]], ""),
        occurred_at: places(&["/timestamp"]),
        about: About {
            second_hand: false,
            documents: &[
                "https://developer.paypal.com/braintree/docs/guides/webhooks/parse",
                "https://github.com/braintree/braintree_python",
            ],
            secret: "PUBLIC_KEY|PRIVATE_KEY of the API",
            retries: "",
            signed_anew: None,
            setup: &[
                "Control Panel > API > Webhooks > Create new webhook.",
                "Destination URL: {url}",
                "Store PUBLIC_KEY|PRIVATE_KEY of an API key of the same account.",
            ],
            notes: &[
                "The event's body is the form as it was sent; rules see the XML in it as JSON.",
                "Notifications have no id: kind, time and subject stand for it.",
            ],
        },
        ..Facts::plain("", Encoding::Hex)
    }
}

/// As Braintree's libraries: nothing but base64, and nothing that could be a challenge, since those are signed for
/// anybody who asks.
fn braintree_payload(view: &View<'_>) -> Result<(), VerifyError> {
    let payload = view
        .text(&[Location::Pointer("/bt_payload".to_owned())])
        .unwrap_or_default();
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r');
    if payload.is_empty() || !payload.bytes().all(allowed) || handshake::is_challenge(payload.trim_end()) {
        return Err(VerifyError::MalformedPayload);
    }
    Ok(())
}

fn gocardless() -> Facts {
    Facts {
        batch: Batch::List {
            at: "/events",
            within: "",
        },
        id: id(&["/id"]),
        kind: kind(&[&["/resource_type"], &["/action"]], "."),
        occurred_at: places(&["/created_at"]),
        scope: scope(&[&["/links/organisation"]]),
        about: About {
            second_hand: false,
            documents: &[
                "https://developer.gocardless.com/getting-started/staying-up-to-date-with-webhooks",
                "https://github.com/gocardless/gocardless-pro-python",
            ],
            secret: "the endpoint's secret, as it stands",
            retries: "",
            signed_anew: None,
            setup: &[
                "Dashboard > Developers > Create > Webhook endpoint.",
                "URL: {url}; enter a secret of your own and store the same.",
            ],
            notes: &[],
        },
        ..Facts::plain("Webhook-Signature", Encoding::Hex)
    }
}
