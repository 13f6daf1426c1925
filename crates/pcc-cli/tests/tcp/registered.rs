//! The controllers are there as long as their loader.

use crate::command::is_available;
use crate::support::loaded;
use pcc_tcp::kernel::{Controller, Error, load};

#[test]
fn the_controllers_are_there_until_they_are_unloaded() {
    let Some(mut loaded) = loaded() else { return };
    assert!(Controller::ALL.into_iter().all(|controller| is_available(controller.name())));
    let again = load(&[Controller::Vivace]).err();
    assert!(matches!(again, Some(Error::Taken { controller: Controller::Vivace, .. })), "{again:?}");
    loaded.unload();
    assert!(!Controller::ALL.into_iter().any(|controller| is_available(controller.name())));
}
