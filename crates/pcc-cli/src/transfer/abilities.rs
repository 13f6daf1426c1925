//! What the file system of the destination can do, found out by trying. That of a memory card, say, keeps no permissions, makes
//! no links, takes fewer names, and `a` and `A` are the same name there.

use super::manifest::{Mtime, PERMISSIONS};
use super::staging::Staging;
use rustix::fs::{
    AtFlags, Mode, OFlags, SeekFrom, Timespec, Timestamps, fchmod, fstat, futimens, openat, seek, statat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

/// What some file systems refuse in a name.
const REFUSED: &[u8] = b"\"*:<>?|\\";

/// Who may do what, where that isn't kept but comes from how the file system is mounted: the nine bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// With every file.
    pub files: u32,
    /// In every folder.
    pub folders: u32,
}

impl Staging {
    /// What everybody may do with all files and folders here, if permissions are not kept.
    pub fn fixed_permissions(&self) -> Option<Fixed> {
        let becomes = |mode: Mode| {
            let set = fchmod(self.handle(), mode).and_then(|()| fstat(self.handle()));
            set.is_ok_and(|now| now.st_mode & PERMISSIONS == mode.bits() & PERMISSIONS)
        };
        // Of a file that nobody else can reach. It ends as it began.
        let are_kept = [Mode::RWXU, Mode::RUSR | Mode::WUSR].map(becomes);
        let modes = (fstat(self.handle()), fstat(&self.data));
        match modes {
            (Ok(file), Ok(folder)) if are_kept != [true; 2] => {
                Some(Fixed { files: file.st_mode & PERMISSIONS, folders: folder.st_mode & PERMISSIONS })
            }
            _ => None,
        }
    }

    /// Whether there can be symbolic links.
    pub fn makes_links(&self) -> bool {
        let name = "link";
        match symlinkat("nowhere", &self.data, name) {
            Ok(()) => unlinkat(&self.data, name, AtFlags::empty()).is_ok(),
            Err(error) => error == Errno::EXIST,
        }
    }

    /// Whether names that differ in nothing but upper and lower case are one name.
    pub fn folds_case(&self) -> bool {
        let name = "Case";
        let other = || statat(&self.data, "cASE", AtFlags::SYMLINK_NOFOLLOW).is_ok();
        create(&self.data, name.as_bytes()).is_ok() && {
            let folds = other();
            let _ = unlinkat(&self.data, name, AtFlags::empty());
            folds
        }
    }

    /// Whether all names are taken that a Unix knows.
    pub fn takes_all_names(&self) -> bool {
        self.takes_name(&[REFUSED, b"\x01\xff."].concat())
    }

    /// Whether a file can have this name, and gets no other instead.
    pub fn takes_name(&self, name: &[u8]) -> bool {
        match create(&self.data, name) {
            Ok(()) => {
                let short = name.iter().rposition(|byte| !b". ".contains(byte)).map(|last| &name[..=last]);
                let is_cut = short.is_some_and(|short| {
                    short != name && statat(&self.data, OsStr::from_bytes(short), AtFlags::SYMLINK_NOFOLLOW).is_ok()
                });
                unlinkat(&self.data, OsStr::from_bytes(name), AtFlags::empty()).is_ok() && !is_cut
            }
            // A full disk says nothing of names.
            Err(error) => matches!(error, Errno::EXIST | Errno::NOSPC | Errno::DQUOT),
        }
    }

    /// Whether a file can be this long.
    pub fn holds_length(&self, bytes: u64) -> bool {
        // No file system lets one go beyond that, and it costs nothing.
        let reached = seek(self.handle(), SeekFrom::Start(bytes));
        let _ = seek(self.handle(), SeekFrom::Start(0));
        !matches!(reached, Err(Errno::INVAL | Errno::OVERFLOW | Errno::FBIG))
    }

    /// What becomes of the time of a file here: it may be kept in whole seconds only, or not before or after some year.
    pub fn kept_time(&self, mtime: Mtime) -> Option<Mtime> {
        futimens(self.handle(), &times(mtime)).ok()?;
        let kept = fstat(self.handle()).ok()?;
        Some(Mtime { secs: kept.st_mtime, nanos: kept.st_mtime_nsec as u32 })
    }
}

/// Whether there are file systems that don't take this name.
pub fn is_odd(name: &[u8]) -> bool {
    name.iter().any(|byte| *byte < b' ' || REFUSED.contains(byte))
        || matches!(name.last(), Some(b'.' | b' '))
        || std::str::from_utf8(name).is_err()
}

/// The time of a file; that of the last reading stays as it is.
pub fn times(mtime: Mtime) -> Timestamps {
    let unchanged = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT as _ };
    let then = Timespec { tv_sec: mtime.secs, tv_nsec: mtime.nanos.into() };
    Timestamps { last_access: unchanged, last_modification: then }
}

/// Makes an empty file for a moment.
fn create(folder: impl AsFd, name: &[u8]) -> rustix::io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    openat(folder, OsStr::from_bytes(name), flags, Mode::RUSR | Mode::WUSR).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_known_without_writing_it() {
        let dir = tempfile::tempdir().unwrap();
        let staging = Staging::open(dir.path()).unwrap();
        let file = std::fs::File::create(dir.path().join("file")).unwrap();
        for bytes in [0, 1 << 30, 1 << 40, 1 << 46, 1 << 60, i64::MAX as u64] {
            assert_eq!(staging.holds_length(bytes), file.set_len(bytes).is_ok(), "{bytes}");
        }
    }
}
