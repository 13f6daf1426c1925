//! Folders in the destination that nothing can be put into, and files there that can't be replaced.

use super::commit;
use super::in_place::parent_dir;
use super::manifest::Entry;
use super::rules::Rules;
use super::staging::Staging;
use crate::failure::{Context, Failure, Kind, Result, printable};
use cap_std::fs::{Dir, MetadataExt};
use rustix::fs::{Access, AtFlags, accessat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Folders that are there, and that nothing can be put into.
#[derive(Default)]
pub struct Closed<'a>(HashMap<&'a Path, Why>);

/// Why nothing can be put into a folder.
enum Why {
    /// Files can't be moved to it.
    Elsewhere,
    /// This user may not write in it.
    Forbidden(Errno),
}

impl<'a> Closed<'a> {
    /// Remembers a folder that is there, if it is closed.
    pub fn look_at(&mut self, staging: &Staging, folder: &'a Entry, rules: Rules) -> Result<()> {
        let shown = || format!("look at \"{}\"", folder.shown());
        let opened = staging.destination.open_dir(folder.os_path()).doing(shown)?;
        let (there, own) = (opened.dir_metadata().doing(shown)?, staging.data.dir_metadata().doing(shown)?);
        let why = match accessat(&opened, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
            _ if there.dev() != own.dev() || mount_of(&opened, "") != mount_of(&staging.data, "") => Why::Elsewhere,
            // This user will get the permission.
            Err(Errno::ACCESS) if rules.sync && commit::may_permit(&there) => return Ok(()),
            Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => Why::Forbidden(error),
            _ => return Ok(()),
        };
        self.0.insert(folder.os_path(), why);
        Ok(())
    }

    /// Whether an entry can be put into its folder.
    pub fn check(&self, staging: &Staging, entry: &Entry) -> Result<()> {
        let closed = entry.os_path().parent().and_then(|folder| self.0.get_key_value(folder));
        let Some((folder, why)) = closed else { return Ok(()) };
        let (name, folder) = (entry.shown(), printable(folder.as_os_str().as_bytes()));
        let without = format!("leave it out with pcc send --exclude '{folder}'");
        let (kind, why) = match why {
            Why::Elsewhere => {
                let why = "which is on another file system or mount, where files cannot be moved to";
                (Kind::Other, format!("{why}; {without}, and send what is in it to a pcc recv of its own"))
            }
            Why::Forbidden(error) => {
                let why = format!("in which the user of pcc recv may not write ({error})");
                (Kind::Permission, format!("{why}; permit it (chmod, chown), or {without}"))
            }
        };
        let place = staging.path.display();
        Err(Failure::new(kind, format!("\"{name}\" cannot be put into the folder \"{folder}\" in {place}, {why}")))
    }
}

/// Whether a file that is there can't be replaced, as something is mounted on it.
pub fn is_mounted_on(staging: &Staging, entry: &Entry) -> bool {
    let there = parent_dir(staging, entry).ok().and_then(|(folder, name)| mount_of(&folder, name));
    there.is_some_and(|there| Some(there) != mount_of(&staging.data, ""))
}

/// The mount that something in a folder, or the folder itself, is on, where the system tells. One file system may have several, and files can't be moved
/// from one to another.
fn mount_of(folder: &Dir, name: impl Arg) -> Option<u64> {
    // Since Linux 5.8.
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{StatxFlags, statx};
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
        let found = statx(folder, name, flags, StatxFlags::MNT_ID).ok()?;
        StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID).then_some(found.stx_mnt_id)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (folder, name);
        None
    }
}
