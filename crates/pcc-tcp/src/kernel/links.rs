//! Links of others: what the library only makes, or opens where they are pinned.

use super::Controller;
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo};
use libbpf_rs::{MapCore, MapHandle, libbpf_sys};
use std::os::fd::{FromRawFd, OwnedFd};

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
