//! `pcc tcp unload`: unregisters pinned controllers.

use super::before::Before;
use super::connections;
use super::namespaces::everywhere;
use super::profiles::{controllers, known_profiles, names, profile};
use pcc_tcp::kernel::{Controller, Error, holders, pinned, unpin};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  sudo pcc tcp unload
  sudo pcc tcp unload --profile allegro-2015

Exit code:
  0 when none of them is registered any more, 1 when one stays, 2 for a wrong command line";

/// Unregisters what `pcc tcp load --pin` registered.
///
/// Connections that use one of them keep it until they end. So does a network namespace whose default it is, for new
/// connections too, until `pcc tcp default` sets another one: you are told. What a running `pcc tcp load` registered
/// ends with that command.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[arg(
        long,
        value_parser = profile,
        help = format!("Unregister this profile only; can be given again: {}", known_profiles())
    )]
    profile: Vec<Controller>,
}

/// Unregisters them, and says what still uses them.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (pinned, registered) = (pinned(), holders());
    let (mut gone, mut staying) = (Vec::new(), false);
    for controller in controllers(&args.profile) {
        let done = match registered.get(&controller) {
            _ if pinned.contains(&controller) => unpin(controller),
            Some(holder) => Err(Error::Kept { controller, holder: holder.clone() }),
            None => continue,
        };
        match done {
            Ok(()) => gone.push(controller),
            Err(error) => {
                eprintln!("error: {error}");
                staying = true;
            }
        }
    }
    match (gone.is_empty(), staying) {
        (true, true) => {}
        (true, false) => eprintln!("nothing to unload: none of them is registered"),
        (false, _) => eprintln!("unregistered: {}", names(&gone)),
    }
    tell_of_users(&gone);
    Ok(if staying { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Says who goes on with controllers that aren't registered any more.
fn tell_of_users(gone: &[Controller]) {
    let places = everywhere();
    let connections = connections::by_controller(&places);
    for controller in gone {
        for place in places.iter().filter(|place| place.default().is_ok_and(|default| default == controller.name())) {
            let kept = Before::of(place, None).ok().and_then(|before| before.get());
            eprintln!(
                "warning: {controller} is still the default of {place}, whose new connections use the unloaded \
                 programs, until: {}",
                place.command(&kept.unwrap_or_else(|| place.other_than_ours()))
            );
        }
        if let Some(count) = connections.get(controller.name()) {
            let (connections, they) =
                if *count == 1 { ("connection uses", "it ends") } else { ("connections use", "they end") };
            eprintln!("{count} {connections} {controller} until {they}");
        }
    }
}
