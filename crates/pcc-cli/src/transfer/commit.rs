//! From the staging folder to final names: nothing outside the destination, nothing replaced without being asked.

use super::abilities::times;
use super::bitmap::Bitmap;
use super::disk::Disk;
use super::in_place::{Same, has_its_name, is_as_long, parent_dir, split, stay};
use super::inodes;
use super::manifest::{Entry, Manifest, PERMISSIONS, What};
use super::rules::Rules;
use super::staging::Staging;
use crate::failure::{Context, Failure, Kind, Result, printable};
use crate::folders;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata, MetadataExt, Permissions, PermissionsExt};
use rustix::fs::{
    AtFlags, Mode, RenameFlags, Stat, chmodat, fchmod, fstat, futimens, linkat, renameat, renameat_with, statat,
    unlinkat, utimensat,
};
use rustix::io::Errno;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How a file system says that it cannot rename without replacing.
const CANNOT: [Errno; 4] = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP];

/// Gives a staged file its time and permissions.
pub fn complete(file: &File, entry: &Entry, rules: Rules) -> rustix::io::Result<()> {
    match entry.what {
        What::File { mtime, .. } => fchmod(file, rules.mode(&entry.what)).and_then(|()| futimens(file, &times(mtime))),
        What::Dir { .. } | What::Link { .. } => Ok(()),
    }
}

/// Completes the staged files: links, times and permissions.
pub fn prepare(
    staging: &Staging,
    manifest: &Manifest,
    given_up: &BTreeSet<u32>,
    in_place: &HashMap<u32, Same>,
    completed: &Bitmap,
    rules: Rules,
) -> Result<()> {
    let keeps_permissions = staging.fixed_permissions().is_none();
    for (index, entry) in (0u32..).zip(&manifest.entries) {
        let staged = entry.staged_name();
        if given_up.contains(&index) {
            // What is no longer staged is not published.
            staging.remove_staged(&staged);
            continue;
        }
        if let Some(same) = in_place.get(&index) {
            stay(staging, entry, *same, rules)?;
            staging.remove_staged(&staged);
            continue;
        }
        match &entry.what {
            What::Dir { .. } => {}
            What::File { .. } if completed.get(index.into()) => {}
            What::File { mtime, .. } => {
                let permit = || match keeps_permissions {
                    true => chmodat(&staging.data, &staged, rules.mode(&entry.what), AtFlags::empty()),
                    false => Ok(()),
                };
                utimensat(&staging.data, &staged, &times(*mtime), AtFlags::SYMLINK_NOFOLLOW)
                    .and_then(|()| permit())
                    .doing(|| format!("set time and permissions of \"{}\"", entry.shown()))?;
            }
            What::Link { target } => {
                let made = rustix::fs::symlinkat(OsStr::from_bytes(target), &staging.data, &staged);
                made.or_else(|e| if e == Errno::EXIST { Ok(()) } else { Err(inodes::named(e.into(), &staging.data)) })
                    .doing(|| format!("make the link \"{}\" -> \"{}\"", entry.shown(), printable(target)))?;
            }
        }
    }
    Ok(())
}

/// The folders that are not there yet.
pub fn missing_folders(staging: &Staging, manifest: &Manifest) -> Vec<u32> {
    let is_missing = |entry: &Entry| {
        matches!(entry.what, What::Dir { .. })
            && matches!(staging.destination.symlink_metadata(entry.os_path()), Err(e) if e.kind() == ErrorKind::NotFound)
    };
    (0u32..).zip(&manifest.entries).filter(|(_, entry)| is_missing(entry)).map(|(index, _)| index).collect()
}

/// What is known of what is to get names.
pub struct Attempt<'a> {
    /// Whether an earlier attempt was cut, and may have given some.
    pub is_resumed: bool,
    /// The folders that it may have made.
    pub ours: &'a HashSet<u32>,
    /// What does not come.
    pub given_up: &'a BTreeSet<u32>,
    /// What has its name from before.
    pub in_place: &'a HashMap<u32, Same>,
}

/// Moves every staged file to its final name, where it survives a loss of power. Returns what has none in the end: somebody
/// has removed what was staged, or what an attempt that was cut had moved.
pub fn publish(
    staging: &Staging,
    manifest: &Manifest,
    rules: Rules,
    attempt: &Attempt<'_>,
    disk: &impl Disk,
) -> Result<Vec<u32>> {
    // Where they are not kept, none are given.
    let keeps_permissions = staging.fixed_permissions().is_none();
    let given = |mode| Given { mode: Some(mode).filter(|_| keeps_permissions) };
    let (mut folders, mut lost) = (Vec::new(), Vec::new());
    // Until all is in it.
    let mut private = DirBuilder::new();
    private.mode(0o700);
    // The one that the last file went into: most go where the one before went.
    let mut parent: Option<(&Path, Dir)> = None;
    for (index, entry) in (0u32..).zip(&manifest.entries) {
        match &entry.what {
            What::Dir { .. } => match staging.destination.create_dir_with(entry.os_path(), &private) {
                Ok(()) => folders.push((entry, Some(given(rules.mode(&entry.what))))),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                    let mode = take_over(staging, entry, rules, attempt.ours.contains(&index))?;
                    folders.push((entry, mode.map(given)));
                }
                Err(e) => {
                    let error = inodes::named(e, &staging.destination);
                    return Err(Failure::io(format!("make the folder \"{}\"", entry.shown()), &error));
                }
            },
            _ if attempt.given_up.contains(&index) => {}
            _ if attempt.in_place.contains_key(&index) => {
                if attempt.is_resumed && !is_as_long(staging, entry) {
                    lost.push(index);
                }
            }
            _ => {
                let (path, name) = split(entry)?;
                let folder = match parent.take() {
                    Some((of, folder)) if of == path => folder,
                    _ => parent_dir(staging, entry)?.0,
                };
                let has_name = publish_one(staging, entry, &folder, name, rules.overwrite)?
                    || (attempt.is_resumed && has_its_name(staging, entry));
                if !has_name {
                    if staging.is_removed() {
                        return Err(removed(staging));
                    }
                    lost.push(index);
                }
                parent = Some((path, folder));
            }
        }
    }
    // Innermost first, and after everything in them, because that changes their times.
    for (entry, given) in folders.into_iter().rev() {
        complete_folder(staging, entry, given, disk)?;
    }
    let destination = folders::open(&staging.destination).doing(|| format!("open {}", staging.path.display()))?;
    disk.sync_folder(&destination, &staging.path)?;
    Ok(lost)
}

/// That nothing is left that could get a name.
fn removed(staging: &Staging) -> Failure {
    let message = format!(
        "{} was removed before what was received in it got its names; run pcc recv again, and send again with its new ticket",
        staging.shown()
    );
    Failure::new(Kind::Other, message)
}

/// Lets this user write in a folder that is there, if it is the transfer's: made by an attempt that was cut, or to be the
/// same as at the sender. Returns the permissions that it gets in the end, with its time.
fn take_over(staging: &Staging, entry: &Entry, rules: Rules, is_made: bool) -> Result<Option<Mode>> {
    let path = entry.os_path();
    let shown = || format!("look at \"{}\"", entry.shown());
    let there = staging.destination.symlink_metadata(path).doing(shown)?;
    if !there.is_dir() {
        return Err(Failure::new(
            Kind::Exists,
            format!("\"{}\" is in the way of a folder of that name", entry.shown()),
        ));
    }
    if !(is_made || rules.sync) || !may_permit(&there) {
        return Ok(None);
    }
    let full = there.mode() | 0o700;
    if there.mode() != full {
        let open = || format!("write in the folder \"{}\"", entry.shown());
        staging.destination.set_permissions(path, Permissions::from_mode(full)).doing(open)?;
    }
    let is_kept = !is_made && !rules.permissions;
    Ok(Some(if is_kept { Mode::from_raw_mode(there.mode() & PERMISSIONS) } else { rules.mode(&entry.what) }))
}

/// Whether this user may change the permissions of what is there.
pub fn may_permit(there: &Metadata) -> bool {
    let user = rustix::process::geteuid();
    user.is_root() || user.as_raw() == there.uid()
}

/// What a folder of the transfer gets besides its time.
struct Given {
    mode: Option<Mode>,
}

/// Gives a folder its permissions and time, if it is the transfer's, and makes the names in it last.
fn complete_folder(staging: &Staging, entry: &Entry, given: Option<Given>, disk: &impl Disk) -> Result<()> {
    let folder = staging.destination.open_dir(entry.os_path()).and_then(|folder| Ok(folders::open(&folder)?));
    let folder = folder.doing(|| format!("open the folder \"{}\"", entry.shown()))?;
    if let (What::Dir { mtime, .. }, Some(Given { mode })) = (&entry.what, given) {
        // What it has from the folder above stays: it is this machine's.
        let inherited = |stat: Stat| Mode::from_raw_mode(stat.st_mode) & Mode::SGID;
        let permit = |mode| fstat(&folder).and_then(|stat| fchmod(&folder, mode | inherited(stat)));
        mode.map_or(Ok(()), permit)
            .and_then(|()| futimens(&folder, &times(*mtime)))
            .doing(|| format!("set time and permissions of \"{}\"", entry.shown()))?;
    }
    disk.sync_folder(&folder, &staging.path.join(entry.os_path()))
}

/// Whether it was staged, and has its name now.
fn publish_one(staging: &Staging, entry: &Entry, parent: &Dir, name: &OsStr, overwrite: bool) -> Result<bool> {
    let staged = &*entry.staged_name();
    let is_gone = || matches!(staging.data.symlink_metadata(staged), Err(e) if e.kind() == ErrorKind::NotFound);
    let moved = match overwrite {
        true => renameat(&staging.data, staged, parent, name),
        false => move_to_free(&staging.data, staged, parent, name),
    };
    moved.map(|()| true).or_else(|e| if is_gone() { Ok(false) } else { Err(e) }).map_err(|e| {
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

/// Gives a file a name that is free, and replaces nothing.
fn move_to_free(data: &Dir, staged: &str, parent: &Dir, name: &OsStr) -> rustix::io::Result<()> {
    let is_free = || matches!(statat(parent, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT));
    match renameat_with(data, staged, parent, name, RenameFlags::NOREPLACE) {
        // A second name does not replace anything either.
        Err(e) if CANNOT.contains(&e) => match linkat(data, staged, parent, name, AtFlags::empty()) {
            // Nor can there be second names. Somebody else could take this one just now.
            Err(e) if e == Errno::PERM || CANNOT.contains(&e) => match is_free() {
                true => renameat(data, staged, parent, name),
                false => Err(Errno::EXIST),
            },
            linked => linked.and_then(|()| unlinkat(data, staged, AtFlags::empty())),
        },
        // An attempt that gave it the second name was cut before it took the first away.
        Err(Errno::EXIST) if is_same(data, staged, parent, name) => unlinkat(data, staged, AtFlags::empty()),
        other => other,
    }
}

fn is_same(a: &Dir, a_name: &str, b: &Dir, b_name: &OsStr) -> bool {
    let a = statat(a, a_name, AtFlags::SYMLINK_NOFOLLOW);
    let b = statat(b, b_name, AtFlags::SYMLINK_NOFOLLOW);
    matches!((a, b), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}
