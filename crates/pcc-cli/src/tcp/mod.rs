//! `pcc tcp`: PCC for the TCP of this machine's kernel.

mod before;
mod connections;
mod default;
mod exec;
mod load;
mod namespaces;
mod profiles;
mod route;
mod status;
mod top;
mod unload;

use std::process::ExitCode;

/// PCC for the TCP of this machine's kernel: any program's connections, without changing the program.
#[derive(clap::Subcommand)]
pub enum Command {
    Exec(exec::Args),
    Load(load::Args),
    Unload(unload::Args),
    Status(status::Args),
    Default(default::Args),
    Top(top::Args),
}

/// Runs a subcommand.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Exec(args) => exec::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Unload(args) => unload::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Default(args) => default::run(&args),
        Command::Top(args) => top::run(&args),
    }
}
