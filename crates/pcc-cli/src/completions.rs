//! `pcc completions`: what a shell needs to complete command lines.

use crate::output::show;
use clap::Command;
use clap_complete::Shell;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  pcc completions bash > ~/.local/share/bash-completion/completions/pcc
  pcc completions zsh > ~/.zfunc/_pcc                 with ~/.zfunc in fpath before compinit
  pcc completions fish > ~/.config/fish/completions/pcc.fish";

/// Prints a script with which a shell completes command lines of pcc.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &Args, shown: &Command) -> anyhow::Result<ExitCode> {
    let name = shown.get_name().to_owned();
    // Hidden subcommands would be completed too.
    let public = shown.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).cloned();
    let mut shown = Command::new(name.clone()).version(env!("CARGO_PKG_VERSION")).subcommands(public);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown, name, &mut script);
    show(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
