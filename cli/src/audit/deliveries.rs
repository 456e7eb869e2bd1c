//! The requests of an audit, one check after the other, and what the answers mean. Prints nothing.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use futures_util::future::join_all;
use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{clock::Clock as _, config::SourceConfig};
use oncehook_edge::SystemClock;

use super::report::{Check, Verdict};
use crate::{
    post::{self, Answer},
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

/// What one round of requests showed.
struct Round {
    answers: Vec<Result<Answer, String>>,
    before: Option<String>,
    after: Option<String>,
}

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
            let (url, headers, body) = (self.url.clone(), request.headers.clone(), request.body.clone());
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

impl Round {
    fn accepted(&self) -> usize {
        let good = |answer: &&Result<Answer, String>| answer.as_ref().is_ok_and(is_good);
        self.answers.iter().filter(good).count()
    }

    fn status(&self) -> Option<u16> {
        self.answers.first()?.as_ref().ok().map(|answer| answer.status)
    }

    /// `8 x 200`, `7 x 200, 1 x 409`.
    fn summary(&self) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for answer in &self.answers {
            let text = match answer {
                Ok(answer) if answer.replayed => format!("{} replayed", answer.status),
                Ok(answer) => answer.status.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            *counts.entry(text).or_default() += 1;
        }
        let one = |(text, count): (&String, &usize)| match count {
            1 if self.answers.len() == 1 => text.clone(),
            count => format!("{count} x {text}"),
        };
        counts.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Whether the probe shows something else than before; nothing without a probe.
    fn changed(&self) -> Option<bool> {
        Some(self.before.as_ref()? != self.after.as_ref()?)
    }

    /// By how much a probe that is a number went up.
    fn step(&self) -> Option<f64> {
        let number = |text: &Option<String>| text.as_ref()?.trim().parse::<f64>().ok();
        Some(number(&self.after)? - number(&self.before)?)
    }

    fn effects(&self) -> String {
        match (self.step(), self.changed()) {
            (Some(step), _) => format!("{step:+}"),
            (None, Some(true)) => "changed".to_owned(),
            (None, Some(false)) => "same".to_owned(),
            (None, None) => "not seen".to_owned(),
        }
    }

    fn check(&self, name: &str, verdict: Verdict, means: impl Into<String>) -> Check {
        Check {
            name: name.to_owned(),
            answers: self.summary(),
            effects: self.effects(),
            verdict,
            means: means.into(),
        }
    }

    fn genuine(&self) -> Check {
        let name = "genuine";
        if self.accepted() == 0 {
            let means = "a genuine request is refused: is this its signing secret, its URL, a type that it takes? The other checks \
                         mean little until this passes";
            return self.check(name, Verdict::Fail, means);
        }
        match self.changed() {
            Some(false) => self.check(
                name,
                Verdict::Unknown,
                "accepted, but the probe does not show the effect: give one that does, or a longer --settle",
            ),
            _ => self.check(name, Verdict::Pass, "accepted"),
        }
    }

    fn repeat(&self, first: &Self) -> Check {
        let name = "the same again";
        let seen = first.changed() == Some(true);
        if self.accepted() == 0 {
            let means = match self.status() {
                Some(500..) | None => "a duplicate is an error here: the provider sends it again and again",
                Some(_) => {
                    "a duplicate is refused: it does not act, but some providers count it as a failed delivery"
                }
            };
            return self.check(name, Verdict::Unknown, means);
        }
        match self.changed() {
            Some(true) => self.check(
                name,
                Verdict::Fail,
                "the probe changed: a duplicate acts a second time",
            ),
            Some(false) if seen => self.check(
                name,
                Verdict::Pass,
                "accepted, and the probe stayed as it was: it acted once",
            ),
            _ if self.is_marked() => self.check(name, Verdict::Pass, "accepted, and marked as a replay"),
            _ => self.check(
                name,
                Verdict::Unknown,
                "accepted and not to be told from the first: whether it acted twice cannot be seen from here",
            ),
        }
    }

    fn race(&self, once: Option<f64>) -> Check {
        let name = "at the same moment";
        let (sent, accepted) = (self.answers.len(), self.accepted());
        let marked = self
            .answers
            .iter()
            .flatten()
            .filter(|answer| answer.replayed)
            .count();
        if let (Some(step), Some(once)) = (self.step(), once.filter(|once| *once != 0.0)) {
            let times = step / once;
            return match times {
                _ if (times - 1.0).abs() < 1e-9 => self.check(
                    name,
                    Verdict::Pass,
                    format!("{sent} at once acted once, says the probe"),
                ),
                _ if times.abs() < 1e-9 => self.check(
                    name,
                    Verdict::Fail,
                    "none of them acted, says the probe: it is lost, or late",
                ),
                _ => self.check(
                    name,
                    Verdict::Fail,
                    format!("{sent} at once acted {times} times, says the probe"),
                ),
            };
        }
        let errors = self
            .answers
            .iter()
            .filter(|answer| answer.as_ref().map_or(true, |answer| answer.status >= 500))
            .count();
        if accepted == 0 {
            return self.check(
                name,
                Verdict::Fail,
                "none was accepted: the provider comes again, if it retries at all",
            );
        }
        if accepted - marked == 1 {
            return self.check(
                name,
                Verdict::Pass,
                "one was taken as new; the others were told from it",
            );
        }
        let errors = if errors > 0 {
            format!(" {errors} were errors, which the provider sends again.")
        } else {
            String::new()
        };
        let means = format!(
            "{accepted} were accepted alike: whether that was one effect or {accepted} cannot be seen from here.{errors}"
        );
        self.check(name, Verdict::Unknown, means)
    }

    fn must_refuse(&self, name: &str) -> Check {
        if self.changed() == Some(true) {
            return self.check(name, Verdict::Fail, "the probe changed: it acted");
        }
        match self.status() {
            Some(200..=299) => self.check(
                name,
                Verdict::Fail,
                "accepted: who knows the URL can send this. (If it only answers before it verifies, see that it did not act)",
            ),
            Some(400..=499) => self.check(name, Verdict::Pass, "refused"),
            Some(status) => self.check(
                name,
                Verdict::Unknown,
                format!("not accepted, but {status} asks a provider to come again: 401 would be clear"),
            ),
            None => self.check(name, Verdict::Unknown, "no answer"),
        }
    }

    fn disorder(&self, newer: &Self) -> Check {
        let name = "older after newer";
        let answers = format!("{}, then {}", newer.summary(), self.summary());
        let check = match (self.accepted(), self.changed()) {
            (0, _) => self.check(
                name,
                Verdict::Unknown,
                "the older one is refused: providers send it again, and do not send in order",
            ),
            (_, Some(true)) => self.check(
                name,
                Verdict::Unknown,
                "the probe changed: right if each event counts by itself, wrong if the older overwrote newer state",
            ),
            _ => self.check(
                name,
                Verdict::Unknown,
                "accepted: whether the older overwrote what the newer set cannot be seen from here",
            ),
        };
        Check { answers, ..check }
    }

    fn is_marked(&self) -> bool {
        self.answers.iter().flatten().all(|answer| answer.replayed)
    }
}

fn is_good(answer: &Answer) -> bool {
    (200..300).contains(&answer.status)
}
