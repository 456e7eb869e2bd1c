//! The requests of an audit, one check after the other. What answers mean is `round`'s.

use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::join_all;
use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{clock::Clock as _, config::SourceConfig};
use oncehook_edge::SystemClock;

use super::{report::Check, round::Round};
use crate::{
    post,
    request::{self, Options, Prepared, payload},
};

/// The endpoint, and how requests for it are signed.
pub(super) struct Target<'a> {
    pub(super) url: String,
    pub(super) source: &'a SourceConfig,
    pub(super) kind: String,
    pub(super) secret: Option<String>,
    pub(super) probe: Option<String>,
    pub(super) settle: Duration,
}

/// How old a stale request is: older than any tolerance that is in use.
const STALE: SignedDuration = SignedDuration::from_hours(24);

impl Target<'_> {
    /// All checks, in an order in which one does not spoil the next.
    ///
    /// # Errors
    /// When requests cannot be made or the probe does not answer.
    pub(super) async fn checks(&self, racers: u16) -> anyhow::Result<Vec<Check>> {
        let first = self.made(&Options::default())?;
        let genuine = self.round(std::slice::from_ref(&first)).await?;
        let once = genuine.step();
        let mut checks = vec![genuine.genuine()];
        let again = self.round(std::slice::from_ref(&first)).await?;
        checks.push(again.repeat(&genuine));
        let racing = self.made(&Options::default())?;
        let race = self.round(&vec![racing; usize::from(racers)]).await?;
        checks.push(race.race(once));
        let tampered = Options {
            tamper: true,
            ..Options::default()
        };
        let forged = Options {
            forge: true,
            ..Options::default()
        };
        for (name, options) in [("tampered body", tampered), ("wrong secret", forged)] {
            let request = self.made(&options)?;
            checks.push(self.round(&[request]).await?.must_refuse(name));
        }
        let unsigned = self.unsigned();
        checks.push(self.round(&[unsigned]).await?.must_refuse("no signature"));
        checks.push(self.stale().await?);
        checks.push(self.disorder().await?);
        Ok(checks)
    }

    fn made(&self, options: &Options) -> anyhow::Result<Prepared> {
        let options = Options {
            secret: self.secret.clone(),
            ..options.clone()
        };
        request::prepare(self.source, &self.kind, &options, SystemClock.now())
    }

    /// A request as its provider sends it, but for the signature.
    fn unsigned(&self) -> Prepared {
        let id = payload::new_id(&self.source.scheme);
        let made = payload::make(&self.source.scheme, &self.kind, &id, SystemClock.now());
        Prepared {
            headers: with_type(made.headers),
            body: made.body.into(),
            query: None,
            id,
            kind: self.kind.clone(),
        }
    }

    async fn stale(&self) -> anyhow::Result<Check> {
        let id = payload::new_id(&self.source.scheme);
        let at = |age, created: Timestamp| {
            self.made(&Options {
                age,
                id: Some(id.clone()),
                created: Some(created),
                ..Options::default()
            })
        };
        let created = SystemClock.now();
        let (old, new) = (at(STALE, created), at(SignedDuration::ZERO, created));
        let (Ok(old), Ok(new)) = (old, new) else {
            return Ok(Check::unknown(
                "signed a day ago",
                "a request like this cannot be made",
            ));
        };
        if old.headers == new.headers {
            return Ok(Check::unknown(
                "signed a day ago",
                "this provider signs no time: an old request cannot be told from a new one, only its id",
            ));
        }
        Ok(self.round(&[old]).await?.must_refuse("signed a day ago"))
    }

    /// A newer event, then an older one about the same thing.
    async fn disorder(&self) -> anyhow::Result<Check> {
        let now = SystemClock.now();
        let of = |created: Timestamp| {
            self.made(&Options {
                created: Some(created),
                ..Options::default()
            })
        };
        let (newer, older) = (of(now)?, of(now - SignedDuration::from_hours(1))?);
        let first = self.round(&[newer]).await?;
        let second = self.round(&[older]).await?;
        Ok(second.disorder(&first))
    }

    /// Sends requests at once, and looks at the probe before and after.
    async fn round(&self, requests: &[Prepared]) -> anyhow::Result<Round> {
        let before = self.look().await?;
        let sent = requests.iter().map(|request| {
            let (url, headers, body) = (
                request.url(&self.url),
                request.headers.clone(),
                request.body.clone(),
            );
            tokio::spawn(async move { post::post(&url, &headers, body).await })
        });
        let mut answers = Vec::with_capacity(requests.len());
        for sent in join_all(sent).await {
            answers.push(sent.context("a delivery")?.map_err(|error| format!("{error:#}")));
        }
        if self.probe.is_some() {
            tokio::time::sleep(self.settle).await;
        }
        Ok(Round {
            answers,
            before,
            after: self.look().await?,
        })
    }

    async fn look(&self) -> anyhow::Result<Option<String>> {
        let Some(url) = &self.probe else { return Ok(None) };
        let answer = post::get(url).await.context("the probe")?;
        anyhow::ensure!(
            (200..300).contains(&answer.status),
            "the probe {url} answered with {}",
            answer.status
        );
        Ok(Some(answer.body))
    }
}

fn with_type(mut headers: HeaderMap) -> HeaderMap {
    headers
        .entry(http::header::CONTENT_TYPE)
        .or_insert(http::HeaderValue::from_static("application/json"));
    headers
}
