//! `pcc tcp exec`: one program under PCC.

use super::profiles::{known_profiles, profile};
use anyhow::Context;
use pcc_emulator::host::program::{self, Handover};
use pcc_tcp::kernel::{Controller, Scope};
use std::ffi::OsString;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  sudo pcc tcp exec -- rsync big host:                                     with the ssh that it starts
  sudo pcc tcp exec -- curl -T big https://host/
  sudo pcc tcp exec -- iperf3 -c host
  sudo pcc tcp exec --profile vivace-loss -- python3 -m http.server        what clients fetch

Exit code:
  that of the command: 128 + n for signal n, 127 for a command that isn't there, 126 for one that can't be run;
  2 for a wrong command line, 1 when PCC can't be had";

/// Runs a command with its TCP connections under PCC, and nothing else.
///
/// The command, and all that it starts, gets PCC for each connection that it makes or accepts, whatever it would choose itself before.
/// That is for what it sends: how fast something comes in is up to who sends it. This needs root; the command runs as the user who
/// called sudo, doas or pkexec, in the same directory, terminal and network.
///
/// The profile's controller is registered with the kernel while it is needed, if it isn't already (see `pcc tcp load`). Several such
/// commands at a time share it; it goes with the last. Daemons that the command leaves behind, and the command itself should pcc be killed,
/// go on: their connections keep PCC, new ones get what is usual on this machine.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[arg(long, value_parser = profile, help = format!("The profile: {}", known_profiles()), default_value = Controller::Vivace.profile())]
    profile: Controller,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command under PCC, and gives its exit code.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let scope = Scope::enter(args.profile)?;
    let handover = Handover::begin().context("can't hold signals back")?;
    let code = program::run(&args.command).context("can't run a program")?;
    drop(handover);
    let left = scope.others();
    if left > 0 {
        eprintln!("pcc: processes left behind: {left}; their new connections are not under PCC");
    }
    Ok(ExitCode::from(code))
}
