//! Signed requests as Stripe sends them.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use jiff::Timestamp;
use oncehook_core::verify::Source;
use serde_json::{Value, json};

/// A request before it is turned into the gateway's event.
#[derive(Debug, Clone)]
pub struct RequestParts {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl RequestParts {
    /// This payload, signed at this time.
    #[must_use]
    pub fn signed(source: &Source, payload: &Value, at: Timestamp) -> Self {
        let body = Bytes::from(payload.to_string());
        let mut headers = source.sign("", "", &body, at, &HeaderMap::new()).unwrap();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { headers, body }
    }
}

/// An `invoice.payment_succeeded` of one customer.
#[must_use]
pub fn invoice(id: &str, customer: &str, amount: i64) -> Value {
    json!({
        "id": id, "object": "event", "type": "invoice.payment_succeeded", "created": 1_700_000_000, "livemode": false,
        "data": {"object": {
            "id": format!("in_{id}"), "customer": customer,
            "customer_email": format!("{customer}@example.com"), "amount_paid": amount
        }}
    })
}
