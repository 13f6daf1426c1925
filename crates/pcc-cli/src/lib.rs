//! The command `pcc`: moves data over bad paths with PCC congestion control.
//!
//! A subcommand is a module with its arguments and a function that runs them. A new one needs its own file, and here a
//! `mod`, a variant of `Command` and a line in `run`; help, completions and manual pages follow from these.
//!
//! It is a library, of which the program is one line, because cargo compiles libraries beside those they use.

mod borrowed;
mod called;
mod completions;
mod demo;
mod drain;
mod exit;
mod failure;
mod folders;
mod get;
mod http3;
mod lab;
mod man;
mod memory;
mod metrics;
mod netlink;
mod output;
mod peer;
mod progress;
mod proxy;
mod qlog;
mod reassembly;
mod runtime;
mod same_file;
mod seconds;
mod sending;
mod serve;
mod signals;
#[cfg(test)]
mod simulation;
#[cfg(feature = "tcp")]
mod tcp;
#[cfg(not(feature = "tcp"))]
#[path = "tcp/absent.rs"]
mod tcp;
mod transfer;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use pcc_emulator::host::guard::guard;
use std::ffi::OsString;
use std::process::ExitCode;

/// Moves data over long, lossy or shallow-buffered paths with PCC congestion control.
#[derive(Parser)]
#[command(name = called::NAME, version, about)]
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
    #[command(subcommand)]
    Proxy(proxy::Command),
    Serve(serve::Args),
    Get(get::Args),
    Completions(completions::Args),
    Man(man::Args),
    /// What the lab runs programs under.
    #[command(hide = true)]
    Guard {
        parent: u32,
        files: u64,
        #[arg(last = true, required = true)]
        program: Vec<OsString>,
    },
}

/// Runs what the command line asks for; the code with which the process should exit.
pub fn main() -> ExitCode {
    if let Err(error) = peer::asking::check_arguments(std::env::args_os()) {
        return exit::code(Err(error));
    }
    let mut shown = called::renamed(Cli::command(), &called::name());
    let cli = Cli::from_arg_matches(&shown.clone().get_matches());
    exit::code(run(cli.unwrap_or_else(|error| error.format(&mut shown).exit()).command, shown))
}

/// Runs a subcommand; `shown` is the whole command line as users see it.
fn run(command: Command, shown: clap::Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Lab(command) => lab::run(command),
        Command::Tcp(command) => tcp::run(command),
        Command::Send(args) => transfer::send(args),
        Command::Recv(args) => transfer::recv(args),
        Command::Proxy(command) => proxy::run(command),
        Command::Serve(args) => serve::run(args),
        Command::Get(args) => get::run(args),
        Command::Completions(args) => completions::run(&args, &shown),
        Command::Man(args) => man::run(&args, shown),
        Command::Guard { parent, files, program } => Ok(ExitCode::from(guard(parent, files, &program))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
