//! `pcc tcp default`: the controller of programs that don't choose one.

use super::namespaces::Place;
use super::profiles::known_profiles;
use super::route::{Prefix, set_controller};
use crate::output::show;
use pcc_tcp::kernel::{Controller, Holder, available, holders};
use std::io::ErrorKind;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  sudo pcc tcp default                                    pcc_vivace for all new connections of this network namespace
  sudo pcc tcp default cubic                              back
  sudo pcc tcp default vivace-loss --netns web            in a namespace of `ip netns`
  sudo pcc tcp default --route 203.0.113.0/24             for destinations of one route
  sudo pcc tcp default none --route 203.0.113.0/24        back

Exit code:
  0 when it is set, 1 when it can't be, 2 for a wrong command line";

/// Sets the congestion control of new connections whose programs don't choose one.
///
/// It holds for a network namespace until a restart of the machine, or for a route as long as that is there. Connections
/// that exist keep theirs. The command that brings the old one back is printed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[arg(
        value_name = "CONTROLLER",
        help = format!(
            "A profile ({}), or any congestion control that the kernel has; with --route also none, for that of the namespace",
            known_profiles()
        ),
        default_value = Controller::Vivace.name()
    )]
    controller: String,
    /// The network namespace, as `ip netns` calls it [default: this one].
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
    /// Only for destinations of this route, as `ip route` shows it: 10.0.0.0/8, 2001:db8::/32, default, ::/0.
    #[arg(long, value_name = "PREFIX")]
    route: Option<Prefix>,
}

/// Sets the default of a network namespace or a route, and prints the command that undoes it.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let place = args.netns.as_deref().map_or_else(|| Ok(Place::here()), Place::named)?;
    let controller = match args.controller.parse::<Controller>() {
        Ok(controller) => controller.name(),
        Err(_) => &args.controller,
    };
    let done = match args.route {
        Some(prefix) => {
            let wanted = Some(controller).filter(|name| *name != "none");
            place.run(|| set_controller(prefix, wanted)).map(|before| before.unwrap_or_else(|| "none".to_owned()))
        }
        None => place.default().and_then(|before| place.set_default(controller).map(|()| before)),
    };
    let before = done.map_err(|error| explained(error, controller))?;
    let (what, undo) = match args.route {
        Some(prefix) => (format!("route {prefix} of {place}"), format!("{} --route {prefix}", place.command(&before))),
        None => (place.to_string(), place.command(&before)),
    };
    show(&format!("{what}: {controller}, was {before}\nback: {undo}\n"))?;
    warn(controller);
    Ok(ExitCode::SUCCESS)
}

/// What to do about it, where the kernel only gave a number.
fn explained(error: anyhow::Error, controller: &str) -> anyhow::Error {
    let Some(cause) = error.downcast_ref::<std::io::Error>() else { return error };
    if cause.kind() == ErrorKind::PermissionDenied {
        return error.context("setting a default needs root (sudo)");
    }
    let available = available();
    if available.iter().any(|name| name == controller) {
        return error;
    }
    match controller.parse::<Controller>() {
        Ok(ours) => anyhow::anyhow!("{ours} is not registered: first, sudo pcc tcp load --pin"),
        Err(_) => {
            anyhow::anyhow!("this kernel has no congestion control `{controller}`; it has {}", available.join(", "))
        }
    }
}

/// Says when the controller won't stay.
fn warn(controller: &str) {
    let Ok(controller) = controller.parse::<Controller>() else { return };
    if let Some(Holder::Process { id, name }) = holders().remove(&controller) {
        eprintln!(
            "warning: {controller} isn't pinned. When process {id} ({name}) ends, routes go back to the default of \
             their namespace, and a namespace keeps the ended version until its default is set again"
        );
    }
}
