//! Providers: they send each event until somebody says 2xx, at times more than once at a time, at times again later. And
//! one who is none: sends a captured body under another id, and changes bodies.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, HeaderValue, Method, header};
use oncehook_local::gateway;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    machine::Machine,
    world::{Kind, World},
};

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// Paid: adds to a balance.
    Invoice,
    /// One of several events about one charge: it counts once.
    Charge(u64),
    /// The newest counts.
    Subscription(u64),
    /// The rule fails until it is mended.
    Refund,
    /// Known by an id that nobody signs.
    Push(u64),
    /// Nobody's business.
    Other,
}

/// One event.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) id: String,
    pub(crate) about: About,
    pub(crate) customer: &'static str,
    pub(crate) amount: u64,
    /// What makes its body too large for the table, if it is.
    padding: String,
    /// Somebody said 2xx.
    pub(crate) taken: AtomicBool,
}

const CUSTOMERS: [&str; 2] = ["ada", "bob"];

/// The events of one history.
pub(crate) fn events(world: &World) -> Vec<Sent> {
    let count = 1 + world.draw(4);
    let mut events = Vec::new();
    let mut add = |id: String, about: About, customer: &'static str, amount: u64, padding: &str| {
        events.push(Sent {
            id,
            about,
            customer,
            amount,
            padding: padding.to_owned(),
            taken: AtomicBool::new(false),
        });
    };
    for number in 0..count {
        let customer = CUSTOMERS[usize::try_from(world.draw(2)).unwrap()];
        let amount = 1 + world.draw(100);
        let id = format!("evt_{number}");
        let padding = if world.chance(25) {
            noise(world)
        } else {
            String::new()
        };
        match world.draw(12) {
            0..=3 => add(id, About::Invoice, customer, amount, &padding),
            4 | 5 => {
                add(
                    format!("{id}a"),
                    About::Charge(number),
                    customer,
                    amount,
                    &padding,
                );
                add(
                    format!("{id}b"),
                    About::Charge(number),
                    customer,
                    amount,
                    &padding,
                );
            }
            6 | 7 => add(id, About::Subscription(number + 1), customer, 0, &padding),
            8 | 9 => add(id, About::Refund, customer, amount, &padding),
            10 => {
                add(
                    format!("{id}-push"),
                    About::Push(number),
                    customer,
                    amount,
                    &padding,
                );
                // The same body again, under an id of somebody's own.
                add(
                    format!("{id}-copy"),
                    About::Push(number),
                    customer,
                    amount,
                    &padding,
                );
            }
            _ => add(id, About::Other, customer, amount, &padding),
        }
    }
    events
}

/// A text that no compression brings below 64 KiB.
fn noise(world: &World) -> String {
    let mut random = fastrand::Rng::with_seed(world.draw(u64::MAX));
    (0..100_000).map(|_| random.alphanumeric()).collect()
}

impl Sent {
    pub(crate) fn source(&self) -> &'static str {
        match self.about {
            About::Push(_) => "github",
            _ => "stripe",
        }
    }

    fn payload(&self) -> Value {
        let (kind, id, sequence) = match self.about {
            About::Invoice => ("invoice.payment_succeeded", format!("in_{}", self.id), 0),
            About::Charge(number) if self.id.ends_with('a') => ("charge.captured", format!("ch_{number}"), 0),
            About::Charge(number) => ("charge.succeeded", format!("ch_{number}"), 0),
            About::Subscription(sequence) => {
                let id = format!("sub_{}", self.customer);
                ("customer.subscription.updated", id, sequence)
            }
            About::Refund => ("charge.refunded", format!("re_{}", self.id), 0),
            About::Push(number) => {
                return json!({
                    "customer": self.customer, "amount": self.amount, "push": number, "padding": self.padding
                });
            }
            About::Other => ("account.updated", "acct".to_owned(), 0),
        };
        json!({
            "id": self.id, "object": "event", "type": kind, "created": 1_796_000_000, "livemode": false,
            "data": { "object": {
                "id": id, "customer": self.customer, "amount": self.amount, "sequence": sequence,
                "padding": self.padding
            } }
        })
    }

    /// Sends it until it is taken; then perhaps again.
    pub(crate) async fn deliver(&self, machine: &Machine) {
        let world = &machine.world;
        let storm = world.weather.storm;
        sleep(world.some(storm / 2)).await;
        let mut wait = Duration::from_secs(1);
        loop {
            let copies = if world.mishap(30) { 3 } else { 1 };
            let answers = join_all((0..copies).map(|_| self.post(machine))).await;
            if answers.contains(&true) {
                break;
            }
            sleep(wait + world.some(wait)).await;
            wait = (wait * 2).min(Duration::from_secs(3_600)).min(storm / 4);
        }
        self.taken.store(true, Ordering::Relaxed);
        for _ in 0..world.draw(3) {
            sleep(world.some(storm / 4)).await;
            self.post(machine).await;
        }
    }

    /// Sends it once; tells whether the provider sees a 2xx.
    async fn post(&self, machine: &Machine) -> bool {
        let world = &machine.world;
        sleep(world.some(Duration::from_millis(300))).await;
        let tampered = world.mishap(3);
        let Some((status, replayed)) = self.send(machine, tampered).await else {
            return false;
        };
        let answer = format!("{status}{}", if replayed { " replayed" } else { "" });
        world.say("provider", || format!("{} is answered {answer}", self.id));
        if tampered {
            if status != 401 {
                let what = format!("a changed body of {} is answered {status}", self.id);
                world.wrong(Kind::Lost, what);
            }
            return false;
        }
        if status != 200 {
            return false;
        }
        let mut book = world.book();
        book.acknowledged.insert(self.id.clone());
        if !replayed {
            *book.news.entry(self.id.clone()).or_default() += 1;
        }
        let begun = book.begun[&self.id];
        drop(book);
        // An answer that repeats another one needs another request.
        if replayed && begun < 2 {
            world.wrong(
                Kind::Lost,
                format!("{}: the first answer ever says that it is a repetition", self.id),
            );
        }
        if !self.is_stored(world) {
            world.wrong(Kind::Lost, format!("{} is acknowledged and not stored", self.id));
        }
        // The answer gets lost on its way.
        !world.mishap(5)
    }

    fn is_stored(&self, world: &World) -> bool {
        let items = world.database.all(crate::database::TABLE);
        let is = |item: &Value| {
            crate::database::text(item, "event_id").as_ref() == Some(&self.id)
                && crate::database::text(item, "sk").as_deref() == Some("event")
        };
        items.iter().any(is)
    }

    async fn send(&self, machine: &Machine, tampered: bool) -> Option<(u16, bool)> {
        let world = &machine.world;
        let body = self.payload().to_string();
        let kind = if self.source() == "github" { "push" } else { "" };
        let id = if self.source() == "github" { &*self.id } else { "" };
        let source = &machine.sources[self.source()];
        let mut headers: HeaderMap = source
            .sign(id, kind, body.as_bytes(), world.now(), &HeaderMap::new())
            .unwrap();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let body = if tampered {
            body.replacen("amount\":", "amount\":9", 1)
        } else {
            body
        };
        let mut request = http::Request::builder()
            .method(Method::POST)
            .uri(format!("/webhooks/{}", self.source()));
        *request.headers_mut().unwrap() = headers;
        let request = request.body(Bytes::from(body)).unwrap();
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let event = gateway::event_json(&request, self.source(), ip, world.now(), "request").to_string();
        if !tampered {
            *world.book().begun.entry(self.id.clone()).or_default() += 1;
        }
        let request = lambda_http::request::from_str(&event).unwrap();
        let response = machine.receive(request).await?;
        let replayed = response.headers().contains_key(oncehook_ingest::REPLAYED);
        Some((response.status().as_u16(), replayed))
    }
}
