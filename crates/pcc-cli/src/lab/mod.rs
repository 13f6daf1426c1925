//! `pcc lab`: experiments in virtual time.

mod progress;
mod run;

use std::process::ExitCode;

/// Experiments with congestion controllers in virtual time: no network, no privileges, the same result for the same seed.
#[derive(clap::Subcommand)]
pub enum Command {
    Run(run::Args),
}

/// Runs a subcommand.
pub fn run(command: Command) -> ExitCode {
    match command {
        Command::Run(args) => run::run(&args),
    }
}
