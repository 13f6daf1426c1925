//! Where keys are kept, so that the other side knows this one again.

use super::credentials::Credentials;
use super::identity::Identity;
use crate::failure::{Context, Failure, Kind, Result};
use crate::folders::{make_folders, sync_name};
use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What is kept in a file.
#[derive(Clone, Copy)]
struct Kept {
    what: &'static str,
    /// What the other side knows it by, which is another when it is made anew.
    known_by: &'static str,
    /// How the user says where it is.
    named_by: &'static str,
}

const SENDER_KEY: Kept =
    Kept { what: "sender key", known_by: "name", named_by: "XDG_CONFIG_HOME or else HOME says where it is" };
const IDENTITY: Kept = Kept {
    what: "identity",
    known_by: "ticket",
    named_by: "--identity, or else XDG_CONFIG_HOME or HOME, says where it is",
};
/// Longer than any of these.
const MAX_LEN: u64 = 64 << 10;

/// The user's sender key; made if there is none yet. The second value says why it cannot be kept, if so.
pub fn sender_key() -> Result<(Credentials, Option<String>)> {
    let Some(path) = place("sender") else {
        return Ok((Credentials::generate()?, Some(not_kept("neither XDG_CONFIG_HOME nor HOME names a folder"))));
    };
    match find_or_make(&path, SENDER_KEY, Credentials::generate) {
        Ok(credentials) => Ok((credentials, None)),
        Err(failure) if failure.kind == Kind::Permission => {
            Ok((Credentials::generate()?, Some(not_kept(&failure.message))))
        }
        Err(failure) => Err(failure),
    }
}

fn not_kept(why: &str) -> String {
    format!("this sender has a key for this run only, so that no later one can take its transfer up: {why}")
}

/// Where a key of this name is kept.
fn place(name: &str) -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(config.join("pcc").join(name))
}

/// What makes this side the one that a ticket names; made if there is none in this file yet.
pub fn identity(path: &Path) -> Result<Identity> {
    find_or_make(path, IDENTITY, Identity::generate)
}

/// A receiver that stays: its ticket is the same after a restart.
#[derive(Serialize, Deserialize)]
pub struct Receiver {
    /// What the ticket names.
    pub identity: Identity,
    /// The port that the ticket names.
    pub port: u16,
}

/// The receiver in this file, or in the one of this user; made if there is none yet.
pub fn receiver(path: Option<&Path>, make: impl FnOnce() -> Result<Receiver>) -> Result<Receiver> {
    let no_place = || {
        let why = "neither XDG_CONFIG_HOME nor HOME names a folder; name a file with --identity";
        Failure::new(Kind::Other, format!("there is no place for what makes the ticket: {why}"))
    };
    let path = path.map(Path::to_owned).or_else(|| place("receiver")).ok_or_else(no_place)?;
    find_or_make(&path, IDENTITY, make)
}

fn find_or_make<T: Serialize + DeserializeOwned>(
    path: &Path,
    kept: Kept,
    generate: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let Kept { what, .. } = kept;
    let key = match open(path) {
        Ok(file) => read(file, path, kept),
        Err(e) if e.kind() == ErrorKind::NotFound => make(path, kept, generate()?),
        Err(e) => Err(Failure::io(format!("read the {what} {}", path.display()), &e)),
    }?;
    // Before others hear of it. One that was there may be of a process that was killed before it could do so, or is about to.
    sync_name(path).doing(|| format!("write the name of the {what} {} to disk", path.display()))?;
    Ok(key)
}

/// Opens what may be no file at all, without waiting for the other end of a pipe.
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}

fn read<T: DeserializeOwned>(file: File, path: &Path, Kept { what, known_by, named_by }: Kept) -> Result<T> {
    let shown = || format!("read the {what} {}", path.display());
    let unusable = |why: &str| Failure::new(Kind::Other, format!("cannot use the {what} {}: {why}", path.display()));
    let metadata = file.metadata().doing(shown)?;
    if !metadata.is_file() {
        return Err(unusable("it is no file; name another"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(unusable(&format!("it belongs to another user; use one of your own: {named_by}")));
    }
    let mut bytes = Vec::new();
    file.take(MAX_LEN).read_to_end(&mut bytes).doing(shown)?;
    // It may be anything that the user named by mistake: nothing may be said that makes them delete it.
    let key = match postcard::take_from_bytes(&bytes) {
        Ok((key, [])) => key,
        _ => return Err(unusable(&format!("this is no {what} of pcc; name another file: {named_by}"))),
    };
    if metadata.mode() & 0o077 != 0 {
        let shown = path.display();
        return Err(unusable(&format!(
            "others may read it: chmod 600 {shown}; if others may have read it, delete it, which gives a new {known_by}"
        )));
    }
    Ok(key)
}

/// Keeps a new key. If another process is faster, that one's counts.
fn make<T: Serialize + DeserializeOwned>(path: &Path, kept: Kept, new_key: T) -> Result<T> {
    let Kept { what, .. } = kept;
    let shown = || format!("keep the {what} in {}", path.display());
    let bytes = postcard::to_stdvec(&new_key).map_err(|e| Failure::new(Kind::Other, e))?;
    make_folders(path.parent().unwrap_or(Path::new("/"))).doing(shown)?;
    // Nobody who may write in that folder knows the name before, and what is there in spite of that is neither followed nor taken.
    let new = path.with_extension(format!("{:016x}.new", fastrand::u64(..)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).doing(shown)?;
    let written = file.write_all(&bytes).and_then(|()| file.sync_all());
    // A name that is taken stays; and no one sees half a key.
    let named = written.and_then(|()| std::fs::hard_link(&new, path));
    let removed = std::fs::remove_file(&new);
    match named {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => read(open(path).doing(shown)?, path, kept),
        done => done.and(removed).doing(shown).map(|()| new_key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_key_stays_the_same_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pcc/sender");
        let find = || find_or_make(&path, SENDER_KEY, Credentials::generate);
        let first = find().unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(find().unwrap().hash(), first.hash());
        assert_eq!(
            make(&path, SENDER_KEY, Credentials::generate().unwrap()).unwrap().hash(),
            first.hash(),
            "whoever comes second takes what is there"
        );
        assert_eq!(std::fs::read_dir(dir.path().join("pcc")).unwrap().count(), 1);
        // What others may have put where a new key could be written first.
        let (victim, another) = (dir.path().join("victim"), dir.path().join("pcc/another"));
        std::fs::write(&victim, "precious").unwrap();
        let guess = another.with_extension(format!("{}.new", std::process::id()));
        std::os::unix::fs::symlink(&victim, guess).unwrap();
        find_or_make(&another, SENDER_KEY, Credentials::generate).unwrap();
        assert_eq!(std::fs::read(victim).unwrap(), b"precious");
        let refused = || find().err().expect("must be refused").message;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let advice =
            format!("chmod 600 {}; if others may have read it, delete it, which gives a new name", path.display());
        assert!(refused().contains(&advice), "{}", refused());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        // What is something else, and may be precious, whoever may read it.
        let mut longer = std::fs::read(&path).unwrap();
        longer.push(0);
        for other in [b"no key", &[b'a'; 2000][..], b"", &longer] {
            std::fs::write(&path, other).unwrap();
            for mode in [0o644, 0o600] {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
                assert!(refused().contains("no sender key of pcc; name another"), "{}", refused());
                assert!(!refused().contains("delete") && !refused().contains("--identity"), "{}", refused());
            }
        }
        let (folder, fifo) = (dir.path().join("pcc"), dir.path().join("fifo"));
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        for odd in [folder, fifo] {
            let refused = find_or_make(&odd, IDENTITY, Identity::generate).err().expect("must be refused").message;
            assert!(refused.contains("it is no file"), "{refused}");
        }
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_err() {
            return println!("skipped: only root can give a file to another user");
        }
        assert!(refused().contains("belongs to another user") && !refused().contains("delete"), "{}", refused());
    }
}
