//! Folders, and names in them, that survive a loss of power.

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// The handles of a [`Dir`] only lead to what is in it; this one is of the folder itself.
pub fn open(folder: &Dir) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, ".", flags, Mode::empty())?.into())
}

/// Brings the names in a folder, and its own time and permissions, to the disk.
pub fn sync(folder: &File) -> io::Result<()> {
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
    missing.into_iter().rev().try_for_each(sync_name)
}

/// Brings the name of a file or folder to the disk.
pub fn sync_name(path: &Path) -> io::Result<()> {
    let above = path.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(above).and_then(|folder| sync(&folder)) {
        // It may be allowed to write in a folder but not to read it.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}
