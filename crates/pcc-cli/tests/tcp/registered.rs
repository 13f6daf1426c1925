//! The controllers are there as long as their loader.

use crate::support::loaded;
use pcc_tcp::kernel::{Controller, Error, load};

fn available(controller: Controller) -> bool {
    let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("controllers");
    names.split_whitespace().any(|name| name == controller.name())
}

#[test]
fn the_controllers_are_there_until_they_are_unloaded() {
    let Some(mut loaded) = loaded() else { return };
    assert!(Controller::ALL.into_iter().all(available));
    let again = load(&[Controller::Vivace]).err();
    assert!(matches!(again, Some(Error::Taken { controller: Controller::Vivace, .. })), "{again:?}");
    loaded.unload();
    assert!(!Controller::ALL.into_iter().any(available));
}
