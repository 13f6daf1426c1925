//! `pcc lab`: experiments in virtual time and on real traffic, and programs behind emulated paths.

mod compare;
mod figures;
mod gauntlet;
mod machine;
mod outputs;
mod plots;
mod progress;
mod run;
mod selection;
mod shell;
mod tune;

use std::process::ExitCode;

/// Experiments with congestion controllers: in virtual time, where the same seed gives the same result, or on real traffic.
#[derive(clap::Subcommand)]
pub enum Command {
    Run(run::Args),
    Compare(compare::Args),
    Figures(figures::Args),
    Gauntlet(gauntlet::Args),
    Tune(tune::Args),
    Shell(shell::Args),
}

/// Runs a subcommand.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Figures(args) => figures::run(&args),
        Command::Gauntlet(args) => gauntlet::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Shell(args) => shell::run(&args),
    }
}
