//! `oncehook sources`: what is known of each provider, from the table that verification itself uses.
//!
//! Reads no configuration and asks nobody.

mod markdown;

use oncehook_core::verify::{Description, Scheme};

use crate::{
    answer::{Answer, misuse},
    output,
};

/// Arguments of `sources`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook sources
  oncehook sources stripe
  oncehook sources --json | jq '.[] | select(.id_signed | not) | .name'")]
pub(crate) struct Args {
    /// One of them: all that is known, and what to do in its dashboard.
    name: Option<String>,
    /// Print as JSON.
    #[arg(long)]
    json: bool,
    /// Print docs/providers.md.
    #[arg(long, hide = true, conflicts_with_all = ["name", "json"])]
    markdown: bool,
}

/// Shows all providers, or one.
pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let all: Vec<Description> = Scheme::names()
        .filter_map(Scheme::from_name)
        .filter_map(|scheme| scheme.describe())
        .collect();
    match &args.name {
        Some(name) => {
            let found = Scheme::from_name(name).and_then(|scheme| scheme.describe());
            let found = found.ok_or_else(|| {
                misuse(format!(
                    "there is no provider `{name}`: `oncehook sources` shows all; any other HMAC over the body is \
                     described in oncehook.toml with scheme = \"hmac\""
                ))
            })?;
            if args.json {
                output::json(&serde_json::to_value(&found)?);
            } else {
                one(&found);
            }
        }
        None if args.markdown => output::text(&markdown::page(&all)),
        None if args.json => output::json(&serde_json::to_value(&all)?),
        None => {
            let rows = all.iter().map(row).collect();
            output::table(
                &[
                    "scheme",
                    "provider",
                    "proof",
                    "tolerance",
                    "id signed",
                    "answer within",
                ],
                rows,
            );
            output::note(
                "`oncehook sources NAME` explains one. Any other HMAC over the body: scheme = \"hmac\".",
            );
            for out in Scheme::left_out() {
                output::note(format!("Left out: {}. It {}.", out.title, out.reason));
            }
        }
    }
    Ok(Answer::Yes)
}

fn row(found: &Description) -> Vec<String> {
    vec![
        found.name.to_owned(),
        found.title.to_owned(),
        found.proof.to_owned(),
        output::or_dash(found.tolerance.as_deref()),
        (if found.id_signed { "yes" } else { "no" }).to_owned(),
        output::or_dash(found.timeout.as_deref()),
    ]
}

fn one(found: &Description) {
    output::line(format!("{} (scheme = \"{}\")", found.title, found.name));
    let rows = facts(found);
    let rows: Vec<(&str, Option<String>)> = rows
        .into_iter()
        .map(|(name, value)| (name, Some(value)))
        .collect();
    output::fields(&rows);
    output::line("\nIn oncehook.toml:");
    output::line(output::indent(&example(found), 2));
    let endpoint = format!("https://YOUR-API/webhooks/{}", found.name);
    list(
        "Set-up:",
        found.setup.iter().map(|step| step.replace("{url}", &endpoint)),
    );
    list("Note:", found.notes.iter().map(|note| (*note).to_owned()));
    list(
        "From:",
        found.documents.iter().map(|document| (*document).to_owned()),
    );
}

fn list(head: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    output::line(format!("\n{head}"));
    for (index, line) in lines.iter().enumerate() {
        output::line(format!("  {}. {line}", index + 1));
    }
}

/// The facts that are there, by name.
fn facts(found: &Description) -> Vec<(&'static str, String)> {
    let known = |answer: Option<bool>| match answer {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    let id_signed = if found.id_signed {
        "yes"
    } else {
        "no: the same body under another id is held"
    };
    let confirmed = if found.second_hand {
        "second-hand: several others agree, the provider's own text was not at hand"
    } else {
        ""
    };
    let rows = [
        ("signature", found.signature.clone()),
        ("signed", found.signed.clone()),
        ("proof", found.proof.to_owned()),
        ("confirmed", confirmed.to_owned()),
        ("secret", found.secret.to_owned()),
        ("tolerance", found.tolerance.clone().unwrap_or_default()),
        ("retries signed anew", known(found.signed_anew).to_owned()),
        ("id", found.id.clone()),
        ("id signed", id_signed.to_owned()),
        ("kind", found.kind.clone()),
        ("time", found.time.clone()),
        ("scope", found.scope.clone()),
        ("events", found.batch.to_owned()),
        ("handshakes", found.handshakes.join("; ")),
        ("success", found.success.to_string()),
        ("answer within", found.timeout.clone().unwrap_or_default()),
        ("retries", found.retries.to_owned()),
        (
            "delivered again for",
            found.retried_for.as_ref().map_or_else(
                || "not said; 7d unless `retried_for` says otherwise".to_owned(),
                |longest| format!("up to {longest}"),
            ),
        ),
    ];
    rows.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// The least that oncehook.toml needs.
fn example(found: &Description) -> String {
    let name = found.name;
    let mut lines = vec![
        format!("[source.{name}]"),
        format!("scheme = \"{name}\""),
        format!("secret = \"{name}\""),
    ];
    for setting in &found.settings {
        lines.push(match *setting {
            "public_url" => format!("public_url = \"https://YOUR-API/webhooks/{name}\""),
            other => format!("{other} = \"{name}-token\""),
        });
    }
    lines.join("\n")
}
