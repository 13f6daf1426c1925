//! The folders of unfinished transfers in a destination: what they and what is in them are called, whether they may be taken up, and what a kill, or a
//! loss of power, has left half made or half removed.

use super::manifest::{STAGING_PREFIX, is_staging};
use crate::failure::{Context, Result, printable};
use cap_std::fs::{Dir, MetadataExt};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// Who the receiver is, locked while one uses the folder.
pub const IDENTITY: &str = "receiver";
/// The list of files, and whose they are.
pub const MANIFEST: &str = "manifest";
/// The one that is to replace it.
pub const NEW_MANIFEST: &str = "manifest.new";
/// What was verified; which list it belongs to follows.
const JOURNAL: &str = "journal-";
/// The folder of the data.
pub const DATA: &str = "data";
/// What was changed within so long may be at work, being made or removed.
const AT_WORK: Duration = Duration::from_secs(3600);

/// The names of all that may be unfinished transfers in a folder.
pub fn names(destination: &Dir, path: &Path) -> Result<Vec<String>> {
    let shown = || format!("look into the folder {}", path.display());
    let mut names = Vec::new();
    for entry in destination.entries().doing(shown)? {
        let entry = entry.doing(shown)?;
        let name = entry.file_name();
        let ours = name.to_str().filter(|name| is_staging(name.as_bytes()));
        if let Some(name) = ours
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The name of a folder; it cannot be told from it what it was made from.
pub fn name(from: &[u8]) -> String {
    let id = blake3::derive_key("pcc-transfer/1 staging folder", from);
    format!("{STAGING_PREFIX}{}", data_encoding::HEXLOWER.encode(&id[..6]))
}

/// The name of the journal of a list.
pub fn journal_name(manifest: blake3::Hash) -> String {
    format!("{JOURNAL}{}", &manifest.to_hex()[..32])
}

/// Opens a folder that only this user can have made and filled: another user who made it would know the secret in it.
pub fn open_own(destination: &Dir, name: &str) -> std::result::Result<Dir, String> {
    let folder = destination.open_dir(name).map_err(|e| e.to_string())?;
    let metadata = folder.dir_metadata().map_err(|e| e.to_string())?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    if metadata.mode() & 0o022 != 0 {
        return Err("other users may write in it".to_owned());
    }
    Ok(folder)
}

/// Opens a folder that is this user's, or removes it, if that is what a kill or a loss of power has left half made or half removed: nobody is named
/// in it, it is old, and nothing else is in it. Otherwise it says why not.
pub fn open_unless_leftover(destination: &Dir, name: &str) -> std::result::Result<Option<Dir>, String> {
    let folder = open_own(destination, name)?;
    // No identity, none of it, or zeros instead of one; what another version wrote begins with its number.
    let is_nobodys = match folder.read(IDENTITY) {
        Ok(identity) => identity.first().is_none_or(|version| *version == 0),
        Err(e) => e.kind() == ErrorKind::NotFound,
    };
    let changed = folder.dir_metadata().and_then(|metadata| metadata.modified());
    let is_old = changed.is_ok_and(|at| at.into_std().elapsed().is_ok_and(|age| age > AT_WORK));
    if !is_nobodys || !is_old {
        return Ok(Some(folder));
    }
    if let Some(other) = something_else(&folder).map_err(|e| e.to_string())? {
        return Err(format!(
            "it has the name of an unfinished transfer and is none, as \"{other}\" is in it; rename it"
        ));
    }
    destination.remove_dir_all(name).map(|()| None).map_err(|e| e.to_string())
}

/// What is in a folder that no receiver puts into its own, if there is such a thing.
fn something_else(folder: &Dir) -> std::io::Result<Option<String>> {
    let is_hex = |name: &str| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_own = |name: &str| {
        [IDENTITY, MANIFEST, NEW_MANIFEST].contains(&name) || name.strip_prefix(JOURNAL).is_some_and(is_hex)
    };
    for entry in folder.entries()? {
        let entry = entry?;
        let name = printable(entry.file_name().as_bytes());
        let is_folder = entry.file_type()?.is_dir();
        if is_folder && name == DATA {
            for staged in entry.open_dir()?.entries()? {
                let staged = staged?;
                let name = printable(staged.file_name().as_bytes());
                if !is_hex(&name) || staged.file_type()?.is_dir() {
                    return Ok(Some(format!("{DATA}/{name}")));
                }
            }
        } else if is_folder || !is_own(&name) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::staging::{Staging, VERSION};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const NAME: &str = ".pcc-0123456789ab";
    const OLD: Duration = Duration::from_secs(3601);
    const STAGED: &str = "data/00112233445566778899aabbccddeeff";

    /// Makes a folder of that age with these files, starts a receiver, and returns whether it is still there, and what was said.
    fn remains(age: Duration, files: &[(&str, &[u8])]) -> (bool, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(NAME);
        fs::create_dir_all(folder.join(DATA)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        for (name, content) in files {
            fs::write(folder.join(name), content).unwrap();
        }
        fs::File::open(&folder).unwrap().set_modified(std::time::SystemTime::now() - age).unwrap();
        let staging = Staging::open(dir.path()).unwrap();
        let kept = Staging::all_kept(dir.path(), &staging.identity).unwrap();
        assert!(kept.transfers.is_empty());
        assert_eq!(kept.skipped, staging.skipped);
        assert!(Path::new(&staging.shown()).exists(), "the one that is in use");
        (folder.exists(), kept.skipped)
    }

    #[test]
    fn what_is_half_made_or_half_removed_goes_after_an_hour() {
        let (gone, stays) = ((false, vec![]), (true, vec![]));
        let staged = (STAGED, &b"of a file"[..]);
        for identity in [None, Some(&[][..]), Some(&[0; 100])] {
            let files: Vec<_> = identity.map(|identity| (IDENTITY, identity)).into_iter().chain([staged]).collect();
            assert_eq!(remains(OLD, &files), gone);
            assert_eq!(remains(AT_WORK / 2, &files), stays, "it may be at work");
        }
        let journal = format!("{JOURNAL}{}", &STAGED["data/".len()..]);
        assert_eq!(remains(OLD, &[(&journal, b"lines"), (MANIFEST, b"a list"), (NEW_MANIFEST, b"")]), gone);
        assert_eq!(remains(OLD, &[]), gone);
        assert_eq!(remains(OLD, &[(IDENTITY, &[VERSION; 3])]), stays, "something else");
    }

    #[test]
    fn a_folder_with_something_else_in_it_stays() {
        for name in ["thesis.txt", "data/thesis.txt", "journal-of-mine", "receiver.bak"] {
            let (is_there, said) = remains(OLD, &[(STAGED, b"of a file"), (name, b"precious")]);
            assert!(is_there && said.len() == 1, "{name}: {said:?}");
            assert!(said[0].contains(NAME) && said[0].contains(&format!("as \"{name}\" is in it")), "{said:?}");
        }
    }
}
