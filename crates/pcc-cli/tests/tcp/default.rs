//! `pcc tcp default`.

use crate::command::{Named, is_available, loader, machine, machine_that_pins, tcp};
use crate::common::{Pcc, pcc};
use pcc_emulator::host::To;
use rustix::net::sockopt::tcp_congestion;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

/// Runs the command that a default's change printed as the way back.
fn go_back(changed: &Pcc) -> Pcc {
    let lines = changed.lines();
    let back = lines.iter().find_map(|line| line.strip_prefix("back: sudo pcc ")).expect("the way back");
    let mut done = pcc(&back.split(' ').collect::<Vec<_>>());
    done.exits(0);
    done
}

#[test]
fn the_default_of_a_namespace_changes_and_comes_back() {
    let Some(_machine) = machine() else { return };
    let host = Named::new();
    let before = host.default();
    let early = tcp(&["default", "--netns", &host.name], 1).stderr();
    assert!(early.contains("pcc_vivace is not registered: first, sudo pcc tcp load --pin"), "{early}");
    let loader = loader(&[]);
    let changed = tcp(&["default", "vivace-loss", "--netns", &host.name], 0);
    assert!(changed.lines()[0].ends_with(&format!("pcc_vivaceloss, was {before}")), "{:?}", changed.lines());
    assert!(changed.stderr().contains("pcc_vivaceloss isn't pinned"), "{}", changed.stderr());
    assert_eq!(host.connect().controller(), "pcc_vivaceloss");
    let changed_back = go_back(&changed);
    assert_eq!((host.default(), changed_back.stderr().as_str()), (before, ""));
    // And forth again.
    go_back(&changed_back);
    assert_eq!(host.default(), "pcc_vivaceloss");
    drop(loader);
}

#[test]
fn what_was_before_is_known_however_often_it_is_set() {
    let Some(_machine) = machine() else { return };
    let _loader = loader(&[]);
    let host = Named::new();
    let of_host = |arguments: &[&str]| tcp(&[&["default", "--netns", &host.name], arguments].concat(), 0);
    of_host(&["reno"]);
    for controller in ["vivace-latency", "vivace-latency", "allegro"] {
        let changed = of_host(&[controller]);
        assert_eq!(changed.lines()[1], format!("back: sudo pcc tcp default reno --netns {}", host.name));
    }
    let restored = of_host(&["--restore"]);
    assert!(restored.lines()[0].ends_with(": reno, was pcc_allegro"), "{:?}", restored.lines());
    assert_eq!(host.default(), "reno");
    let again = of_host(&["--restore"]);
    assert!(again.lines()[0].ends_with("reno, which isn't PCC: nothing to bring back"), "{:?}", again.lines());
    tcp(&["default", "allegro", "--restore"], 2);
}

#[test]
fn what_isnt_allowed_in_a_namespace_says_so() {
    let Some(_machine) = machine() else { return };
    let host = Named::new();
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control")).unwrap();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let allowed = host.namespace.run(|| Ok(read("allowed"))).unwrap();
    let Some(other) = read("available").into_iter().find(|name| !allowed.contains(name)) else {
        return println!("skipped: all controllers of this machine are allowed");
    };
    let refused = tcp(&["default", &other, "--netns", &host.name], 1).stderr();
    let expected = format!("allows only {}; choose one of these", allowed.join(" "));
    assert!(refused.contains(&expected) && !refused.contains("needs root"), "{refused}");
}

#[test]
fn unloading_tells_whose_default_it_still_is() {
    let Some(_machine) = machine_that_pins() else { return };
    tcp(&["load", "--pin"], 0);
    let host = Named::new();
    let before = host.default();
    tcp(&["default", "allegro", "--netns", &host.name], 0);
    let mut connection = host.connect();
    let unloaded = tcp(&["unload"], 0).stderr();
    assert!(unloaded.contains(&format!("sudo pcc tcp default {before} --netns {}", host.name)), "{unloaded}");
    assert!(unloaded.contains("2 connections use pcc_allegro"), "{unloaded}");
    assert!(!is_available("pcc_allegro"));
    connection.works();
    tcp(&["default", "reno", "--netns", &host.name], 0);
    assert_eq!(host.connect().controller(), "reno");
}

/// The controller of a connection to this address, from the first packet on.
fn controller_towards(host: &Named, address: SocketAddr) -> String {
    let controller = || {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None).expect("a socket");
        // It will never be connected.
        let _ = connect(&socket, &address);
        tcp_congestion(&socket).expect("a controller")
    };
    host.namespace.run(|| Ok(controller())).expect("the namespace")
}

#[test]
fn a_route_has_a_controller_of_its_own() {
    let Some(_machine) = machine() else { return };
    let _loader = loader(&[]);
    let host = Named::new();
    let network = To { network: Ipv4Addr::new(10, 99, 0, 0), prefix: 16, source: None };
    host.namespace.attach("lo", &[], &[network]).expect("a route");
    let (inside, before) = (SocketAddr::from(([10, 99, 1, 1], 9)), host.default());
    let on_route = |controller: &[&str]| {
        tcp(&[&["default", "--netns", &host.name, "--route", "10.99.0.0/16"], controller].concat(), 0)
    };
    let changed = on_route(&[]);
    assert_eq!((controller_towards(&host, inside), host.default()), ("pcc_vivace".to_owned(), before.clone()));
    on_route(&["allegro"]);
    assert_eq!(controller_towards(&host, inside), "pcc_allegro");
    go_back(&changed);
    assert_eq!(controller_towards(&host, inside), before);
    for (controller, route, said) in [
        ("allegro", "10.99.0.0/17", "there is no route to 10.99.0.0/17"),
        ("no_such", "10.99.0.0/16", "no congestion control `no_such`"),
    ] {
        let refused = tcp(&["default", controller, "--netns", &host.name, "--route", route], 1).stderr();
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn a_route_of_ipv6_has_one_too() {
    let Some(_machine) = machine() else { return };
    let host = Named::new();
    // Namespaces of the lab have IPv6 off.
    if let Err(error) = host.namespace.set("net.ipv6.conf.all.disable_ipv6", "0") {
        return println!("skipped: {error}");
    }
    let ip = |arguments: &[&str]| Command::new("ip").args(arguments).status().is_ok_and(|status| status.success());
    let added = ["-6", "route", "add", "2001:db8::/32", "dev", "lo"];
    if !host.namespace.run(|| Ok(ip(&added))).expect("the namespace") {
        return println!("skipped: there is no program `ip`, or no IPv6");
    }
    let changed = tcp(&["default", "reno", "--netns", &host.name, "--route", "2001:db8::/32"], 0);
    let inside = SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 9));
    assert_eq!(controller_towards(&host, inside), "reno");
    go_back(&changed);
    assert_eq!(controller_towards(&host, inside), host.default());
}

#[test]
fn wrong_arguments_say_what_would_be_right() {
    let Some(_machine) = machine() else { return };
    let host = Named::new();
    for (arguments, code, said) in [
        (&["default", "--netns", "no-such"][..], 1, host.name.as_str()),
        (&["default", "no_such"], 1, "it has "),
        (&["default", "--route", "10.0.0.0/33"], 2, "such as 10.0.0.0/8"),
        (&["load", "--profile", "no-such"], 2, "vivace-latency, vivace-loss"),
        (&["load", "--replace"], 2, "--pin"),
    ] {
        let refused = tcp(arguments, code).stderr();
        assert!(refused.contains(said), "{arguments:?}: {refused}");
    }
}
