//! `oncehook audit`: what duplicates, races and forgeries do at a webhook endpoint, whoever wrote it.
//!
//! It sees answers, and what a probe shows. What the endpoint does inside it cannot see, and says so.

mod deliveries;
mod report;
mod round;

use std::{net::IpAddr, path::Path, time::Duration};

use http::Uri;

use crate::{
    answer::{Answer, misuse},
    configuration, operate, output,
};

/// Arguments of `audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook audit http://localhost:3000/webhooks/stripe stripe invoice.payment_succeeded
  oncehook audit http://localhost:8000/hooks github push --secret abc --probe-url http://localhost:8000/count
  oncehook audit https://staging.example.com/hooks stripe invoice.payment_succeeded --secret whsec_... --i-own-this

It sends about fifteen requests, some of them genuine: choose an event type that may take effect there. With --probe-url
it reads something that counts effects (a number of rows, a balance) before and after; without, it sees answers only.

Exits with 1 if a check failed.")]
pub(crate) struct Args {
    /// The endpoint.
    url: String,
    /// A source of oncehook.toml, or the name of a scheme if there is no oncehook.toml: how requests are signed.
    source: String,
    /// An event type that the endpoint acts on.
    kind: String,
    /// The endpoint's signing secret [default: ONCEHOOK_SECRET_NAME, or the development secret].
    #[arg(long, value_name = "VALUE")]
    secret: Option<String>,
    /// A URL whose answer shows effects; read with GET before and after each check.
    #[arg(long, value_name = "URL")]
    probe_url: Option<String>,
    /// How long effects may take to show at the probe.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 500)]
    settle: u64,
    /// How many deliveries race.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(2..=100))]
    racers: u16,
    /// The endpoint is yours, or its owner agreed: needed for any that is not on this machine.
    #[arg(long)]
    i_own_this: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Audits.
pub(crate) async fn run(config: &Path, args: &Args) -> anyhow::Result<Answer> {
    let config = configuration::load_or_schemes(config)?;
    let source = configuration::source(&config, &args.source)?;
    for url in [Some(&args.url), args.probe_url.as_ref()].into_iter().flatten() {
        let host = host(url)?;
        if is_here(&host) || args.i_own_this {
            continue;
        }
        if !operate::asked(&format!(
            "{host} is not this machine. Genuine, repeated and forged requests will be sent there. Is it yours?"
        ))? {
            return Err(misuse(format!(
                "{host} is not this machine: audit only what is yours, and say so with --i-own-this"
            )));
        }
    }
    let target = deliveries::Target {
        url: args.url.clone(),
        source,
        kind: args.kind.clone(),
        secret: args.secret.clone(),
        probe: args.probe_url.clone(),
        settle: Duration::from_millis(args.settle),
    };
    let checks = target.checks(args.racers).await?;
    let failed = checks.iter().any(|check| check.verdict == report::Verdict::Fail);
    if args.json {
        output::json(&report::json(&args.url, &checks));
    } else {
        report::show(&args.url, &checks, args.probe_url.is_some());
    }
    Ok(Answer::from_bool(!failed))
}

fn host(url: &str) -> anyhow::Result<String> {
    let uri: Option<Uri> = url.parse().ok();
    let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
    let host = uri.as_ref().and_then(Uri::host);
    let host = host.ok_or_else(|| misuse(format!("`{url}` is not an http or https URL")))?;
    Ok(host.trim_matches(['[', ']']).to_owned())
}

/// Whether a host is this machine, by its name alone: nothing is resolved.
fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_this_machine() {
        for here in ["http://localhost:1/x", "http://127.0.0.2/", "http://[::1]:9/"] {
            assert!(is_here(&host(here).unwrap()), "{here}");
        }
        for there in [
            "https://example.com/",
            "http://localhost.example.com/",
            "http://10.0.0.1/",
        ] {
            assert!(!is_here(&host(there).unwrap()), "{there}");
        }
        assert!(host("ftp://localhost/").is_err() && host("localhost").is_err());
    }
}
