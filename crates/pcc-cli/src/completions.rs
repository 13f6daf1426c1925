//! `pcc completions`: what a shell needs to complete command lines.

use crate::output::show;
use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use pcc_lab::controller;
use pcc_quic::Algorithm;
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

/// The same with the names of controllers as what its options for them take: what reads them there takes aliases too, and so
/// tells no shell what there is.
fn with_controllers(command: Command) -> Command {
    let of_lab = command.get_name() == "gauntlet";
    let names: Vec<&'static str> =
        if of_lab { controller::names().collect() } else { Algorithm::all().map(Algorithm::name).collect() };
    let command = command.mut_args(|arg| match arg.get_long() {
        Some("controller" | "controllers") => arg.value_parser(PossibleValuesParser::new(&names)),
        _ => arg,
    });
    command.mut_subcommands(with_controllers)
}

/// Prints the script.
pub fn run(args: &Args, shown: &Command) -> anyhow::Result<ExitCode> {
    let name = shown.get_name().to_owned();
    // Hidden subcommands would be completed too.
    let public = shown.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).cloned();
    let public = public.map(with_controllers);
    let mut shown = Command::new(name.clone()).version(env!("CARGO_PKG_VERSION")).subcommands(public);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown, name, &mut script);
    show(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn controllers_are_completed() {
        let mut command = with_controllers(crate::Cli::command());
        let mut script = Vec::new();
        clap_complete::generate(Shell::Bash, &mut command, "pcc", &mut script);
        let script = String::from_utf8(script).unwrap();
        let after = |option: &str, name: &str| {
            let case = format!("                {option})\n");
            let mut words = script.split(&case).skip(1).map(|rest| rest.lines().next().unwrap_or_default());
            script.contains(&case) && words.all(|line| line.contains("compgen -W") && line.contains(name))
        };
        assert!(after("--controller", "queue-target"));
        assert!(after("--controllers", "copa"));
    }
}
