//! `oncehook completions`: a completion script on standard output. Installs nothing.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::answer::Answer;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oncehook completions bash > ~/.local/share/bash-completion/completions/oncehook
  oncehook completions zsh > ~/.zfunc/_oncehook
  oncehook completions fish > ~/.config/fish/completions/oncehook.fish")]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run<C: CommandFactory>(args: &Args) -> anyhow::Result<Answer> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut C::command(), "oncehook", &mut script);
    crate::output::text(&String::from_utf8_lossy(&script));
    Ok(Answer::Yes)
}
