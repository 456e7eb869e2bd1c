//! Shops, customers, identities: Shopify, HubSpot, Intercom, WorkOS.

use super::{FIVE_MINUTES, after, hours, id, ids, kind, places, prefixed, scope, template, time};
use crate::verify::{
    facts::{About, Batch, Facts, Form, Proof, Provider, UrlForms},
    scheme::{Algorithm, Encoding, TimeUnit},
    signed::{Location, Part},
};

pub(super) const ROWS: &[Provider] = &[
    Provider {
        name: "shopify",
        title: "Shopify",
        facts: shopify,
    },
    Provider {
        name: "hubspot",
        title: "HubSpot (v3)",
        facts: hubspot,
    },
    Provider {
        name: "hubspot-v2",
        title: "HubSpot (v2)",
        facts: || Facts {
            signed: template([Part::Method, Part::Url, Part::Body]),
            ..hubspot_hash()
        },
    },
    Provider {
        name: "hubspot-v1",
        title: "HubSpot (v1)",
        facts: hubspot_hash,
    },
    Provider {
        name: "intercom",
        title: "Intercom",
        facts: intercom,
    },
    Provider {
        name: "workos",
        title: "WorkOS",
        facts: workos,
    },
];

/// Signs the body alone. Shopify's newer Events have the same headers without `X-`.
fn shopify() -> Facts {
    let headers = |name: &str| {
        [format!("X-Shopify-{name}"), format!("shopify-{name}")]
            .map(Location::Header)
            .to_vec()
    };
    Facts {
        signature: headers("Hmac-Sha256"),
        empty_body: false,
        id: vec![crate::verify::facts::IdPart::Needed(headers("Webhook-Id"))],
        kind: (vec![headers("Topic")], ""),
        occurred_at: headers("Triggered-At"),
        scope: vec![crate::verify::facts::ScopePart {
            places: headers("Shop-Domain"),
            names: None,
        }],
        timeout: after(5),
        retried_for: hours(4),
        about: About {
            second_hand: false,
            documents: &[
                "https://shopify.dev/docs/apps/build/webhooks/subscribe/https",
                "https://shopify.dev/docs/apps/build/webhooks/ignore-duplicates",
                "https://github.com/Shopify/shopify-app-js",
            ],
            secret: "the app's client secret, as it stands",
            retries: "8 times within 4 hours",
            signed_anew: Some(false),
            setup: &[
                "Subscribe in shopify.app.toml or with the Admin API; `uri` is {url}",
                "Dev Dashboard > your app > Settings: copy the client secret and store it.",
                "After a rotation Shopify may use the old one for an hour: keep both.",
            ],
            notes: &[
                "X-Shopify-Event-Id is the same for all subscriptions to one event; for once per event, use it in \
                      `once_per`.",
            ],
        },
        ..Facts::plain("", Encoding::Base64)
    }
}

const HUBSPOT: About = About {
    second_hand: false,
    documents: &[
        "https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests",
        "https://github.com/HubSpot/hubspot-api-nodejs/blob/master/src/utils/signature.ts",
    ],
    secret: "the app's client secret, as it stands",
    retries: "",
    signed_anew: None,
    setup: &[
        "Developer account > your app > Webhooks: target URL {url}, then subscriptions.",
        "The same text as `public_url` in oncehook.toml.",
        "Auth > Client secret: store it.",
    ],
    notes: &[
        "An event's id is not unique by itself: the id here is eventId with subscription, account, object and time.",
    ],
};

fn hubspot() -> Facts {
    Facts {
        signed: template([Part::Method, Part::Url, Part::Body, Part::Timestamp]),
        url: UrlForms::HubSpot,
        time: time("X-HubSpot-Request-Timestamp", TimeUnit::Milliseconds),
        tolerance: FIVE_MINUTES,
        batch: Batch::List { at: "", within: "" },
        id: ids(
            &["/eventId"],
            &[
                &["/subscriptionId"],
                &["/portalId"],
                &["/objectId"],
                &["/occurredAt"],
            ],
        ),
        kind: kind(&[&["/subscriptionType"]], ""),
        occurred_at: places(&["/occurredAt"]),
        scope: scope(&[&["/portalId"]]),
        timeout: after(5),
        about: HUBSPOT,
        ..Facts::plain("X-HubSpot-Signature-v3", Encoding::Base64)
    }
}

/// A hash of the secret and the request: weaker than an HMAC, and without a time.
fn hubspot_hash() -> Facts {
    Facts {
        signature: places(&["header:X-HubSpot-Signature"]),
        proof: Proof::Hash,
        encoding: Encoding::Hex,
        signed: template([Part::Body]),
        url: UrlForms::Plain,
        time: None,
        tolerance: None,
        about: About {
            notes: &[
                "HubSpot signs most requests in version 3 as well: use the scheme `hubspot` if yours are.",
                "An event's id is not unique by itself: the id here is eventId with subscription, account, object and \
                 time.",
            ],
            ..HUBSPOT
        },
        ..hubspot()
    }
}

fn intercom() -> Facts {
    Facts {
        form: prefixed("sha1="),
        proof: Proof::Hmac(Algorithm::Sha1),
        id: id(&["/id"]),
        kind: kind(&[&["/topic"]], ""),
        occurred_at: places(&["/created_at"]),
        scope: scope(&[&["/app_id"]]),
        about: About {
            second_hand: false,
            documents: &[
                "https://developers.intercom.com/docs/webhooks",
                "https://developers.intercom.com/docs/references/webhooks/webhook-models",
            ],
            secret: "the app's client secret, as it stands",
            retries: "",
            signed_anew: None,
            setup: &[
                "Developer Hub > your app > Webhooks: endpoint URL {url}, then topics.",
                "Basic information > Client secret: store it.",
            ],
            notes: &["After a week of errors Intercom suspends the subscription."],
        },
        ..Facts::plain("X-Hub-Signature", Encoding::Hex)
    }
}

/// `t=MILLISECONDS, v1=SIGNATURE`.
fn workos() -> Facts {
    Facts {
        form: Form::Pairs {
            separator: ',',
            time: "t",
            signature: "v1",
            needed: true,
        },
        signed: template([Part::Timestamp, super::text("."), Part::Body]),
        time: time("", TimeUnit::Milliseconds),
        tolerance: after(180),
        id: id(&["/id"]),
        kind: kind(&[&["/event"]], ""),
        occurred_at: places(&["/created_at", "/data/created_at"]),
        about: About {
            second_hand: false,
            documents: &[
                "https://workos.com/docs/events/data-syncing/webhooks",
                "https://github.com/workos/workos-node",
            ],
            secret: "the endpoint's secret, as it stands",
            retries: "",
            signed_anew: None,
            setup: &[
                "Dashboard > Webhooks > Create Webhook.",
                "Endpoint URL: {url}",
                "Copy the secret and store it.",
            ],
            notes: &[],
        },
        ..Facts::plain("WorkOS-Signature", Encoding::Hex)
    }
}
