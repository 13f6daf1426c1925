//! What has to reach the disk before anyone is told that a transfer is complete.

use crate::failure::{Context, Result};
use crate::folders::{open, sync};
use cap_std::fs::Dir;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Makes what was written survive a loss of power.
pub trait Disk {
    /// The files and links in a folder with their contents, times and permissions. `handle` was opened before any of them
    /// was written; `path` is for messages.
    fn sync_files(&self, folder: &Dir, handle: BorrowedFd<'_>, path: &Path) -> Result<()>;
    /// The names in a folder, and its own time and permissions; `path` is for messages.
    fn sync_folder(&self, folder: &File, path: &Path) -> Result<()>;
}

/// The disk of this machine.
pub struct RealDisk;

impl Disk for RealDisk {
    #[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
    fn sync_files(&self, folder: &Dir, handle: BorrowedFd<'_>, path: &Path) -> Result<()> {
        let shown = || format!("write {} to disk", path.display());
        #[cfg(target_os = "linux")]
        if !is_fuse(folder).doing(shown)? {
            // Faster than file by file. Since Linux 5.8 it fails if any write has failed since the handle was opened.
            return rustix::fs::syncfs(handle).doing(shown);
        }
        for entry in folder.entries().doing(shown)? {
            let entry = entry.doing(shown)?;
            if entry.file_type().doing(shown)?.is_file() {
                entry.open().doing(shown)?.sync_all().doing(shown)?;
            }
        }
        sync(&open(folder).doing(shown)?).doing(shown)
    }

    fn sync_folder(&self, folder: &File, path: &Path) -> Result<()> {
        sync(folder).doing(|| format!("write the folder {} to disk", path.display()))
    }
}

/// `syncfs` does not reach what is behind such a file system, `fsync` does.
#[cfg(target_os = "linux")]
fn is_fuse(folder: &Dir) -> rustix::io::Result<bool> {
    // FUSE_SUPER_MAGIC of linux/magic.h.
    Ok(rustix::fs::fstatfs(folder)?.f_type == 0x6573_5546)
}
