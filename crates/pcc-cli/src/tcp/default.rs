//! `pcc tcp default`: the controller of programs that don't choose one.

use super::before::Before;
use super::namespaces::Place;
use super::profiles::{is_ours, known_profiles};
use super::route::{Prefix, controller_of, set_controller};
use crate::called;
use crate::output::show;
use pcc_tcp::kernel::{Controller, Holder, available, holders};
use std::io::ErrorKind;
use std::process::ExitCode;

/// What a route has that leaves it to the default of its namespace.
const NONE: &str = "none";

const EXAMPLES: &str = "\
Examples:
  sudo pcc tcp default                                    pcc_vivace for all new connections of this network namespace
  sudo pcc tcp default --restore                          back to what it was before PCC
  sudo pcc tcp default vivace-loss --netns web            in a namespace of `ip netns`
  sudo pcc tcp default --route 203.0.113.0/24             for destinations of one route
  sudo pcc tcp default --restore --route 203.0.113.0/24   back

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
    /// Bring back what it was before PCC; nothing changes where it isn't PCC.
    #[arg(long, conflicts_with = "controller")]
    restore: bool,
}

/// Sets the default of a network namespace or a route, and prints the command that undoes it.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let place = args.netns.as_deref().map_or_else(|| Ok(Place::here()), Place::named)?;
    let kept = Before::of(&place, args.route)?;
    let what = args.route.map_or_else(|| place.to_string(), |prefix| format!("route {prefix} of {place}"));
    let controller = match args.controller.parse::<Controller>() {
        _ if args.restore => match before_ours(&place, args.route, &kept)? {
            Ok(controller) => controller,
            Err(other) => {
                show(&format!("{what}: {other}, which isn't PCC: nothing to bring back\n"))?;
                return Ok(ExitCode::SUCCESS);
            }
        },
        Ok(ours) => ours.name().to_owned(),
        Err(_) => args.controller.clone(),
    };
    let done = match args.route {
        Some(prefix) => {
            let wanted = Some(&*controller).filter(|name| *name != NONE);
            place.run(|| set_controller(prefix, wanted)).map(|before| before.unwrap_or_else(|| NONE.to_owned()))
        }
        None => place.default().and_then(|before| place.set_default(&controller).map(|()| before)),
    };
    let before = done.map_err(|error| explained(error, &controller, &place))?;
    if let Err(error) = kept.changed(&before, &controller) {
        eprintln!("warning: --restore won't know that it was {before}: {error:#}");
    }
    let back = way_back(&before, &controller, kept.get().or_else(|| args.route.map(|_| NONE.to_owned())));
    let undo = place.command(&back.unwrap_or_else(|| place.other_than_ours()));
    let undo = args.route.map_or_else(|| undo.clone(), |prefix| format!("{undo} --route {prefix}"));
    show(&format!("{what}: {controller}, was {before}\nback: {undo}\n"))?;
    warn(&controller);
    Ok(ExitCode::SUCCESS)
}

/// The controller from before PCC, or where nobody knows it one that will do; an error of the inner kind is the controller that there is
/// and isn't PCC.
fn before_ours(place: &Place, route: Option<Prefix>, kept: &Before) -> anyhow::Result<Result<String, String>> {
    let now = match route {
        Some(prefix) => place.run(|| controller_of(prefix))?.unwrap_or_else(|| NONE.to_owned()),
        None => place.default()?,
    };
    if !is_ours(&now) {
        return Ok(Err(now));
    }
    Ok(Ok(kept.get().unwrap_or_else(|| match route {
        Some(_) => NONE.to_owned(),
        None => place.other_than_ours(),
    })))
}

/// What to go back to after a change. From PCC to PCC that is what was before both, if it is known.
fn way_back(before: &str, controller: &str, kept: Option<String>) -> Option<String> {
    if is_ours(before) && is_ours(controller) { kept } else { Some(before.to_owned()) }
}

/// What to do about it, where the kernel only gave a number.
fn explained(error: anyhow::Error, controller: &str, place: &Place) -> anyhow::Error {
    let Some(cause) = error.downcast_ref::<std::io::Error>() else { return error };
    if cause.kind() == ErrorKind::PermissionDenied {
        return not_permitted(error, controller, place);
    }
    let available = available();
    if available.iter().any(|name| name == controller) {
        return error;
    }
    match controller.parse::<Controller>() {
        Ok(ours) => anyhow::anyhow!("{ours} is not registered: first, sudo {} tcp load --pin", called::name()),
        Err(_) => {
            anyhow::anyhow!("this kernel has no congestion control `{controller}`; it has {}", available.join(", "))
        }
    }
}

/// Why the kernel doesn't permit it.
fn not_permitted(error: anyhow::Error, controller: &str, place: &Place) -> anyhow::Error {
    if !rustix::process::geteuid().is_root() {
        return error.context("setting a default needs root (sudo)");
    }
    match place.allowed() {
        Ok(allowed) if !allowed.iter().any(|name| name == controller) => anyhow::anyhow!(
            "{controller} can't be the default of {place}, because net.ipv4.tcp_allowed_congestion_control allows only {allowed}; \
             choose one of these, or allow it, outside of containers and other network namespaces: \
             sudo sysctl -w net.ipv4.tcp_allowed_congestion_control=\"{allowed} {controller}\"",
            allowed = allowed.join(" ")
        ),
        _ => error.context(
            "this process is root, but may not set a default here, as in some containers; \
             do it as root of the machine, with --netns for another network namespace",
        ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_is_out_of_pcc() {
        let kept = Some("bbr".to_owned());
        for (before, controller, kept, back) in [
            ("cubic", "pcc_vivace", None, Some("cubic")),
            ("pcc_vivace", "pcc_vivace", kept.clone(), Some("bbr")),
            ("pcc_allegro", "pcc_vivace", kept.clone(), Some("bbr")),
            ("pcc_vivace", "pcc_allegro", None, None),
            ("pcc_vivace", "cubic", kept, Some("pcc_vivace")),
        ] {
            assert_eq!(way_back(before, controller, kept).as_deref(), back, "{before} {controller}");
        }
    }
}
