//! Controllers that stay when their loader ends: pinned in the BPF filesystem.

use super::{Controller, Error, Registered};
use rustix::fs::statfs;
use rustix::mount::{MountFlags, mount};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the links of pinned controllers are, under the kernel's names of the controllers.
pub const PINS: &str = "/sys/fs/bpf/pcc";

const BPFFS: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC` of `linux/magic.h`.
const BPFFS_MAGIC: u64 = 0xcafe_4a11;

fn path(controller: Controller) -> PathBuf {
    Path::new(PINS).join(controller.name())
}

/// Lets the controllers stay when this process ends, until [`unpin`] or a restart of the machine.
///
/// Mounts the BPF filesystem where it isn't yet.
///
/// # Errors
///
/// When that filesystem can't be had, or a pin is there already. Controllers pinned before stay so.
pub fn pin(registered: Registered) -> Result<(), Error> {
    mount_bpffs()?;
    fs::create_dir_all(PINS).map_err(Error::file(PINS))?;
    for (controller, mut link) in registered.links {
        link.pin(path(controller)).map_err(Error::bpf("pinning the controllers"))?;
    }
    Ok(())
}

/// The controllers that are pinned.
pub fn pinned() -> Vec<Controller> {
    Controller::ALL.into_iter().filter(|&controller| path(controller).exists()).collect()
}

/// Unregisters a pinned controller. Connections that use it keep it until they end.
///
/// # Errors
///
/// When it isn't pinned, or the caller may not do it.
pub fn unpin(controller: Controller) -> Result<(), Error> {
    let path = path(controller);
    fs::remove_file(&path).map_err(Error::file(path))?;
    // With others in it, it stays.
    let _ = fs::remove_dir(PINS);
    Ok(())
}

fn mount_bpffs() -> Result<(), Error> {
    let is_there = || statfs(BPFFS).is_ok_and(|about| about.f_type as u64 == BPFFS_MAGIC);
    if is_there() {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("bpf", BPFFS, "bpf", flags, Some(c"mode=0700")).map_err(|error| Error::NoBpffs(io::Error::from(error)))
}
