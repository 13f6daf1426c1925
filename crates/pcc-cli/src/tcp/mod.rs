//! `pcc tcp`: PCC for the TCP of this machine's kernel.

mod load;
mod top;

use pcc_tcp::kernel::Controller;
use std::process::ExitCode;

/// PCC for the TCP of this machine's kernel: any program's connections, without changing the program.
#[derive(clap::Subcommand)]
pub enum Command {
    Load(load::Args),
    Top(top::Args),
}

/// Runs a subcommand.
pub fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Load(args) => load::run(&args),
        Command::Top(args) => top::run(&args),
    };
    done.unwrap_or_else(|error: anyhow::Error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Reads a profile from the command line.
fn profile(name: &str) -> Result<Controller, String> {
    name.parse().map_err(|error: pcc_tcp::kernel::UnknownController| error.to_string())
}
