//! Links of others: what the library only makes, or opens where they are pinned.

use super::{Controller, Error};
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo};
use libbpf_rs::{Link, MapCore, MapHandle, MapMut, libbpf_sys};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// The link that keeps a controller registered, whoever made it.
pub fn link(controller: Controller) -> Option<OwnedFd> {
    LinkInfoIter::default().find_map(|link| match link.info {
        LinkTypeInfo::StructOps(info) if is_of(controller, info.map_id) => open(link.id),
        _ => None,
    })
}

/// Whether a map has the programs of this controller. Such maps have its name.
fn is_of(controller: Controller, map: u32) -> bool {
    MapHandle::from_map_id(map).is_ok_and(|map| map.name() == controller.name())
}

fn open(id: u32) -> Option<OwnedFd> {
    // SAFETY: it takes a number and returns a descriptor of our own, or a negative error.
    match unsafe { libbpf_sys::bpf_link_get_fd_by_id(id) } {
        // SAFETY: it is open, and nobody else has it.
        file @ 0.. => Some(unsafe { OwnedFd::from_raw_fd(file) }),
        _ => None,
    }
}

/// Puts the programs of `map` at a link, in the place of those that are there.
pub fn update(link: &Link, map: &MapMut<'_>) -> Result<(), Error> {
    let (link, map) = (link.as_fd().as_raw_fd(), map.as_fd().as_raw_fd());
    // SAFETY: both descriptors are open, and no options means the default ones.
    match unsafe { libbpf_sys::bpf_link_update(link, map, ptr::null()) } {
        0.. => Ok(()),
        code => Err(Error::bpf("replacing the programs")(libbpf_rs::Error::from_raw_os_error(-code))),
    }
}
