//! Where a disk has room, but not for one more file.

use rustix::fs::fstatvfs;
use std::io::{Error, ErrorKind};
use std::os::fd::AsFd;

/// An error from making something on this disk, which says so if it is inodes that lack: the system's own is the same as without
/// room.
pub fn named(error: Error, disk: impl AsFd) -> Error {
    // A file system that has as many as it wants says that it has none at all.
    let has_none = || fstatvfs(disk).is_ok_and(|disk| disk.f_files > 0 && disk.f_favail == 0);
    match error.kind() {
        ErrorKind::StorageFull if has_none() => {
            Error::new(ErrorKind::StorageFull, "no inodes left on the disk, which can have no more files")
        }
        _ => error,
    }
}
