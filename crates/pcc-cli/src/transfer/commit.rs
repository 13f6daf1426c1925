//! From the staging folder to final names: nothing outside the destination, nothing replaced without being asked.

use super::disk::Disk;
use super::manifest::{Entry, Manifest, Mtime, PERMISSIONS, What, leads_out};
use super::staging::Staging;
use crate::failure::{Context, Failure, Kind, Result, printable};
use crate::folders;
use crate::same_file::Identity;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, MetadataExt};
use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, chmodat, fchmod, fstat, futimens, linkat, openat,
    renameat, renameat_with, statat, unlinkat, utimensat,
};
use rustix::io::Errno;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// How a file system says that it cannot rename without replacing.
const CANNOT: [Errno; 4] = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP];

/// What the receiver's user wants of what comes.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether files that exist are replaced.
    pub overwrite: bool,
    /// Whether files that exist are kept if they have the size and time of what comes.
    pub sync: bool,
    /// Whether these are compared by their contents instead.
    pub checksum: bool,
    /// Whether the sender's permissions are kept. If not, everybody may read whom `umask` does not forbid it.
    pub permissions: bool,
    /// Whether links that lead out of a sent folder are refused.
    pub safe_links: bool,
    /// What this user gives nobody.
    pub umask: u32,
    /// How long nothing may move while a sender is connected.
    pub patience: Duration,
}

/// Why a file that is here stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    /// It has the size and time of what comes.
    ByTime,
    /// This one has its content.
    ByContent(Identity),
}

impl Rules {
    /// Whether a file is there that may be kept, by what can be seen without reading it.
    pub fn may_stay(self, staging: &Staging, entry: &Entry) -> bool {
        let is_as_long = || {
            let there = staging.destination.symlink_metadata(os_path(&entry.path));
            there.is_ok_and(|there| there.is_file() && there.len() == entry.size())
        };
        self.sync && if self.checksum { is_as_long() } else { is_in_place(staging, entry) }
    }

    /// Never more than the sender grants, unless its permissions are not to be kept, and never what the umask forbids.
    fn mode(&self, what: &What) -> Mode {
        let granted = match what {
            What::File { mode, .. } | What::Dir { mode, .. } if self.permissions => *mode,
            What::File { mode, .. } if mode & 0o100 == 0 => 0o666,
            _ => 0o777,
        };
        Mode::from_raw_mode((granted & !self.umask & PERMISSIONS) as _)
    }
}

fn os_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

/// Looks at the destination before anything is sent: what is in the way is said now and not after hours.
pub fn check(staging: &Staging, manifest: &Manifest, rules: Rules) -> Result<()> {
    let own = staging.data.dir_metadata().doing(|| format!("look at {}", staging.shown()))?;
    // Folders that are not there: nothing is in them.
    let mut missing = HashSet::new();
    for entry in &manifest.entries {
        let path = os_path(&entry.path);
        let refuse =
            |kind, why: &str| Failure::new(kind, format!("\"{}\" in {} {why}", entry.shown(), staging.path.display()));
        if let What::Link { target } = &entry.what
            && rules.safe_links
            && leads_out(&entry.path, target)
        {
            let why = "is a link that leads out of the sent folder; have it sent with --links follow or --links skip";
            return Err(refuse(Kind::BadName, why));
        }
        if path.parent().is_some_and(|parent| missing.contains(parent)) {
            missing.insert(path);
            continue;
        }
        let there = match staging.destination.symlink_metadata(path) {
            Ok(there) => there,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                missing.insert(path);
                continue;
            }
            Err(e) if e.kind() == ErrorKind::InvalidFilename => {
                return Err(refuse(Kind::BadName, "has too long a name"));
            }
            Err(e) => return Err(Failure::io(format!("look at \"{}\"", entry.shown()), &e)),
        };
        match &entry.what {
            // A link in place of a folder is refused wherever it leads.
            What::Dir { .. } if there.is_dir() && there.dev() == own.dev() => {}
            What::Dir { .. } if there.is_dir() => {
                let why = "is on another file system, where files cannot be moved to; receive into that one";
                return Err(refuse(Kind::Other, why));
            }
            What::Dir { .. } => return Err(refuse(Kind::Exists, "is in the way of a folder of that name")),
            _ if there.is_dir() => return Err(refuse(Kind::Exists, "is a folder and will not be replaced")),
            _ if rules.overwrite => {}
            _ => {
                return Err(refuse(Kind::Exists, "exists already; move it away, or run pcc recv with --overwrite"));
            }
        }
    }
    Ok(())
}

/// Whether a file is in its place already, by size and time.
pub fn is_in_place(staging: &Staging, entry: &Entry) -> bool {
    let What::File { size, mtime, .. } = &entry.what else { return false };
    let there = staging.destination.symlink_metadata(os_path(&entry.path));
    let time = (mtime.secs, i64::from(mtime.nanos));
    there.is_ok_and(|there| there.is_file() && there.len() == *size && (there.mtime(), there.mtime_nsec()) == time)
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

/// Makes sure that a file that stays is still the one that was looked at. One with the right content gets its time too.
fn stay(staging: &Staging, entry: &Entry, same: Same) -> Result<()> {
    let Same::ByContent(identity) = same else {
        return if is_in_place(staging, entry) { Ok(()) } else { Err(changed_here(entry)) };
    };
    match open_in_place(staging, entry) {
        Ok((file, now)) if now == identity => {
            if let What::File { mtime, .. } = entry.what
                && !is_in_place(staging, entry)
            {
                // It may be another user's, who alone can set it.
                let _ = futimens(&file, &times(mtime));
            }
            Ok(())
        }
        _ => Err(changed_here(entry)),
    }
}

/// Whether that many bytes are free.
pub fn check_space(staging: &Staging, needed: u64) -> Result<()> {
    let space = rustix::fs::fstatvfs(&staging.destination).doing(|| format!("look at {}", staging.path.display()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if needed > free {
        return Err(Failure::new(
            Kind::DiskFull,
            format!("not enough room in {}: {needed} bytes are to come and {free} are free", staging.path.display()),
        ));
    }
    Ok(())
}

/// Completes the staged files: links, times and permissions.
pub fn prepare(
    staging: &Staging,
    manifest: &Manifest,
    given_up: &BTreeSet<u32>,
    in_place: &HashMap<u32, Same>,
    rules: Rules,
) -> Result<()> {
    for (index, entry) in (0u32..).zip(&manifest.entries) {
        let staged = entry.staged_name();
        if given_up.contains(&index) {
            // What is no longer staged is not published.
            staging.remove_staged(&staged);
            continue;
        }
        if let Some(same) = in_place.get(&index) {
            stay(staging, entry, *same)?;
            staging.remove_staged(&staged);
            continue;
        }
        match &entry.what {
            What::Dir { .. } => {}
            What::File { mtime, .. } => {
                utimensat(&staging.data, &staged, &times(*mtime), AtFlags::SYMLINK_NOFOLLOW)
                    .and_then(|()| chmodat(&staging.data, &staged, rules.mode(&entry.what), AtFlags::empty()))
                    .doing(|| format!("set time and permissions of \"{}\"", entry.shown()))?;
            }
            What::Link { target } => {
                let made = rustix::fs::symlinkat(OsStr::from_bytes(target), &staging.data, &staged);
                made.or_else(|e| if e == Errno::EXIST { Ok(()) } else { Err(e) })
                    .doing(|| format!("make the link \"{}\" -> \"{}\"", entry.shown(), printable(target)))?;
            }
        }
    }
    Ok(())
}

fn times(mtime: Mtime) -> Timestamps {
    let unchanged = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT as _ };
    let then = Timespec { tv_sec: mtime.secs, tv_nsec: mtime.nanos.into() };
    Timestamps { last_access: unchanged, last_modification: then }
}

/// The folders that are not there yet.
pub fn missing_folders(staging: &Staging, manifest: &Manifest) -> Vec<u32> {
    let is_missing = |entry: &Entry| {
        matches!(entry.what, What::Dir { .. })
            && matches!(staging.destination.symlink_metadata(os_path(&entry.path)), Err(e) if e.kind() == ErrorKind::NotFound)
    };
    (0u32..).zip(&manifest.entries).filter(|(_, entry)| is_missing(entry)).map(|(index, _)| index).collect()
}

/// Moves every staged file to its final name, where it survives a loss of power. What is no longer staged has been moved
/// by an attempt that was cut; `ours` are the folders that such an attempt may have made.
pub fn publish(
    staging: &Staging,
    manifest: &Manifest,
    rules: Rules,
    ours: &HashSet<u32>,
    disk: &impl Disk,
) -> Result<()> {
    let mut folders = Vec::new();
    // Until all is in it.
    let mut private = DirBuilder::new();
    private.mode(0o700);
    // The one that the last file went into: most go where the one before went.
    let mut parent: Option<(&Path, Dir)> = None;
    for (index, entry) in (0u32..).zip(&manifest.entries) {
        match &entry.what {
            What::Dir { .. } => match staging.destination.create_dir_with(os_path(&entry.path), &private) {
                Ok(()) => folders.push((entry, true)),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                    check_is_dir(staging, entry)?;
                    folders.push((entry, ours.contains(&index)));
                }
                Err(e) => return Err(Failure::io(format!("make the folder \"{}\"", entry.shown()), &e)),
            },
            _ => {
                let (path, name) = split(entry)?;
                let folder = match parent.take() {
                    Some((of, folder)) if of == path => folder,
                    _ => parent_dir(staging, entry)?.0,
                };
                publish_one(staging, entry, &folder, name, rules.overwrite)?;
                parent = Some((path, folder));
            }
        }
    }
    // Innermost first, and after everything in them, because that changes their times.
    for (entry, made) in folders.into_iter().rev() {
        complete_folder(staging, entry, made.then_some(rules), disk)?;
    }
    let destination = folders::open(&staging.destination).doing(|| format!("open {}", staging.path.display()))?;
    disk.sync_folder(&destination, &staging.path)
}

/// Gives a folder that was made by these rules its time and permissions, and makes the names in it last.
fn complete_folder(staging: &Staging, entry: &Entry, made: Option<Rules>, disk: &impl Disk) -> Result<()> {
    let folder = staging.destination.open_dir(os_path(&entry.path)).and_then(|folder| Ok(folders::open(&folder)?));
    let folder = folder.doing(|| format!("open the folder \"{}\"", entry.shown()))?;
    if let (What::Dir { mtime, .. }, Some(rules)) = (&entry.what, made) {
        // What it has from the folder above stays: it is this machine's.
        let inherited = |stat: Stat| Mode::from_raw_mode(stat.st_mode) & Mode::SGID;
        fstat(&folder)
            .and_then(|stat| fchmod(&folder, rules.mode(&entry.what) | inherited(stat)))
            .and_then(|()| futimens(&folder, &times(*mtime)))
            .doing(|| format!("set time and permissions of \"{}\"", entry.shown()))?;
    }
    disk.sync_folder(&folder, &staging.path.join(os_path(&entry.path)))
}

fn check_is_dir(staging: &Staging, entry: &Entry) -> Result<()> {
    let there = staging.destination.symlink_metadata(os_path(&entry.path));
    if there.doing(|| format!("look at \"{}\"", entry.shown()))?.is_dir() {
        return Ok(());
    }
    Err(Failure::new(Kind::Exists, format!("\"{}\" is in the way of a folder of that name", entry.shown())))
}

/// The path of the folder that an entry goes into, and its name there.
fn split(entry: &Entry) -> Result<(&Path, &OsStr)> {
    let path = os_path(&entry.path);
    let name = path.file_name();
    let name = name.ok_or_else(|| Failure::new(Kind::BadName, format!("\"{}\" is no name", entry.shown())))?;
    Ok((path.parent().unwrap_or(Path::new("")), name))
}

/// That folder, opened without leaving the destination, and the name.
fn parent_dir<'a>(staging: &Staging, entry: &'a Entry) -> Result<(Dir, &'a OsStr)> {
    let (path, name) = split(entry)?;
    let parent = match path.as_os_str().is_empty() {
        false => staging.destination.open_dir(path),
        true => staging.destination.try_clone(),
    };
    Ok((parent.doing(|| format!("open the folder of \"{}\"", entry.shown()))?, name))
}

fn publish_one(staging: &Staging, entry: &Entry, parent: &Dir, name: &OsStr, overwrite: bool) -> Result<()> {
    let staged = &*entry.staged_name();
    let is_gone = || matches!(staging.data.symlink_metadata(staged), Err(e) if e.kind() == ErrorKind::NotFound);
    let moved = if overwrite {
        renameat(&staging.data, staged, parent, name)
    } else {
        match renameat_with(&staging.data, staged, parent, name, RenameFlags::NOREPLACE) {
            // A second name does not replace anything either.
            Err(e) if CANNOT.contains(&e) => linkat(&staging.data, staged, parent, name, AtFlags::empty())
                .and_then(|()| unlinkat(&staging.data, staged, AtFlags::empty())),
            // An attempt that gave it the second name was cut before it took the first away.
            Err(Errno::EXIST) if is_same(&staging.data, staged, parent, name) => {
                unlinkat(&staging.data, staged, AtFlags::empty())
            }
            other => other,
        }
    };
    // An attempt that was cut has moved it.
    moved.or_else(|e| if is_gone() { Ok(()) } else { Err(e) }).map_err(|e| {
        let what = format!("\"{}\" in {}", entry.shown(), staging.path.display());
        match e {
            Errno::EXIST | Errno::ISDIR => Failure::new(
                Kind::Exists,
                format!("{what} appeared while it was received; move it away and run pcc recv again to finish"),
            ),
            e => Failure::io(format!("give {what} its name"), &e.into()),
        }
    })
}

fn is_same(a: &Dir, a_name: &str, b: &Dir, b_name: &OsStr) -> bool {
    let a = statat(a, a_name, AtFlags::SYMLINK_NOFOLLOW);
    let b = statat(b, b_name, AtFlags::SYMLINK_NOFOLLOW);
    matches!((a, b), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}
