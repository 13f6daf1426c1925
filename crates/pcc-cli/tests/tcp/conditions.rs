//! Paths of many kinds.

use crate::path::{Hosts, link};
use crate::support::loaded;
use pcc::Rate;
use pcc_lab::link::{PathConfig, Reordering};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn loopback_is_fast_with_both_versions_of_ip() {
    let Some(_loaded) = loaded() else { return };
    for address in [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)] {
        for controller in ["pcc_vivace", "pcc_vivaceloss", "pcc_allegro"] {
            let hosts = Hosts::loopback(controller, address);
            let mut connection = hosts.connect();
            assert_eq!(connection.controller(), controller);
            connection.reach(Rate::from_mbps(20.0));
            connection.finish();
        }
    }
}

#[test]
fn a_satellite_carries_data() {
    let Some(_loaded) = loaded() else { return };
    let hosts = Hosts::new("pcc_vivace", link(42.0, 800 * MS));
    let mut connection = hosts.connect();
    connection.reach(Rate::from_mbps(1.0));
    connection.finish();
}

#[test]
fn reordering_is_not_the_end() {
    let Some(_loaded) = loaded() else { return };
    let reordering = Reordering { probability: 0.02, delay: 5 * MS };
    let hosts =
        Hosts::new("pcc_vivace", PathConfig { jitter: 3 * MS, reordering: Some(reordering), ..link(50.0, 20 * MS) });
    let mut connection = hosts.connect();
    connection.reach(Rate::from_mbps(5.0));
    connection.finish();
}

#[test]
fn a_socket_may_limit_its_rate() {
    let Some(_loaded) = loaded() else { return };
    let limit = Rate::from_mbps(10.0);
    let hosts = Hosts::new("pcc_vivace", link(50.0, 20 * MS));
    let mut connection = hosts.connect();
    connection.limit(limit);
    connection.reach(Rate::from_mbps(5.0));
    assert!(connection.rate() <= limit, "{}", connection.rate());
    connection.finish();
}
