//! The place that one of the list is to go to, and the file that may be there and stay.

use super::abilities::times;
use super::manifest::{Entry, Mtime, PERMISSIONS, What};
use super::rules::Rules;
use super::staging::Staging;
use crate::failure::{Context, Failure, Kind, Result};
use crate::same_file::Identity;
use cap_std::fs::{Dir, Metadata, MetadataExt};
use rustix::fs::{Mode, OFlags, fchmod, futimens, openat, readlinkat};
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

/// FAT keeps every second second only, and through FUSE that shows later.
const COARSE_SECONDS: u64 = 2;

/// Why a file that is here stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    /// It has the size and time of what comes.
    ByTime,
    /// This one has its content.
    ByContent(Identity),
}

/// Whether a file is there that may be kept, by what can be seen without reading it.
pub fn may_stay(staging: &Staging, entry: &Entry, rules: Rules) -> bool {
    rules.sync && if rules.checksum { is_as_long(staging, entry) } else { is_in_place(staging, entry) }
}

/// Whether a file of the right length is in its place.
pub fn is_as_long(staging: &Staging, entry: &Entry) -> bool {
    let there = staging.destination.symlink_metadata(entry.os_path());
    there.is_ok_and(|there| there.is_file() && there.len() == entry.size())
}

/// Whether a file or link has the name that an attempt that was cut may have given it, by what can be seen without reading it.
pub fn has_its_name(staging: &Staging, entry: &Entry) -> bool {
    match &entry.what {
        What::Dir { .. } => false,
        What::File { mtime, .. } => {
            let there = staging.destination.symlink_metadata(entry.os_path());
            let is_about = |there: Metadata| there.mtime().abs_diff(mtime.secs) < COARSE_SECONDS;
            is_in_place(staging, entry) || (is_as_long(staging, entry) && there.is_ok_and(is_about))
        }
        What::Link { target } => {
            let found = parent_dir(staging, entry).map(|(parent, name)| readlinkat(&parent, name, Vec::new()));
            matches!(found, Ok(Ok(found)) if found.as_bytes() == target)
        }
    }
}

/// Whether a file is in its place already, by size and time.
pub fn is_in_place(staging: &Staging, entry: &Entry) -> bool {
    staging.destination.symlink_metadata(entry.os_path()).is_ok_and(|there| is_as_listed(staging, entry, &there))
}

fn is_as_listed(staging: &Staging, entry: &Entry, there: &Metadata) -> bool {
    let What::File { size, mtime, .. } = entry.what else { return false };
    let time = Mtime { secs: there.mtime(), nanos: there.mtime_nsec() as u32 };
    // A transfer before this one could not give it a time that is not kept here.
    there.is_file() && there.len() == size && (time == mtime || staging.kept_time(mtime) == Some(time))
}

/// The path of the folder that an entry goes into, and its name there.
pub fn split(entry: &Entry) -> Result<(&Path, &OsStr)> {
    let path = entry.os_path();
    let name = path.file_name();
    let name = name.ok_or_else(|| Failure::new(Kind::BadName, format!("\"{}\" is no name", entry.shown())))?;
    Ok((path.parent().unwrap_or(Path::new("")), name))
}

/// That folder, opened without leaving the destination, and the name.
pub fn parent_dir<'a>(staging: &Staging, entry: &'a Entry) -> Result<(Dir, &'a OsStr)> {
    let (path, name) = split(entry)?;
    let parent = match path.as_os_str().is_empty() {
        false => staging.destination.open_dir(path),
        true => staging.destination.try_clone(),
    };
    Ok((parent.doing(|| format!("open the folder of \"{}\"", entry.shown()))?, name))
}

/// Opens a file that is in the place of one that comes.
pub fn open_in_place(staging: &Staging, entry: &Entry) -> Result<(File, Identity)> {
    let shown = || format!("open \"{}\"", entry.shown());
    let (parent, name) = parent_dir(staging, entry)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = File::from(openat(&parent, name, flags, Mode::empty()).doing(shown)?);
    let metadata = opened.metadata().doing(shown)?;
    match metadata.is_file() {
        true => Ok((opened, Identity::of(&metadata))),
        false => Err(Failure::new(Kind::Exists, format!("\"{}\" is here and is no file", entry.shown()))),
    }
}

/// That what was to stay is no longer what it was.
pub fn changed_here(entry: &Entry) -> Failure {
    let message = format!("\"{}\" was here and changed meanwhile; run both commands again", entry.shown());
    Failure::new(Kind::Exists, message)
}

/// Makes sure that a file that stays is still the one that was looked at, and gives it the time and permissions that it
/// would have if it came. It may be another user's, who alone can do that.
pub fn stay(staging: &Staging, entry: &Entry, same: Same, rules: Rules) -> Result<()> {
    let Ok(there) = staging.destination.symlink_metadata(entry.os_path()) else { return Err(changed_here(entry)) };
    let is_in_place = is_as_listed(staging, entry, &there);
    let mode = rules.mode(&entry.what);
    let is_mode = !rules.permissions || there.mode() & PERMISSIONS == mode.bits() & PERMISSIONS;
    match same {
        Same::ByTime if !is_in_place => return Err(changed_here(entry)),
        Same::ByTime if is_mode => return Ok(()),
        _ => {}
    }
    let opened = open_in_place(staging, entry);
    let is_same = |file: &File, now| match same {
        Same::ByContent(identity) => now == identity,
        // Somebody may have put another in its place just now.
        Same::ByTime => Metadata::from_file(file).is_ok_and(|opened| is_as_listed(staging, entry, &opened)),
    };
    let file = match opened {
        Ok((file, now)) if is_same(&file, now) => file,
        // Not even its owner may read it.
        Err(_) if same == Same::ByTime => return Ok(()),
        _ => return Err(changed_here(entry)),
    };
    if let What::File { mtime, .. } = entry.what
        && !is_in_place
    {
        let _ = futimens(&file, &times(mtime));
    }
    if !is_mode {
        let _ = fchmod(&file, mode);
    }
    Ok(())
}
