//! What acts of people have in common: who acts and why, a dry run first, a pace, progress, one line for each result.
//!
//! What an act is and whether it is allowed is not decided here.

use std::{
    io::{IsTerminal as _, Write as _},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use oncehook_core::config::Config;
use oncehook_store::Actor;
use serde_json::{Value, json};
use tokio::{sync::Mutex, time::Interval};

use crate::{
    answer::{Answer, misuse},
    configuration, output, secrets,
    storage::Place,
};

/// How acts are carried out.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "How it is done")]
pub(crate) struct How {
    /// Do it. Without this, what would be done is printed, and on a terminal you are asked.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Why: recorded on the item.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Who: recorded on the item [default: user@host].
    #[arg(long = "as", value_name = "NAME")]
    who: Option<String>,
    /// The most acts a second.
    #[arg(long, value_name = "N/s", default_value = "20/s", value_parser = rate)]
    rate: f64,
    /// How many at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    at_once: u8,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// One thing to do, or why it is not done.
#[derive(Debug, Clone)]
pub(crate) struct Step<T> {
    /// What to act on.
    pub(crate) on: T,
    /// For people: what it is.
    pub(crate) what: Vec<String>,
    /// For scripts: the same.
    pub(crate) names: Value,
    /// What would be done, or why nothing is.
    pub(crate) would: Result<String, String>,
}

/// How one act ended: what was done, or why nothing was.
pub(crate) type End = Result<String, String>;

impl How {
    /// One act that somebody has confirmed elsewhere, for this reason.
    pub(crate) const fn confirmed(reason: Option<String>) -> Self {
        Self {
            yes: true,
            reason,
            who: None,
            rate: 20.0,
            at_once: 1,
            json: false,
        }
    }

    /// Who acts, and why.
    pub(crate) fn actor(&self) -> Actor {
        let user = ["USER", "LOGNAME"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
        let host = rustix::system::uname();
        let here = || {
            format!(
                "{}@{}",
                user.as_deref().unwrap_or("somebody"),
                host.nodename().to_string_lossy()
            )
        };
        Actor {
            by: self.who.clone().unwrap_or_else(here),
            why: self.reason.clone(),
        }
    }

    /// Shows the steps; does them if that is wanted, and shows what came of them.
    ///
    /// # Errors
    /// When nobody can be asked.
    pub(crate) async fn carry_out<T: Clone>(
        &self,
        verb: &str,
        head: &[&str],
        steps: Vec<Step<T>>,
        act: impl AsyncFn(T) -> End,
    ) -> anyhow::Result<Answer> {
        let possible = steps.iter().filter(|step| step.would.is_ok()).count();
        let refused = steps.len() - possible;
        if steps.is_empty() {
            if self.json {
                output::json(&json!([]));
            }
            output::note("nothing matches");
            return Ok(Answer::No);
        }
        if !self.yes {
            self.show(head, &steps, |step| step.would.clone(), false);
            output::note(format!("{possible} to {verb}, {refused} not"));
            if possible == 0 || !asked(&format!("{verb} {possible} now?"))? {
                output::note("nothing was changed; --yes does it");
                return Ok(Answer::from_bool(refused == 0));
            }
        }
        let (ends, started) = self.all(verb, possible, &steps, act).await;
        let done = ends.iter().filter(|end| end.is_ok()).count();
        let mut ends = ends.into_iter();
        self.show(
            head,
            &steps,
            |_| ends.next().unwrap_or(Err("not reached".to_owned())),
            true,
        );
        output::note(format!(
            "{done} done, {} not, in {:.1} s",
            steps.len() - done,
            started.elapsed().as_secs_f64()
        ));
        Ok(Answer::from_bool(done == steps.len()))
    }

    /// Does all that is possible; the ends in the order of the steps.
    async fn all<T: Clone>(
        &self,
        verb: &str,
        possible: usize,
        steps: &[Step<T>],
        act: impl AsyncFn(T) -> End,
    ) -> (Vec<End>, std::time::Instant) {
        let started = std::time::Instant::now();
        let (done, told) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ticks = Mutex::new(ticker(self.rate));
        let one = async |step: &Step<T>| {
            if let Err(why) = &step.would {
                return Err(why.clone());
            }
            ticks.lock().await.tick().await;
            let end = act(step.on.clone()).await;
            let so_far = done.fetch_add(1, Ordering::Relaxed) + 1;
            let seconds = usize::try_from(started.elapsed().as_secs()).unwrap_or_default();
            if told.fetch_max(seconds, Ordering::Relaxed) < seconds {
                output::note(format!("{verb}: {so_far} of {possible}"));
            }
            end
        };
        let ends = stream::iter(steps).map(one).buffered(usize::from(self.at_once));
        (ends.collect().await, started)
    }

    fn show<T>(&self, head: &[&str], steps: &[Step<T>], mut end: impl FnMut(&Step<T>) -> End, done: bool) {
        let mut rows = Vec::new();
        let mut values = Vec::new();
        for step in steps {
            let (ok, text) = match end(step) {
                Ok(text) => (true, text),
                Err(text) => (false, text),
            };
            if self.json {
                let mut value = step.names.clone();
                value["done"] = json!(done && ok);
                value["possible"] = json!(ok || step.would.is_ok());
                value["result"] = json!(text);
                values.push(value);
            } else {
                let mark = match (done, ok) {
                    (true, true) => "done: ",
                    (false, true) => "would: ",
                    (_, false) => "not: ",
                };
                let mut row = step.what.clone();
                row.push(format!("{mark}{text}"));
                rows.push(row);
            }
        }
        if self.json {
            // A dry run that goes on to act prints its result once.
            if done || !std::io::stdin().is_terminal() {
                output::json(&values.into());
            }
            return;
        }
        let more = rows.len().saturating_sub(SHOWN);
        rows.truncate(SHOWN);
        let head: Vec<&str> = head.iter().copied().chain(["result"]).collect();
        output::table(&head, rows);
        if more > 0 {
            output::note(format!("and {more} more; --json prints all"));
        }
    }
}

/// So many lines are printed for people.
const SHOWN: usize = 200;

/// Asks on a terminal; without one the answer is no.
pub(crate) fn asked(question: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut screen = std::io::stderr();
    write!(screen, "{question} [y/N] ")?;
    screen.flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn ticker(rate: f64) -> Interval {
    let mut ticks = tokio::time::interval(Duration::from_secs_f64(1.0 / rate));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks
}

fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match number.trim().parse::<f64>() {
        Ok(rate) if (0.01..=10_000.0).contains(&rate) => Ok(rate),
        _ => Err("how many a second, such as 10/s".to_owned()),
    }
}

/// The configuration that acts are decided with: that of the file, with the destinations as they are called there.
///
/// # Errors
/// When it cannot be read, or a variable that names a table is missing.
pub(crate) fn configuration(file: &Path, place: &Place, writes_rows: bool) -> anyhow::Result<Config> {
    let mut config = configuration::load(file)?;
    let environment = secrets::environment();
    environment.override_targets(&mut config)?;
    if let Some(dev) = place.dev.as_ref().filter(|dev| !dev.live && !dev.mail.is_empty()) {
        crate::dev::redirect(&mut config, &environment, &dev.mail)?;
    }
    let tables = config
        .tables
        .keys()
        .map(|name| oncehook_edge::variable("TABLE", name));
    let queues = config
        .destinations
        .values()
        .filter(|destination| destination.kind.is_aws() && destination.url.is_empty())
        .map(oncehook_edge::target_variable);
    let missing: Vec<String> = tables
        .chain(queues)
        .filter(|name| environment.get(name).is_none())
        .collect();
    if writes_rows && !place.local && !missing.is_empty() {
        return Err(misuse(format!(
            "a replay writes to your own tables and queues, and their names are not known here: set {} as the ingest function has it \
             (`aws lambda get-function-configuration --function-name NAME --query Environment.Variables`)",
            missing.join(", ")
        )));
    }
    Ok(config)
}
