//! Looks at the destination before anything is sent: what is in the way is said now and not after hours.

use super::abilities::is_odd;
use super::closed::{Closed, is_mounted_on};
use super::in_place::may_stay;
use super::manifest::{Entry, Manifest, What, leads_out};
use super::rules::Rules;
use super::staging::Staging;
use crate::failure::{Context, Failure, Kind, Result};
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;

/// Who others are, who is not the owner: their bits of reading and writing files, and of all that can be done in folders.
const OTHERS: (u32, u32) = (0o066, 0o077);

/// Whether all of this can be received here.
pub fn check(staging: &Staging, manifest: &Manifest, rules: Rules) -> Result<()> {
    check_abilities(staging, manifest, rules)?;
    // Folders that are not there: nothing is in them.
    let mut missing = HashSet::new();
    let mut closed = Closed::default();
    for entry in &manifest.entries {
        let path = entry.os_path();
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
                closed.check(staging, entry)?;
                missing.insert(path);
                continue;
            }
            Err(e) if e.kind() == ErrorKind::InvalidFilename => {
                return Err(refuse(Kind::BadName, "has too long a name"));
            }
            Err(e) => {
                closed.check(staging, entry)?;
                return Err(Failure::io(format!("look at \"{}\"", entry.shown()), &e));
            }
        };
        match &entry.what {
            // A link in place of a folder is refused wherever it leads.
            What::Dir { .. } if there.is_dir() => closed.look_at(staging, entry, rules)?,
            What::Dir { .. } => {
                let why = "is no folder here, and is in the way of the folder of that name that comes; move it away, as neither --sync nor \
                    --overwrite replaces it";
                return Err(refuse(Kind::Exists, why));
            }
            _ if there.is_dir() => {
                let why = "is a folder here, and what comes of that name is none; move it away, as neither --sync nor --overwrite replaces it";
                return Err(refuse(Kind::Exists, why));
            }
            _ if rules.overwrite && may_stay(staging, entry, rules) => {}
            _ if rules.overwrite => {
                closed.check(staging, entry)?;
                if is_mounted_on(staging, entry) {
                    let why = "is a mount of its own, which cannot be replaced; unmount it, or leave it out with pcc send --exclude";
                    return Err(refuse(Kind::Other, why));
                }
            }
            _ => {
                return Err(refuse(Kind::Exists, "exists already; move it away, or run pcc recv with --overwrite"));
            }
        }
    }
    Ok(())
}

/// Whether the file system can keep what is to be kept.
fn check_abilities(staging: &Staging, manifest: &Manifest, rules: Rules) -> Result<()> {
    let refuse = |entry: &Entry, why: String| Err(Failure::new(Kind::BadName, format!("\"{}\" {why}", entry.shown())));
    let entries = || manifest.entries.iter();
    let here = format!("the file system of {}", staging.path.display());
    if let Some(link) = entries().find(|entry| matches!(entry.what, What::Link { .. }))
        && !staging.makes_links()
    {
        return refuse(
            link,
            format!("is a symbolic link, and {here} makes none; have it sent with --links follow or --links skip"),
        );
    }
    if let Some(longest) = entries().max_by_key(|entry| entry.size())
        && !staging.holds_length(longest.size())
    {
        let (name, bytes) = (longest.shown(), longest.size());
        let message = format!(
            "\"{name}\" has {bytes} bytes, and {here} takes no file of that length (FAT none of 4 GiB); leave it out with pcc send --exclude, \
             or receive on another disk"
        );
        return Err(Failure::new(Kind::DiskFull, message));
    }
    let mut odd = entries().filter(|entry| is_odd(entry.name())).peekable();
    if odd.peek().is_some()
        && !staging.takes_all_names()
        && let Some(entry) = odd.find(|entry| !staging.takes_name(entry.name()))
    {
        return refuse(
            entry,
            format!("has a name that {here} does not take; rename it, or leave it out with pcc send --exclude"),
        );
    }
    if staging.folds_case() {
        let mut seen: HashMap<String, &Entry> = HashMap::new();
        for entry in entries() {
            if let Some(other) = seen.insert(String::from_utf8_lossy(&entry.path).to_lowercase(), entry) {
                let why =
                    format!("and \"{}\" have the same name for {here}, which ignores case; rename one", other.shown());
                return refuse(entry, why);
            }
        }
    }
    if rules.permissions
        && let Some(fixed) = staging.fixed_permissions()
    {
        let grants_more = |entry: &&Entry| match entry.what {
            What::File { mode, .. } => fixed.files & OTHERS.0 & !mode != 0,
            What::Dir { mode, .. } => fixed.folders & OTHERS.1 & !mode != 0,
            What::Link { .. } => false,
        };
        if let Some(entry) = entries().find(grants_more) {
            let message = format!(
                "{here} keeps no permissions, and so others could do more with \"{}\" than its sender allows; mount it for one \
                 user alone (umask=077), or run pcc recv with --no-perms if they may",
                entry.shown()
            );
            return Err(Failure::new(Kind::Permission, message));
        }
    }
    Ok(())
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
