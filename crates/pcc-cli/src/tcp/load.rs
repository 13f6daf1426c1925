//! `pcc tcp load`: registers the controllers.

use super::profile;
use pcc_tcp::kernel::{Controller, load, pin};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

const EXAMPLES: &str = "\
Examples:
  sudo pcc tcp load --pin                        until `pcc tcp unload` or a restart of the machine
  sudo pcc tcp load --profile vivace-loss        until Ctrl-C";

/// Registers PCC as congestion controls of the kernel: pcc_vivace, pcc_vivaceloss and pcc_allegro.
///
/// No connection uses them by this alone: see `pcc tcp exec` and `pcc tcp default`. They are there for all programs of
/// the machine until this command ends, or with --pin until `pcc tcp unload`. Connections that use one keep it until they end.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Register this profile only: vivace-latency, vivace-loss or allegro; can be given again.
    #[arg(long, value_parser = profile)]
    profile: Vec<Controller>,
    /// Let them stay when this command ends.
    #[arg(long)]
    pin: bool,
}

/// Registers them, and waits for a signal to end unless they are to stay.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let controllers = if args.profile.is_empty() { Controller::ALL.to_vec() } else { args.profile.clone() };
    let registered = load(&controllers)?;
    let names = controllers.iter().map(|controller| controller.name()).collect::<Vec<_>>().join(", ");
    if args.pin {
        pin(registered)?;
        eprintln!("registered until `pcc tcp unload`: {names}");
    } else {
        eprintln!("registered until Ctrl-C: {names}");
        wait()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits for SIGINT or SIGTERM.
fn wait() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Ok(())
    })
}
