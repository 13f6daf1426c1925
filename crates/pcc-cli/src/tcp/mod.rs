//! `pcc tcp`: PCC for the TCP of this machine's kernel.

mod connections;
mod default;
mod exec;
mod load;
mod namespaces;
mod netlink;
mod route;
mod status;
mod top;
mod unload;

use pcc_tcp::kernel::Controller;
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
pub fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Exec(args) => exec::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Unload(args) => unload::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Default(args) => default::run(&args),
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

/// The names of the profiles that the kernel can have, for help.
fn known_profiles() -> String {
    Controller::ALL.map(Controller::profile).join(", ")
}

/// The controllers of these profiles, each once; all of them where none is named.
fn controllers(profiles: &[Controller]) -> Vec<Controller> {
    Controller::ALL.into_iter().filter(|controller| profiles.is_empty() || profiles.contains(controller)).collect()
}

fn names(controllers: &[Controller]) -> String {
    controllers.iter().map(|controller| controller.name()).collect::<Vec<_>>().join(", ")
}
