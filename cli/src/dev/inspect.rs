//! The page of `oncehook dev` and the small API behind it: what came, what became of it, and what a person can do.
//!
//! Events are from strangers and other sites run in the same browser: nothing is answered before `guard` has agreed, and
//! the page may run no script but its own file. What an act means and whether it is allowed is the desks' to say, as for
//! the command line; here they are only asked.

mod acts;
mod detail;
mod guard;
mod list;
mod make;

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use jiff::Timestamp;
use oncehook_core::{clock::Clock as _, config::Config, rules::Rules};
use oncehook_edge::SystemClock;
use oncehook_store::{Ledger, Queue};
use serde_json::{Value, json};

use super::{mask::Mask, watch::Watch};
use crate::{operate, running::Running, storage::Place};

/// Where the page is.
pub(super) const PAGE: &str = "/_oncehook/";

const INDEX: &str = include_str!("inspect/page/index.html");
const SCRIPTS: [(&str, &str); 4] = [
    ("page.js", include_str!("inspect/page/page.js")),
    ("detail.js", include_str!("inspect/page/detail.js")),
    ("forms.js", include_str!("inspect/page/forms.js")),
    ("dom.js", include_str!("inspect/page/dom.js")),
];
const STYLE: &str = include_str!("inspect/page/page.css");
const ICON: &str = include_str!("inspect/page/icon.svg");

/// All that the page shows from.
pub(super) struct Inspect {
    /// The configuration's file: acts and plans are of what it says now, as on the command line.
    pub(super) file: PathBuf,
    /// Its text at the start, by which this process handles what comes in.
    pub(super) text: String,
    pub(super) running: Running,
    /// The folder of all state.
    pub(super) data: PathBuf,
    pub(super) ledger: Ledger,
    pub(super) queue: Queue,
    pub(super) client: oncehook_drain::Client,
    pub(super) watch: Watch,
    pub(super) mask: Arc<Mask>,
    pub(super) started: Timestamp,
    pub(super) cache: list::Cache,
}

/// An answer of the API: a status and what the page shows of it.
type Told = Result<Value, (StatusCode, String)>;

/// What was asked for is not possible, for this reason.
fn refused(why: impl std::fmt::Display) -> (StatusCode, String) {
    (StatusCode::UNPROCESSABLE_ENTITY, format!("{why:#}"))
}

impl Inspect {
    /// Answers one request. Never fails.
    pub(super) async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        let path = request.uri().path();
        if matches!(path, "/" | "/_oncehook") && request.method() == Method::GET {
            let mut response = guard::response(StatusCode::FOUND, "text/plain; charset=utf-8", Bytes::new());
            let page = HeaderValue::from_static(PAGE);
            response.headers_mut().insert(header::LOCATION, page);
            return response;
        }
        let Some(rest) = path.strip_prefix(PAGE) else {
            return told(Err((StatusCode::NOT_FOUND, "Not Found".to_owned())));
        };
        if let Err(refusal) = guard::admit(request.method(), request.headers()) {
            tracing::warn!(path, why = refusal.why(), "the page was not shown");
            return told(Err((refusal.status(), refusal.why().to_owned())));
        }
        let file = match rest {
            "" => Some(("text/html; charset=utf-8", INDEX)),
            "page.css" => Some(("text/css; charset=utf-8", STYLE)),
            "icon.svg" => Some(("image/svg+xml", ICON)),
            name => {
                let script = SCRIPTS.iter().find(|(other, _)| *other == name);
                script.map(|(_, text)| ("text/javascript; charset=utf-8", *text))
            }
        };
        if let (Some((kind, text)), &Method::GET) = (file, request.method()) {
            return guard::response(StatusCode::OK, kind, Bytes::from_static(text.as_bytes()));
        }
        let mut answer = self.api(&request, rest).await;
        if let Ok(value) = &mut answer {
            self.mask.json(value);
        }
        told(answer.map_err(|(status, why)| (status, self.mask.text(&why))))
    }

    async fn api(&self, request: &Request<Bytes>, path: &str) -> Told {
        let query = request.uri().query().unwrap_or_default();
        match (request.method().as_str(), path) {
            ("GET", "api/list") => self.list(query).await,
            ("GET", "api/event") => self.event(query).await,
            ("GET", "api/request") => self.request(query),
            ("GET", "api/sample") => self.sample(query),
            ("POST", "api/send") => self.send(body(request)?).await,
            ("POST", "api/plan") => self.plan(body(request)?),
            ("POST", "api/act") => self.act(body(request)?).await,
            _ => Err((StatusCode::NOT_FOUND, "no such resource".to_owned())),
        }
    }

    /// The configuration as its file has it now, with the destinations as they are called here.
    fn config(&self) -> Result<Config, (StatusCode, String)> {
        operate::configuration(&self.file, &self.place(), false).map_err(refused)
    }

    fn place(&self) -> Place {
        Place::of_dev(self.running.clone(), &self.data)
    }

    fn now(&self) -> Timestamp {
        SystemClock.now()
    }
}

/// The rules of a configuration.
fn rules(config: &Config) -> Result<Rules, (StatusCode, String)> {
    Rules::new(config).map_err(refused)
}

fn told(answer: Told) -> Response<Bytes> {
    let (status, value) = match answer {
        Ok(value) => (StatusCode::OK, value),
        Err((status, why)) => (status, json!({ "error": why })),
    };
    guard::response(status, "application/json", Bytes::from(value.to_string()))
}

/// What a request's body asks for.
fn body<T: serde::de::DeserializeOwned>(request: &Request<Bytes>) -> Result<T, (StatusCode, String)> {
    serde_json::from_slice(request.body()).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))
}

/// A parameter of a query.
fn parameter(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes())
        .find(|(other, _)| other == name)
        .map(|(_, value)| value.into_owned())
}
