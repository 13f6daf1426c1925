//! Other programs at a link that exists: what the library does only for links that it made itself.

use super::Error;
use libbpf_rs::{Link, MapMut, libbpf_sys};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

/// Puts the programs of `map` at `link`, atomically.
pub fn update(link: &Link, map: &MapMut<'_>) -> Result<(), Error> {
    let (link, map) = (link.as_fd().as_raw_fd(), map.as_fd().as_raw_fd());
    // SAFETY: both descriptors are open, and no options means the default ones.
    match unsafe { libbpf_sys::bpf_link_update(link, map, ptr::null()) } {
        0.. => Ok(()),
        code => Err(Error::bpf("replacing the programs")(libbpf_rs::Error::from_raw_os_error(-code))),
    }
}
