//! The folder inside the destination where an unfinished transfer lives: `.pcc-<id>/`.
//!
//! It holds the receiver's identity, the manifest, the journal of verified blocks and the data, and only its owner may look
//! inside. Names in it are hashes: none from the network is used before a file is complete.

use super::inodes;
use super::journal::Journal;
use super::manifest::Manifest;
use super::staging_folder::{
    DATA, IDENTITY, MANIFEST, NEW_MANIFEST, journal_name, name, names, open_own, open_unless_leftover,
};
use crate::failure::{Context, Failure, Kind, Result};
use crate::folders;
use crate::peer::credentials::SenderId;
use crate::peer::identity::Identity;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(super) const VERSION: u8 = 4;
/// How long a file system may take to forget a file that was closed.
const CLOSING: Duration = Duration::from_secs(2);
/// How long a folder may seem in use after its owner has ended.
const LOCKED_AFTER_END: Duration = Duration::from_millis(500);

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u8,
    /// Whether it is one transfer of many of a receiver that stays.
    kept: bool,
    identity: Identity,
    port: u16,
}

/// Whose a transfer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The sender.
    pub sender: SenderId,
    /// Which of its transfers, see [`super::manifest::Manifest::transfer`].
    pub transfer: [u8; 32],
}

/// What a transfer is bound to.
pub struct Bound {
    /// Whose it is.
    pub holder: Holder,
    /// The encoded manifest.
    pub manifest: Vec<u8>,
}

/// What a staging folder has of the list of files.
enum List {
    /// None: no sender was bound to it.
    None,
    Whole(Bound),
    /// Something that can't be read as one, so that nobody knows what the data is.
    Damaged,
}

/// What an earlier start of a receiver that stays has left.
#[derive(Default)]
pub struct Unfinished {
    /// Transfers that can go on.
    pub transfers: Vec<(Staging, Bound)>,
    /// Why others can't.
    pub skipped: Vec<String>,
}

/// An open and locked staging folder.
pub struct Staging {
    /// The destination. Everything happens inside it.
    pub destination: Dir,
    /// Its path, for messages.
    pub path: PathBuf,
    /// The folder of the data, one numbered file per entry.
    pub data: Dir,
    /// The key pair and secret of this receiver.
    pub identity: Identity,
    /// The port it listened on last, 0 at first.
    pub port: u16,
    kept: bool,
    /// Why other folders in the destination that look like this one were not taken up.
    pub skipped: Vec<String>,
    folder: Dir,
    name: String,
    /// Held as long as this process owns the folder.
    lock: File,
}

impl Staging {
    /// Takes up the unfinished transfer in the destination, whoever sends it, or prepares a new one.
    #[cfg(test)]
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_for(path, |_| true)
    }

    /// Takes up the unfinished transfer of a sender that is welcome, or prepares a new one.
    pub fn open_for(path: &Path, is_welcome: impl Fn(SenderId) -> bool) -> Result<Self> {
        let destination = open_destination(path)?;
        let mut skipped = Vec::new();
        for name in names(&destination, path)? {
            let shown = path.join(&name).display().to_string();
            let folder = match open_unless_leftover(&destination, &name) {
                Ok(Some(folder)) => folder,
                Ok(None) => continue,
                Err(why) => {
                    skipped.push(format!("{shown} is left alone: {why}"));
                    continue;
                }
            };
            match Self::resume(&destination, path, folder, name)? {
                Some(staging) if !staging.kept => match staging.list()? {
                    List::Whole(Bound { holder, .. }) if !is_welcome(holder.sender) => {
                        let sender = holder.sender;
                        skipped.push(format!("{shown} is left alone: it is of {sender}, whom --from does not name"));
                    }
                    _ => return Ok(Self { skipped, ..staging }),
                },
                _ => {}
            }
        }
        let identity = Identity::generate()?;
        let name = name(&identity.secret);
        Ok(Self { skipped, ..Self::create(destination, path, identity, name, false)? })
    }

    /// Takes up the unfinished transfer of one sender to a receiver that stays, or prepares a new one. One whose list of files is damaged begins
    /// anew: the sender has everything.
    pub fn kept(path: &Path, identity: &Identity, holder: Holder) -> Result<(Self, Option<Bound>)> {
        let destination = open_destination(path)?;
        let name = name(&[&identity.secret[..], &holder.sender.0, &holder.transfer].concat());
        let shown = || format!("take up the transfer in {}", path.join(&name).display());
        match destination.symlink_metadata(&name) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(Failure::io(shown(), &e)),
            Ok(_) => {
                let why = |why| Failure::new(Kind::Permission, format!("cannot {}: {why}", shown()));
                let folder = open_own(&destination, &name).map_err(why)?;
                let is_whole = folder.exists(IDENTITY);
                match Self::resume(&destination, path, folder, name.clone())? {
                    Some(staging) => match staging.list()? {
                        List::None => return Ok((staging, None)),
                        List::Whole(bound) => return Ok((staging, Some(bound))),
                        List::Damaged => staging.remove()?,
                    },
                    None if is_whole => {
                        let message = format!("cannot {}: another pcc recv uses it, or it is damaged", shown());
                        return Err(Failure::new(Kind::Other, message));
                    }
                    // Half removed.
                    None => destination.remove_dir_all(&name).doing(shown)?,
                }
            }
        }
        Ok((Self::create(destination, path, identity.clone(), name, true)?, None))
    }

    /// All unfinished transfers to a receiver that stays; those that no sender was bound to are removed.
    pub fn all_kept(path: &Path, identity: &Identity) -> Result<Unfinished> {
        let destination = open_destination(path)?;
        let mut unfinished = Unfinished::default();
        for name in names(&destination, path)? {
            let folder = match open_unless_leftover(&destination, &name) {
                Ok(Some(folder)) => folder,
                Ok(None) => continue,
                Err(why) => {
                    unfinished.skipped.push(format!("{} is left alone: {why}", path.join(&name).display()));
                    continue;
                }
            };
            match Self::resume(&destination, path, folder, name) {
                Ok(Some(staging)) if staging.kept && staging.identity.secret == identity.secret => {
                    match staging.list()? {
                        List::Whole(bound) => unfinished.transfers.push((staging, bound)),
                        List::None => staging.remove()?,
                        List::Damaged => unfinished.skipped.push(format!(
                            "the list of files in {} is damaged; that transfer begins anew when its sender comes back",
                            staging.shown()
                        )),
                    }
                }
                // Somebody else's.
                _ => {}
            }
        }
        Ok(unfinished)
    }

    /// `None` if another receiver is using the folder, or it is no complete one.
    fn resume(destination: &Dir, path: &Path, folder: Dir, name: String) -> Result<Option<Self>> {
        let shown = || format!("resume the transfer in {}", path.join(&name).display());
        let Ok(mut lock) = folder.open_with(IDENTITY, OpenOptions::new().read(true).write(true)) else {
            return Ok(None);
        };
        if lock_soon(&lock).is_err() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        lock.read_to_end(&mut bytes).doing(shown)?;
        let Ok(saved) = postcard::from_bytes::<Saved>(&bytes) else { return Ok(None) };
        if saved.version == 0 {
            // After a loss of power there may be zeros in a file. Nobody knows this one's ticket yet.
            return Ok(None);
        }
        if saved.version != VERSION {
            return Err(Failure::new(
                Kind::Version,
                format!(
                    "{} was left by another version of pcc; use that one, or delete it",
                    path.join(&name).display()
                ),
            ));
        }
        let data = match folder.open_dir(DATA) {
            Ok(data) => data,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Failure::io(shown(), &e)),
        };
        Ok(Some(Self {
            destination: destination.try_clone().doing(shown)?,
            path: path.to_owned(),
            data,
            identity: saved.identity,
            port: saved.port,
            kept: saved.kept,
            skipped: Vec::new(),
            folder,
            name,
            lock,
        }))
    }

    fn create(destination: Dir, path: &Path, identity: Identity, name: String, kept: bool) -> Result<Self> {
        let shown = || format!("prepare a transfer in {}", path.display());
        let mut private = DirBuilder::new();
        private.mode(0o700);
        destination.create_dir_with(&name, &private).map_err(|e| inodes::named(e, &destination)).doing(shown)?;
        Self::begin(destination, path, identity, name, kept)
    }

    /// In a folder that was just made.
    fn begin(destination: Dir, path: &Path, identity: Identity, name: String, kept: bool) -> Result<Self> {
        let shown = || format!("prepare a transfer in {}", path.display());
        // Whoever may write in the destination may have put another in its place.
        let folder = open_own(&destination, &name).map_err(|why| {
            // If it is another, something is likely in it, and it stays.
            let _ = destination.remove_dir(&name);
            let hint =
                "if its file system keeps no permissions, mount it so that it is yours alone (uid=..., umask=077)";
            Failure::new(Kind::Permission, format!("cannot {}: {why}; {hint}", shown()))
        })?;
        let made = folder.try_clone().doing(shown)?;
        // On a full disk, say, what is half made is of no use, and each start would leave another.
        Self::fill(destination, path, identity, name, kept, folder).inspect_err(|_| drop(made.remove_open_dir_all()))
    }

    /// Puts into it what makes it a staging folder.
    fn fill(destination: Dir, path: &Path, identity: Identity, name: String, kept: bool, folder: Dir) -> Result<Self> {
        let shown = || format!("prepare a transfer in {}", path.display());
        let mut private = DirBuilder::new();
        private.mode(0o700);
        folder.create_dir_with(DATA, &private).map_err(|e| inodes::named(e, &folder)).doing(shown)?;
        let data = folder.open_dir(DATA).doing(shown)?;
        let lock = private_file(&folder, IDENTITY).doing(shown)?;
        lock_soon(&lock).doing(shown)?;
        let (path, skipped) = (path.to_owned(), Vec::new());
        let mut staging = Self { destination, path, data, identity, port: 0, kept, skipped, folder, name, lock };
        staging.save(0)?;
        // The sender may come back after a loss of power.
        sync(&staging.folder).and_then(|()| sync(&staging.destination)).doing(shown)?;
        Ok(staging)
    }

    /// Its path, for messages.
    pub fn shown(&self) -> String {
        self.path.join(&self.name).display().to_string()
    }

    /// Whether somebody has removed it, or put another in its place.
    pub fn is_removed(&self) -> bool {
        let id = |metadata: Metadata| (metadata.dev(), metadata.ino());
        let there = self.destination.symlink_metadata(&self.name).map(id);
        !self.folder.dir_metadata().map(id).is_ok_and(|own| there.is_ok_and(|there| there == own))
    }

    /// Remembers who this is and where it listens, for the next start.
    pub fn save(&mut self, port: u16) -> Result<()> {
        self.port = port;
        let shown = || format!("write in {}", self.shown());
        let encoded = |port| {
            let saved = Saved { version: VERSION, kept: self.kept, identity: self.identity.clone(), port };
            postcard::to_stdvec(&saved).map_err(|e| Failure::new(Kind::Other, e))
        };
        let mut bytes = encoded(port)?;
        // Always as long as with the longest port: a loss of power may keep what is written and not a new length.
        bytes.resize(encoded(u16::MAX)?.len(), 0);
        // In place, because the lock is on this very file.
        let mut file = self.folder.open_with(IDENTITY, OpenOptions::new().write(true)).doing(shown)?;
        file.write_all(&bytes).doing(shown)?;
        file.set_len(bytes.len() as u64).doing(shown)?;
        file.sync_all().doing(shown)
    }

    /// What this transfer is bound to, if it is.
    pub fn bound(&self) -> Result<Option<Bound>> {
        match self.list()? {
            List::None => Ok(None),
            List::Whole(bound) => Ok(Some(bound)),
            List::Damaged => {
                let message = format!("the list of files in {} is damaged; delete it to begin anew", self.shown());
                Err(Failure::new(Kind::Other, message))
            }
        }
    }

    fn list(&self) -> Result<List> {
        let bytes = match self.folder.read(MANIFEST) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(List::None),
            Err(e) => return Err(Failure::io(format!("read {}", self.shown()), &e)),
        };
        match postcard::take_from_bytes(&bytes) {
            Ok(((sender, transfer), manifest)) if Manifest::decode(manifest).is_ok() => {
                Ok(List::Whole(Bound { holder: Holder { sender, transfer }, manifest: manifest.to_vec() }))
            }
            _ => Ok(List::Damaged),
        }
    }

    /// Binds this transfer to a sender and its manifest, in place of an earlier one of the same transfer.
    pub fn bind(&self, holder: Holder, manifest: &[u8]) -> Result<()> {
        let head = postcard::to_stdvec(&(holder.sender, holder.transfer));
        let head = head.map_err(|e| Failure::new(Kind::Other, e))?;
        let shown = || format!("write in {}", self.shown());
        let mut file = private_file(&self.folder, NEW_MANIFEST).doing(shown)?;
        file.write_all(&head).and_then(|()| file.write_all(manifest)).doing(shown)?;
        file.sync_all().doing(shown)?;
        self.folder.rename(NEW_MANIFEST, &self.folder, MANIFEST).doing(shown)
    }

    /// The journal that belongs to a manifest.
    pub fn journal(&self, manifest: blake3::Hash) -> Result<Journal> {
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true).mode(0o600);
        let shown = || format!("open the journal in {}", self.shown());
        let opened = self.folder.open_with(journal_name(manifest), &options);
        let file = opened.map_err(|e| inodes::named(e, &self.folder)).doing(shown)?.into_std();
        Ok(Journal::new(file, self.shown()))
    }

    /// An empty one.
    pub fn new_journal(&self, manifest: blake3::Hash) -> Result<Journal> {
        self.remove_journal(manifest);
        self.journal(manifest)
    }

    /// Removes the journal of a manifest that is not in use. One that stays does no harm.
    pub fn remove_journal(&self, manifest: blake3::Hash) {
        let _ = self.folder.remove_file(journal_name(manifest));
    }

    /// Removes the data of a file that does not come. If it stays, it goes with the folder.
    pub fn remove_staged(&self, name: &str) {
        let _ = self.data.remove_file(name);
    }

    /// A handle on the file system that is older than all that was received by this process.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }

    /// Removes the folder: nothing is left to resume.
    pub fn remove(self) -> Result<()> {
        let shown = || format!("remove {}", self.path.join(&self.name).display());
        // First, so that no later receiver resumes from what a kill or a loss of power leaves half removed.
        match self.folder.remove_file(IDENTITY) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(Failure::io(shown(), &e)),
            _ => sync(&self.folder).doing(shown)?,
        }
        // On NFS and FUSE what is removed has another name until it is closed, and a little longer.
        let Self { destination, path, name, lock, .. } = self;
        drop(lock);
        let until = Instant::now() + CLOSING;
        while let Err(e) = destination.remove_dir_all(&name) {
            match e.kind() {
                // Somebody was faster.
                ErrorKind::NotFound => break,
                ErrorKind::DirectoryNotEmpty if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
                _ => return Err(Failure::io(format!("remove {}", path.join(&name).display()), &e)),
            }
        }
        sync(&destination).doing(|| format!("write the folder {} to disk", path.display()))
    }
}

/// Locks the file of a staging folder, unless a receiver that runs has it. A process that is being started holds what was locked by the one
/// that starts it until it runs its own program, so that a folder may seem in use for a moment after its owner has ended.
fn lock_soon(file: &File) -> rustix::io::Result<()> {
    let until = Instant::now() + LOCKED_AFTER_END;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            result => return result,
        }
    }
}

/// Opens the folder that files go to; made if it is not there.
fn open_destination(path: &Path) -> Result<Dir> {
    let shown = || format!("open the folder {}", path.display());
    if path.exists() && !path.is_dir() {
        return Err(Failure::new(
            Kind::Other,
            format!("{} is no folder; name one that files can go to", path.display()),
        ));
    }
    folders::make_folders(path).doing(shown)?;
    Dir::open_ambient_dir(path, ambient_authority()).doing(shown)
}

fn sync(folder: &Dir) -> std::io::Result<()> {
    folders::sync(&folders::open(folder)?)
}

fn private_file(folder: &Dir, name: &str) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
    folder.open_with(name, &options).map_err(|e| inodes::named(e, folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    /// After a loss of power a file may have its new content and its old length.
    #[test]
    fn another_port_does_not_change_the_length() {
        let dir = tempfile::tempdir().unwrap();
        let mut staging = Staging::open(dir.path()).unwrap();
        let (secret, file) = (staging.identity.secret, dir.path().join(&staging.name).join(IDENTITY));
        let len = || fs::metadata(&file).unwrap().len();
        let first = len();
        for port in [u16::MAX, 1, 443] {
            staging.save(port).unwrap();
            assert_eq!(len(), first, "port {port}");
        }
        drop(staging);
        let staging = Staging::open(dir.path()).unwrap();
        assert_eq!((staging.identity.secret, staging.port), (secret, 443));
    }

    #[test]
    fn only_a_folder_of_this_user_alone_is_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let staging = Staging::open(dir.path()).unwrap();
        let (name, folder) = (staging.name.clone(), dir.path().join(&staging.name));
        // What is in it may be taken up.
        drop(staging);
        let found = || open_own(&open_destination(dir.path()).unwrap(), &name).map(drop);
        let passed_over = |why: &str| {
            let mut other = Staging::open(dir.path()).unwrap();
            assert_ne!(other.name, name);
            let skipped = std::mem::take(&mut other.skipped);
            other.remove().unwrap();
            skipped.len() == 1 && skipped[0].ends_with(why)
        };
        assert_eq!(found(), Ok(()));
        for mode in [0o770, 0o707] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(found().unwrap_err(), "other users may write in it");
            assert!(passed_over("left alone: other users may write in it"));
        }
        let begun = |why: &str| {
            let (destination, identity) = (open_destination(dir.path()).unwrap(), Identity::generate().unwrap());
            let failure = Staging::begin(destination, dir.path(), identity, name.clone(), false).err().unwrap();
            failure.kind == Kind::Permission && failure.message.contains(why)
        };
        assert!(begun("other users may write in it"), "as somebody may have put it in the place of one that was made");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        if chown(&folder, Some(65_534), None).is_err() {
            return println!("skipped: only root can give a folder to another user");
        }
        assert_eq!(found().unwrap_err(), "it belongs to another user");
        assert!(passed_over("left alone: it belongs to another user"));
        assert!(begun("it belongs to another user"));
        chown(&folder, Some(0), None).unwrap();
        assert_eq!(found(), Ok(()));
    }
}
