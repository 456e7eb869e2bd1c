//! The table of facts: one row per provider, from the documents named at `Scheme` and the official libraries.
//!
//! Nothing is computed here. The tolerance is five minutes, as in all of these libraries.

use jiff::SignedDuration;

use super::{
    facts::{Facts, Form, Handshake, KeyForm, ScopePart, Time},
    scheme::{Encoding, GenericScheme, TimeUnit},
    signed::{Location, Part, SignedTemplate},
};

/// The secret is used as it stands, `whsec_` included. No time-out is published.
pub(super) fn stripe() -> Facts {
    Facts {
        form: Form::Pairs,
        signed: template([Part::Timestamp, text("."), Part::Body]),
        time: seconds(vec![]),
        id: places(&["/id"]),
        kind: (vec![places(&["/type"])], ""),
        occurred_at: places(&["/created"]),
        // `context` is what `account` is called in a v2.core.event.
        scope: vec![
            part(places(&["/account", "/context"]), None),
            part(places(&["/livemode"]), Some(("live", "test"))),
        ],
        ..Facts::plain("Stripe-Signature", Encoding::Hex)
    }
}

/// Headers `NAME-id`, `NAME-timestamp` and `NAME-signature`. The time is that of the attempt.
pub(super) fn standard_webhooks(names: &[&str]) -> Facts {
    let headers = |end: &str| {
        names
            .iter()
            .map(|name| format!("{name}-{end}"))
            .collect::<Vec<_>>()
    };
    Facts {
        signature: headers("signature"),
        form: Form::Versioned,
        signed: template([Part::Id, text("."), Part::Timestamp, text("."), Part::Body]),
        time: seconds(headers("timestamp")),
        key: KeyForm::StandardWebhooks,
        id: headers("id").into_iter().map(Location::Header).collect(),
        kind: (vec![places(&["/type", "/event_type", "/eventType"])], ""),
        occurred_at: places(&["/timestamp"]),
        occurred_when_signed: true,
        timeout: Some(SignedDuration::from_secs(15)),
        ..Facts::plain("", Encoding::Base64)
    }
}

/// Signs the body alone: neither the delivery id nor a time.
pub(super) fn github() -> Facts {
    Facts {
        form: prefixed("sha256="),
        forms: true,
        id: places(&["header:X-GitHub-Delivery"]),
        kind: (
            vec![places(&["header:X-GitHub-Event"]), places(&["/action"])],
            ".",
        ),
        timeout: Some(SignedDuration::from_secs(10)),
        ..Facts::plain("X-Hub-Signature-256", Encoding::Hex)
    }
}

/// Signs the body alone. Shopify's newer Events have the same headers without `X-`.
pub(super) fn shopify() -> Facts {
    let headers = |name: &str| [format!("X-Shopify-{name}"), format!("shopify-{name}")];
    let header_places = |name: &str| headers(name).map(Location::Header).to_vec();
    Facts {
        signature: headers("Hmac-Sha256").to_vec(),
        empty_body: false,
        id: header_places("Webhook-Id"),
        kind: (vec![header_places("Topic")], ""),
        occurred_at: header_places("Triggered-At"),
        scope: vec![part(header_places("Shop-Domain"), None)],
        timeout: Some(SignedDuration::from_secs(5)),
        ..Facts::plain("", Encoding::Base64)
    }
}

/// Events, slash commands and interactions; commands and interactions are forms.
pub(super) fn slack() -> Facts {
    Facts {
        form: prefixed("v0="),
        signed: template([text("v0:"), Part::Timestamp, text(":"), Part::Body]),
        time: seconds(vec!["X-Slack-Request-Timestamp".to_owned()]),
        forms: true,
        handshake: Some(Handshake {
            mark: "/type",
            is: "url_verification",
            echo: "/challenge",
        }),
        id: places(&["/event_id", "/trigger_id"]),
        kind: (
            vec![places(&["/type", "/command"]), places(&["/event/type"])],
            "/",
        ),
        occurred_at: places(&["/event_time"]),
        scope: vec![part(places(&["/team_id", "/team/id", "/enterprise/id"]), None)],
        timeout: Some(SignedDuration::from_secs(3)),
        ..Facts::plain("X-Slack-Signature", Encoding::Hex)
    }
}

/// What oncehook.toml says.
pub(super) fn generic(generic: &GenericScheme) -> Facts {
    let time = generic.timestamp.as_ref();
    Facts {
        form: Form::Plain {
            prefix: generic.prefix.clone(),
            separator: generic.separator.clone(),
        },
        algorithm: generic.algorithm,
        signed: generic.signed.clone(),
        time: time.map(|time| Time {
            headers: vec![time.header.clone()],
            unit: time.unit,
        }),
        id: vec![generic.id.clone()],
        kind: (generic.kind.iter().map(|kind| vec![kind.clone()]).collect(), ""),
        occurred_at: generic.occurred_at.iter().cloned().collect(),
        scope: generic
            .scope
            .iter()
            .map(|place| part(vec![place.clone()], None))
            .collect(),
        ..Facts::plain(&generic.header, generic.encoding)
    }
}

fn template(parts: impl Into<Vec<Part>>) -> SignedTemplate {
    SignedTemplate { parts: parts.into() }
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn prefixed(prefix: &str) -> Form {
    Form::Plain {
        prefix: prefix.to_owned(),
        separator: None,
    }
}

fn seconds(headers: Vec<String>) -> Option<Time> {
    Some(Time {
        headers,
        unit: TimeUnit::Seconds,
    })
}

fn places(places: &[&str]) -> Vec<Location> {
    let place = |place: &&str| match place.strip_prefix("header:") {
        Some(name) => Location::Header(name.to_owned()),
        None => Location::Pointer((*place).to_owned()),
    };
    places.iter().map(place).collect()
}

fn part(places: Vec<Location>, names: Option<(&'static str, &'static str)>) -> ScopePart {
    ScopePart { places, names }
}
