//! What has to reach the disk before anyone is told that a transfer is complete.

use super::failure::{Context, Result};
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
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

/// The handles of a [`Dir`] only lead to what is in it; this one is of the folder itself.
pub fn open(folder: &Dir) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, ".", flags, Mode::empty())?.into())
}

fn sync(folder: &File) -> io::Result<()> {
    match folder.sync_all() {
        // POSIX: the file system knows no such thing for folders.
        Err(e) if e.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => Ok(()),
        done => done,
    }
}

/// Makes a folder, with those above it that are missing. The names of new ones survive a loss of power.
pub fn make_folders(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).collect();
    std::fs::create_dir_all(path)?;
    for made in missing.into_iter().rev() {
        let above = made.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match File::open(above).and_then(|folder| sync(&folder)) {
            // It may be allowed to write in a folder but not to read it.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
            done => done?,
        }
    }
    Ok(())
}
