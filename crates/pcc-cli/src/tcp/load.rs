//! `pcc tcp load`: registers the controllers.

use super::namespaces::everywhere;
use super::profiles::{controllers, known_profiles, names, profile};
use crate::signals::Signals;
use pcc_tcp::kernel::{Controller, load, pin, pinned, replace};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  sudo pcc tcp load --pin                        until `pcc tcp unload` or a restart of the machine
  sudo pcc tcp load --pin --replace              after an update of pcc
  sudo pcc tcp load --profile vivace-loss        until Ctrl-C

Exit code:
  0 when they are registered, with --pin also when they were pinned before; 1 when one can't be, and then no other is
  either; 2 for a wrong command line";

/// Registers PCC as congestion controls of the kernel (`pcc tcp status` names them).
///
/// No connection uses them by this alone: see `pcc tcp exec` and `pcc tcp default`. They are there for all programs of
/// the machine until this command ends, or with --pin until `pcc tcp unload`. Connections that use one keep it until they end.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[arg(
        long,
        value_parser = profile,
        help = format!("Register this profile only; can be given again: {}", known_profiles())
    )]
    profile: Vec<Controller>,
    /// Let them stay when this command ends; those that are pinned already stay as they are.
    #[arg(long)]
    pin: bool,
    /// Put the programs of this pcc in the place of pinned ones; connections keep the old ones until they end.
    #[arg(long, requires = "pin")]
    replace: bool,
}

/// Registers them, and waits for a signal to end unless they are to stay.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let controllers = controllers(&args.profile);
    if args.pin {
        stay(&controllers, args.replace)?;
    } else {
        let _registered = load(&controllers)?;
        eprintln!("registered until Ctrl-C: {}", names(&controllers));
        wait()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Sees to it that they are pinned; those that are already get the programs of this build if `new`.
fn stay(controllers: &[Controller], new: bool) -> anyhow::Result<()> {
    let pinned = pinned();
    let (there, missing): (Vec<_>, Vec<_>) = controllers.iter().partition(|controller| pinned.contains(controller));
    // Before anything stays.
    let registered = (!missing.is_empty()).then(|| load(&missing)).transpose()?;
    match (there.is_empty(), new) {
        (true, _) => {}
        (false, true) => {
            replace(&there)?;
            set_defaults_again(&there);
            eprintln!("replaced, but for connections that use the old programs until they end: {}", names(&there));
        }
        (false, false) => {
            eprintln!("pinned already, and left as they are (--replace takes this pcc's programs): {}", names(&there));
        }
    }
    if let Some(registered) = registered {
        pin(registered)?;
        eprintln!("registered until `pcc tcp unload`: {}", names(&missing));
    }
    Ok(())
}

/// A network namespace whose default one of them is would go on with the programs that it had.
fn set_defaults_again(controllers: &[Controller]) {
    for place in everywhere() {
        let Ok(default) = place.default() else { continue };
        if controllers.iter().any(|controller| controller.name() == default)
            && let Err(error) = place.set_default(&default)
        {
            eprintln!("warning: {place} goes on with the replaced programs: {error:#}");
        }
    }
}

/// Waits for SIGINT or SIGTERM.
fn wait() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        Signals::new()?.next().await;
        Ok(())
    })
}
