//! The command `pcc`: moves data over bad paths with PCC congestion control.
//!
//! A subcommand is a module with its arguments and a function that runs them. A new one needs its own file, and here a
//! `mod`, a variant of [`Command`] and a line in [`run`].

mod demo;
mod exit;
mod lab;
mod output;
mod progress;
mod signals;
#[cfg(feature = "tcp")]
mod tcp;
#[cfg(not(feature = "tcp"))]
#[path = "tcp/absent.rs"]
mod tcp;
mod transfer;

use clap::{Parser, Subcommand};
use pcc_emulator::host::guard::guard;
use std::ffi::OsString;
use std::process::ExitCode;

/// Moves data over long, lossy or shallow-buffered paths with PCC congestion control.
#[derive(Parser)]
#[command(name = "pcc", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    #[command(subcommand)]
    Lab(lab::Command),
    #[cfg_attr(feature = "tcp", command(subcommand))]
    Tcp(tcp::Command),
    Send(transfer::SendArgs),
    Recv(transfer::RecvArgs),
    /// What the lab runs programs under.
    #[command(hide = true)]
    Guard {
        parent: u32,
        files: u64,
        #[arg(last = true, required = true)]
        program: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    exit::code(run(Cli::parse().command))
}

/// Runs a subcommand.
fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Lab(command) => lab::run(command),
        Command::Tcp(command) => tcp::run(command),
        Command::Send(args) => transfer::send(args),
        Command::Recv(args) => transfer::recv(args),
        Command::Guard { parent, files, program } => Ok(ExitCode::from(guard(parent, files, &program))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
