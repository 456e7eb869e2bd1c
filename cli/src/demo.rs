//! `oncehook demo`: the story of Oncehook in seven scenes, each with its numbers checked.
//!
//! A real `oncehook dev` in a process of its own, really killed in scene 6; signed requests over loopback; a fake
//! mail API that outlives it. Nothing here knows how Oncehook works: it looks at answers, rows and mails.

mod scenes;
mod stage;

use anyhow::bail;
use clap::Args as ClapArgs;

use stage::Stage;

/// Watch Oncehook do its job: seven scenes on free ports, about a minute. Exits 0 only if every number is right.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Without the pauses for reading; FAST=1 does the same.
    #[arg(long)]
    fast: bool,
}

/// Plays every scene and sums up.
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let fast = args.fast || std::env::var("FAST").is_ok_and(|value| !value.is_empty() && value != "0");
    let mut stage = Stage::open(!fast).await?;
    scenes::concurrent(&mut stage).await?;
    scenes::redelivered(&mut stage).await?;
    scenes::forged(&mut stage).await?;
    scenes::out_of_order(&mut stage).await?;
    scenes::lost_answer(&mut stage).await?;
    scenes::killed(&mut stage).await?;
    scenes::mended(&mut stage).await?;
    let (right, wrong) = stage.close();
    println!("\n{right} numbers right, {wrong} wrong.");
    if wrong > 0 {
        bail!("{wrong} of the demo's numbers are wrong");
    }
    Ok(())
}
