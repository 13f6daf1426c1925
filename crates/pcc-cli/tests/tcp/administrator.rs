//! `pcc tcp load`, `unload` and `status` as administrators use them.

use crate::command::{Named, as_user, is_available, loader, machine, machine_that_pins, status, tcp};
use pcc_tcp::kernel::{Controller, pinned};
use rustix::net::sockopt::set_tcp_congestion;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// How many of the controllers the kernel has.
fn registered() -> usize {
    Controller::ALL.into_iter().filter(|controller| is_available(controller.name())).count()
}

#[test]
fn pinned_controllers_stay_until_they_are_unloaded() {
    let Some(_machine) = machine_that_pins() else { return };
    tcp(&["status"], 1);
    tcp(&["load", "--pin", "--profile", "allegro"], 0);
    let allegro = status("pcc_allegro");
    assert_eq!((&allegro["registered"], &allegro["pinned"]), (&true.into(), &true.into()), "{allegro}");
    tcp(&["status"], 0);
    // The others come to it, and what is there stays.
    let again = tcp(&["load", "--pin"], 0).stderr();
    assert!(again.contains("unload`: pcc_vivace, pcc_vivaceloss") && again.contains("): pcc_allegro"), "{again}");
    assert_eq!((registered(), status("pcc_allegro")), (3, allegro));
    let taken = tcp(&["load"], 1).stderr();
    assert!(taken.contains("pcc_vivace is registered already: it is pinned"), "{taken}");
    let gone = tcp(&["unload", "--profile", "allegro"], 0).stderr();
    assert_eq!((gone.as_str(), registered()), ("unregistered: pcc_allegro\n", 2));
    tcp(&["unload"], 0);
    assert_eq!((registered(), pinned()), (0, vec![]));
    let nothing = tcp(&["unload"], 0).stderr();
    assert!(nothing.contains("nothing to unload"), "{nothing}");
}

#[test]
fn new_programs_take_the_place_of_old_ones_under_live_connections() {
    let Some(_machine) = machine_that_pins() else { return };
    tcp(&["load", "--pin"], 0);
    let host = Named::new();
    tcp(&["default", "--netns", &host.name], 0);
    let mut old = host.connect();
    old.works();
    let replacing = tcp(&["load", "--pin", "--replace", "--profile", "vivace-latency"], 0);
    assert!(replacing.stderr().starts_with("replaced"), "{}", replacing.stderr());
    let mut new = host.connect();
    for connection in [&mut old, &mut new] {
        connection.works();
        assert_eq!(connection.controller(), "pcc_vivace");
    }
    let vivace = status("pcc_vivace");
    assert_eq!((&vivace["pinned"], &vivace["old_versions"]), (&true.into(), &1.into()), "{vivace}");
    assert_eq!(status("pcc_allegro")["old_versions"], 0);
    // Nothing else keeps the old ones, the default of the namespace in particular.
    drop(old);
    replacing.until("end", || (status("pcc_vivace")["old_versions"] == 0).then_some(()));
    new.works();
}

#[test]
fn a_loader_that_is_killed_takes_its_controllers_along_but_not_the_connections() {
    let Some(_machine) = machine() else { return };
    let loader = loader(&["allegro"]);
    let host = Named::new();
    let mut connection = host.connect();
    set_tcp_congestion(&connection.client, "pcc_allegro").expect("the controller");
    connection.works();
    loader.kill();
    assert!(!is_available("pcc_allegro"));
    connection.works();
    assert_eq!(connection.controller(), "pcc_allegro");
    let allegro = status("pcc_allegro");
    assert_eq!((&allegro["registered"], &allegro["connections"]), (&false.into(), &1.into()), "{allegro}");
}

#[test]
fn a_name_that_a_process_has_is_left_to_it() {
    let Some(_machine) = machine() else { return };
    let loader = loader(&["allegro"]);
    let process = status("pcc_allegro")["process"].as_u64().expect("a process");
    for (command, said) in [
        (&["load"][..], "pcc_allegro is registered already"),
        (&["load", "--pin"], "pcc_allegro is registered already"),
        (&["load", "--pin", "--replace"], "pcc_allegro is registered already"),
        (&["unload"], "pcc_allegro stays registered"),
    ] {
        let refused = tcp(command, 1).stderr();
        assert!(refused.contains(&format!("{said}: process {process} (pcc)")), "{refused}");
        // Nothing is half done.
        assert_eq!((registered(), pinned()), (1, vec![]), "{command:?}");
    }
    loader.interrupt();
    loader.until("end", || (registered() == 0).then_some(()));
}

#[test]
fn two_profiles_work_at_once() {
    let Some(_machine) = machine() else { return };
    let _loader = loader(&["vivace-latency", "vivace-loss"]);
    assert!(!is_available("pcc_allegro"));
    let host = Named::new();
    let mut connections = ["pcc_vivace", "pcc_vivaceloss"].map(|controller| {
        let connection = host.connect();
        set_tcp_congestion(&connection.client, controller).expect(controller);
        (controller, connection)
    });
    for (controller, connection) in &mut connections {
        connection.works();
        assert_eq!(connection.controller(), *controller);
        assert_eq!(status(controller)["connections"], 1);
    }
}

#[test]
fn other_users_are_told_what_it_needs() {
    let Some(_machine) = machine_that_pins() else { return };
    let refused = |arguments: &[&str], said: &str| {
        let Some(mut command) = as_user(arguments) else { return };
        command.exits(1);
        assert!(command.stderr().contains(said), "{}", command.stderr());
        assert_eq!(command.stderr().lines().count(), 1, "{}", command.stderr());
    };
    refused(&["load"], "needs root");
    refused(&["default", "cubic"], "needs root");
    tcp(&["load", "--pin", "--profile", "allegro"], 0);
    // systemd and `pcc` mount the BPF filesystem for root only; elsewhere others see the pin, and can't remove it.
    let is_private = fs::metadata("/sys/fs/bpf").is_ok_and(|folder| folder.mode() & 0o077 == 0);
    refused(&["unload"], if is_private { "only root can see what keeps it" } else { "Permission denied" });
    if let Some(mut status) = as_user(&["status"]) {
        status.exits(0);
    }
    assert_eq!(registered(), 1);
}
