//! Bodies and headers as providers send them, with the fields that rules and examples use.
//!
//! Not a mock of any provider: kinds without a body of their own here get a plausible general one.

use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;
use oncehook_core::verify::{GenericScheme, Location, Scheme};
use serde_json::{Value, json};

/// What a provider sends, before it is signed.
#[derive(Debug)]
pub(crate) struct Payload {
    /// The body.
    pub(crate) body: Vec<u8>,
    /// Headers beside those of the signature.
    pub(crate) headers: HeaderMap,
}

/// A new id in the provider's form.
pub(crate) fn new_id(scheme: &Scheme) -> String {
    let uuid = uuid::Uuid::new_v4();
    let hex = uuid.simple().to_string();
    match scheme.name() {
        "stripe" => format!("evt_{}", &hex[..24]),
        "standard-webhooks" | "svix" | "clerk" | "resend" | "openai" => format!("msg_{}", &hex[..27]),
        "slack" => format!("Ev{}", hex[..10].to_uppercase()),
        _ => uuid.to_string(),
    }
}

/// The request of an event.
pub(crate) fn make(scheme: &Scheme, kind: &str, id: &str, at: Timestamp) -> Payload {
    let mut headers: Vec<(&str, String)> = Vec::new();
    let (content_type, body) = match scheme {
        Scheme::Generic(generic) => json(&described(generic, kind, id, at, &mut headers)),
        Scheme::Known(_) => match scheme.name() {
            "stripe" => {
                headers.push((
                    "user-agent",
                    "Stripe/1.0 (+https://stripe.com/docs/webhooks)".to_owned(),
                ));
                ("application/json; charset=utf-8", json(&stripe(kind, id, at)).1)
            }
            "standard-webhooks" | "svix" | "clerk" | "resend" | "openai" => json(&json!({
                "type": kind, "timestamp": at.to_string(),
                "data": { "id": "ord_1001", "customer": "cus_1001", "amount": 5000, "currency": "eur" },
            })),
            "github" => {
                headers.push(("user-agent", "GitHub-Hookshot/0000000".to_owned()));
                headers.push(("x-github-hook-id", "292430182".to_owned()));
                json(&github(kind))
            }
            "shopify" => {
                headers.push(("x-shopify-shop-domain", "example.myshopify.com".to_owned()));
                headers.push(("x-shopify-api-version", "2026-10".to_owned()));
                headers.push(("x-shopify-triggered-at", at.to_string()));
                json(&json!({
                    "id": 820_982_911_946_154_508_i64, "email": "jon@example.com", "created_at": at.to_string(),
                    "currency": "EUR", "total_price": "50.00", "financial_status": "paid",
                    "customer": { "id": 115_310_627_314_723_954_i64, "email": "jon@example.com" },
                    "line_items": [{ "id": 866_550_311_766_439_020_i64, "title": "T-shirt", "quantity": 1, "price": "50.00" }],
                }))
            }
            "slack" => json(&slack(kind, id, at)),
            _ => scheme.sample(kind, id, at),
        },
    };
    headers.push(("content-type", content_type.to_owned()));
    let headers = headers.into_iter().filter_map(|(name, value)| {
        Some((
            HeaderName::try_from(name).ok()?,
            HeaderValue::try_from(value).ok()?,
        ))
    });
    Payload {
        body,
        headers: headers.collect(),
    }
}

fn json(body: &Value) -> (&'static str, Vec<u8>) {
    ("application/json", body.to_string().into_bytes())
}

fn stripe(kind: &str, id: &str, at: Timestamp) -> Value {
    let created = at.as_second();
    // Another event is another payment; a subscription stays the same one.
    let object = if kind.starts_with("invoice.") {
        json!({
            "id": format!("in_{}", id.trim_start_matches("evt_")), "object": "invoice",
            "customer": "cus_1001", "customer_email": "ada@example.com",
            "amount_due": 5000, "amount_paid": 5000, "currency": "eur", "status": "paid",
            "subscription": "sub_1001", "created": created,
        })
    } else if kind.starts_with("customer.subscription.") {
        let status = if kind.ends_with(".deleted") {
            "canceled"
        } else {
            "active"
        };
        json!({
            "id": "sub_1001", "object": "subscription", "customer": "cus_1001", "status": status,
            "metadata": { "organization_id": "org_1001" }, "created": created,
            "items": { "object": "list", "data": [
                { "id": "si_1001", "object": "subscription_item", "quantity": 1,
                  "price": { "id": "price_pro", "object": "price", "currency": "eur", "unit_amount": 5000 } },
            ] },
        })
    } else {
        let object = kind.rsplit_once('.').map_or(kind, |(object, _)| object);
        json!({
            "id": "obj_1001", "object": object, "customer": "cus_1001", "amount": 5000, "currency": "eur",
            "metadata": {}, "created": created,
        })
    };
    json!({
        "id": id, "object": "event", "api_version": "2026-10-29", "created": created, "type": kind,
        "livemode": false, "pending_webhooks": 1, "request": { "id": null, "idempotency_key": null },
        "data": { "object": object },
    })
}

fn github(kind: &str) -> Value {
    let repository =
        json!({ "id": 35_129_377, "name": "hello", "full_name": "octocat/hello", "private": false });
    let sender = json!({ "login": "octocat", "id": 583_231, "type": "User" });
    match kind.split_once('.') {
        None if kind == "ping" => json!({
            "zen": "Keep it logically awesome.", "hook_id": 292_430_182, "repository": repository, "sender": sender,
        }),
        None if kind == "push" => json!({
            "ref": "refs/heads/main", "before": "0".repeat(40), "after": "6113728f27ae82c7b1a177c8d03f9e96e0adf246",
            "repository": repository, "sender": sender, "pusher": { "name": "octocat" },
            "commits": [{ "id": "6113728f27ae82c7b1a177c8d03f9e96e0adf246", "message": "Fix", "distinct": true }],
        }),
        None => json!({ "repository": repository, "sender": sender }),
        Some((_, action)) => {
            json!({ "action": action, "number": 1, "repository": repository, "sender": sender })
        }
    }
}

fn slack(kind: &str, id: &str, at: Timestamp) -> Value {
    // A kind is `event_callback/message`, or the inner type alone.
    let (outer, inner) = kind.split_once('/').unwrap_or(("event_callback", kind));
    let inner = if inner == "event_callback" {
        "message"
    } else {
        inner
    };
    json!({
        "token": "deprecated", "team_id": "T1001", "api_app_id": "A1001", "type": outer,
        "event_id": id, "event_time": at.as_second(),
        "event": { "type": inner, "channel": "C1001", "user": "U1001", "text": "Hello", "ts": format!("{}.000100", at.as_second()) },
    })
}

/// A body with everything where the configuration says that it lies.
fn described<'a>(
    generic: &'a GenericScheme,
    kind: &str,
    id: &str,
    at: Timestamp,
    headers: &mut Vec<(&'a str, String)>,
) -> Value {
    let mut body = json!({ "data": { "id": "obj_1001", "customer": "cus_1001", "amount": 5000 } });
    let places = [
        (Some(&generic.id), id.to_owned()),
        (generic.kind.as_ref(), kind.to_owned()),
        (generic.occurred_at.as_ref(), at.to_string()),
        (generic.scope.as_ref(), "acct_1001".to_owned()),
    ];
    for (place, value) in places {
        match place {
            Some(Location::Header(name)) => headers.push((name, value)),
            Some(Location::Pointer(pointer)) => put(&mut body, pointer, value),
            None => {}
        }
    }
    body
}

/// Puts text at a JSON Pointer, making the objects on the way.
fn put(body: &mut Value, pointer: &str, text: String) {
    let mut place = body;
    for part in pointer.split('/').skip(1) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[part.replace("~1", "/").replace("~0", "~")];
    }
    *place = Value::String(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_invoice_is_of_5000() {
        let payload = make(
            &Scheme::from_name("stripe").unwrap(),
            "invoice.payment_succeeded",
            "evt_1",
            Timestamp::UNIX_EPOCH,
        );
        let body: Value = serde_json::from_slice(&payload.body).unwrap();
        assert_eq!(body["data"]["object"]["amount_paid"], 5000);
        assert_eq!((&body["id"], &body["created"]), (&json!("evt_1"), &json!(0)));
    }

    #[test]
    fn values_are_put_where_pointers_say() {
        let mut body = json!({ "data": 1 });
        put(&mut body, "/data/a~1b", "x".to_owned());
        assert_eq!(body, json!({ "data": { "a/b": "x" } }));
    }
}
