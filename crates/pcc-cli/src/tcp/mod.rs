//! `pcc tcp`: PCC for the TCP of this machine's kernel.

mod exec;
mod load;

use pcc_tcp::kernel::Controller;
use std::process::ExitCode;

/// PCC for the TCP of this machine's kernel: any program's connections, without changing the program.
#[derive(clap::Subcommand)]
pub enum Command {
    Exec(exec::Args),
    Load(load::Args),
}

/// Runs a subcommand.
pub fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Exec(args) => exec::run(&args),
        Command::Load(args) => load::run(&args),
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
