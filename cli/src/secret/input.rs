//! A value from standard input: typed without being shown, or piped. Never an argument, which every process could read.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use anyhow::{Context as _, bail};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::oneshot;

use crate::{answer::misuse, output};

/// More than this is no secret.
const LONGEST: u64 = 8192;

/// Reads one value. Line breaks at its end are cut off.
///
/// # Errors
/// When it is empty, too long, no text or more than one line.
pub(super) async fn value(prompt: &str) -> anyhow::Result<String> {
    let text = if io::stdin().is_terminal() {
        typed(prompt).await?
    } else {
        let mut text = String::new();
        let mut input = io::stdin().lock().take(LONGEST + 1);
        input
            .read_to_string(&mut text)
            .map_err(|error| misuse(format!("standard input: {error}")))?;
        text
    };
    let value = text.trim_end_matches(['\r', '\n']);
    if value.trim().is_empty() {
        return Err(misuse(
            "standard input is empty: pipe the value into this command, or type it",
        ));
    }
    if value.len() > usize::try_from(LONGEST).unwrap_or(usize::MAX) {
        return Err(misuse(
            "the value is longer than 8 KB, which is no secret that fits the parameter",
        ));
    }
    if value.contains(['\r', '\n']) {
        return Err(misuse(
            "the value has several lines: set one value at a time, the newest last",
        ));
    }
    if value.trim() != value {
        output::note("note: the value begins or ends with white space, which was kept");
    }
    Ok(value.to_owned())
}

/// Turns the terminal's echo on again, however reading ends.
struct Hidden(Termios);

impl Hidden {
    fn start() -> anyhow::Result<Self> {
        let before = tcgetattr(io::stdin()).context("the terminal")?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden).context("hiding what is typed")?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

async fn typed(prompt: &str) -> anyhow::Result<String> {
    let _hidden = Hidden::start()?;
    let mut screen = io::stderr();
    screen
        .write_all(prompt.as_bytes())
        .and_then(|()| screen.flush())?;
    let (sender, line) = oneshot::channel();
    // A thread of its own: an interrupted command must not wait for it.
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = io::stdin().read_line(&mut text).map(|_| text);
        let _gone = sender.send(read);
    });
    tokio::select! {
        line = line => Ok(line.context("standard input")??),
        _ = tokio::signal::ctrl_c() => bail!("interrupted: nothing was written"),
    }
}
