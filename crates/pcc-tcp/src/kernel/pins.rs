//! Controllers that stay when their loader ends: pinned in the BPF filesystem.

use super::holders::{PINS, holders, path};
use super::{Controller, Error, Holder, Registered, load};
use libbpf_rs::Link;
use rustix::fs::statfs;
use rustix::mount::{MountFlags, mount};
use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

const BPFFS: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC` of `linux/magic.h`.
const BPFFS_MAGIC: u64 = 0xcafe_4a11;

/// Lets the controllers stay when this process ends, until [`unpin`] or a restart of the machine.
///
/// Mounts the BPF filesystem where it isn't yet.
///
/// # Errors
///
/// When that filesystem can't be had, or a pin is there already; then none of them stays.
pub fn pin(mut registered: Registered) -> Result<(), Error> {
    mount_bpffs()?;
    fs::create_dir_all(PINS).map_err(Error::file(PINS))?;
    let pinned = registered.links.iter_mut().try_for_each(|(controller, link)| link.pin(path(*controller)));
    if pinned.is_err() {
        for (_, link) in &mut registered.links {
            // Those without a pin refuse.
            let _ = link.unpin();
        }
    }
    pinned.map_err(Error::bpf("pinning the controllers"))
}

/// Puts the programs of this build in the place of those of pinned controllers. Each name is there all the time;
/// connections keep the programs that they have until they end.
///
/// # Errors
///
/// When one of them isn't pinned, or the caller may not do it.
pub fn replace(controllers: &[Controller]) -> Result<(), Error> {
    let links = controllers.iter().map(|&controller| Ok((controller, open(controller)?)));
    load::replace(&links.collect::<Result<Vec<_>, Error>>()?)
}

/// Unregisters a pinned controller. Connections that use it keep it until they end.
///
/// # Errors
///
/// When it isn't pinned, or the caller may not do it; or it isn't pinned any more, but something else keeps it registered.
pub fn unpin(controller: Controller) -> Result<(), Error> {
    let path = path(controller);
    fs::remove_file(&path).map_err(Error::file(path))?;
    // With others in it, it stays.
    let _ = fs::remove_dir(PINS);
    let patience = Instant::now() + Duration::from_secs(2);
    loop {
        match holders().remove(&controller) {
            None => return Ok(()),
            // The kernel takes a moment.
            Some(Holder::Unknown) if Instant::now() < patience => thread::sleep(Duration::from_millis(10)),
            Some(holder) => return Err(Error::Kept { controller, holder }),
        }
    }
}

fn open(controller: Controller) -> Result<Link, Error> {
    Link::open(path(controller)).map_err(Error::bpf("opening a pin"))
}

fn mount_bpffs() -> Result<(), Error> {
    let is_there = || statfs(BPFFS).is_ok_and(|about| about.f_type as u64 == BPFFS_MAGIC);
    if is_there() {
        return Ok(());
    }
    let mounts = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    if mounts("self") != mounts("1") {
        return Err(Error::NoBpffs(io::Error::other(
            "this process has mounts of its own, as `ip netns exec` makes them, and what is pinned there would be gone \
             with it: run it outside",
        )));
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("bpf", BPFFS, "bpf", flags, Some(c"mode=0700")).map_err(|error| Error::NoBpffs(io::Error::from(error)))
}
