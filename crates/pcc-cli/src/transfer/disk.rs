//! What has to reach the disk before anyone is told that a transfer is complete.

use super::failure::{Context, Result};
use super::folders::{open, sync};
use super::staging::Staging;
use cap_std::fs::Dir;
use std::fs::File;
use std::path::Path;

/// Makes what was written survive a loss of power.
pub trait Disk {
    /// The staged files and links with their contents, times and permissions.
    fn sync_files(&self, staging: &Staging) -> Result<()>;
    /// The names in a folder, and its own time and permissions; `path` is for messages.
    fn sync_folder(&self, folder: &File, path: &Path) -> Result<()>;
}

/// The disk of this machine.
pub struct RealDisk;

impl Disk for RealDisk {
    fn sync_files(&self, staging: &Staging) -> Result<()> {
        let shown = || format!("write {} to disk", staging.path.display());
        #[cfg(target_os = "linux")]
        if !is_fuse(&staging.data).doing(shown)? {
            return staging.sync_all().doing(shown);
        }
        for entry in staging.data.entries().doing(shown)? {
            let entry = entry.doing(shown)?;
            if entry.file_type().doing(shown)?.is_file() {
                entry.open().doing(shown)?.sync_all().doing(shown)?;
            }
        }
        sync(&open(&staging.data).doing(shown)?).doing(shown)
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
