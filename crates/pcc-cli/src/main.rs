//! The command `pcc`: moves data over bad paths with PCC congestion control.

mod demo;
mod lab;
mod output;
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
    match Cli::parse().command {
        Command::Demo(args) => demo::run(args),
        Command::Lab(command) => lab::run(command),
        Command::Tcp(command) => tcp::run(command),
        Command::Send(args) => transfer::send(args),
        Command::Recv(args) => transfer::recv(args),
        Command::Guard { parent, files, program } => ExitCode::from(guard(parent, files, &program)),
    }
}
