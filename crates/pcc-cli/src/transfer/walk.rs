//! Finds what to send, and opens it again when its turn has come.
//!
//! Whoever may write in a sent folder may be less trusted than whoever sends it. So a link is followed only where the
//! user named it; everything below is opened from the folder it is in, no link is followed and nothing blocks. What is
//! opened later must be the very file that was listed.

use super::failure::{Failure, Kind, Result, printable};
use super::manifest::{Entry, MAX_DEPTH, Mtime, PERMISSIONS, STAGING_PREFIX, What};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use std::ffi::{CString, OsStr};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What makes a file the one that was listed, unchanged. The time of change, unlike that of modification, cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether this is still the file.
    pub fn is(&self, file: &File) -> io::Result<bool> {
        let metadata = file.metadata()?;
        Ok(metadata.is_file() && Self::of(&metadata) == *self)
    }
}

/// A file or folder that the user named.
struct Root {
    path: PathBuf,
    /// The first of its entries.
    first: usize,
}

/// What was found.
#[derive(Default)]
pub struct Listing {
    /// For the manifest.
    pub entries: Vec<Entry>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    identities: Vec<Option<Identity>>,
    roots: Vec<Root>,
}

/// That a file cannot be read.
pub fn unreadable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Source, format!("cannot read \"{}\": {why}", printable(path.as_os_str().as_bytes())))
}

fn open<P: rustix::path::Arg>(folder: impl AsFd, name: P, more: OFlags) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags | more, Mode::empty())?.into())
}

fn mtime(metadata: &Metadata) -> Mtime {
    Mtime { secs: metadata.mtime(), nanos: metadata.mtime_nsec().clamp(0, 999_999_999) as u32 }
}

impl Listing {
    /// Lists what is below the given paths.
    pub fn find(arguments: &[PathBuf]) -> Result<Self> {
        let mut listing = Self::default();
        for argument in arguments {
            let failed = |e| unreadable(argument, e);
            let name = match argument.file_name() {
                Some(name) => name.to_owned(),
                None => {
                    let full = argument.canonicalize().map_err(failed)?;
                    let name = full.file_name().map(OsStr::to_owned);
                    name.ok_or_else(|| unreadable(argument, "it has no name; send what is in it"))?
                }
            };
            let metadata = std::fs::metadata(argument).map_err(failed)?;
            check_kind(argument, metadata.is_file() || metadata.is_dir())?;
            let opened = open(CWD, argument.as_path(), OFlags::empty()).map_err(failed)?;
            listing.roots.push(Root { path: argument.clone(), first: listing.entries.len() });
            listing.add(opened, name.as_bytes().to_vec(), argument)?;
        }
        Ok(listing)
    }

    /// Adds a file, or a folder with all that is in it.
    fn add(&mut self, mut opened: File, path: Vec<u8>, shown: &Path) -> Result<()> {
        let failed = |e: io::Error| unreadable(shown, e);
        let metadata = opened.metadata().map_err(failed)?;
        check_kind(shown, metadata.is_file() || metadata.is_dir())?;
        let (mode, mtime) = (metadata.mode() & PERMISSIONS, mtime(&metadata));
        if metadata.is_file() {
            let size = metadata.len();
            if size == 0 && matches!(opened.read(&mut [0]), Ok(1)) {
                let why = "its length is not known before it is read, as in /proc; send a copy of it";
                return Err(unreadable(shown, why));
            }
            self.push(path, What::File { size, mode, mtime }, Some(Identity::of(&metadata)));
            return Ok(());
        }
        if path.iter().filter(|&&b| b == b'/').count() >= MAX_DEPTH {
            return Err(unreadable(shown, "it is too deep in folders"));
        }
        self.push(path.clone(), What::Dir { mode, mtime }, None);
        let mut names: Vec<CString> = Vec::new();
        for entry in Dir::read_from(&opened).map_err(|e| failed(e.into()))? {
            let name = entry.map_err(|e| failed(e.into()))?.file_name().to_owned();
            if !matches!(name.as_bytes(), b"." | b"..") {
                names.push(name);
            }
        }
        names.sort_unstable();
        for name in names {
            let below = [&path, &b"/"[..], name.as_bytes()].concat();
            self.add_below(&opened, &name, below, &shown.join(OsStr::from_bytes(name.as_bytes())))?;
        }
        Ok(())
    }

    /// Adds what has this name in a folder.
    fn add_below(&mut self, folder: &File, name: &CString, path: Vec<u8>, shown: &Path) -> Result<()> {
        let failed = |e: rustix::io::Errno| unreadable(shown, io::Error::from(e));
        let there = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        match FileType::from_raw_mode(there.st_mode) {
            FileType::Symlink => {
                let target = readlinkat(folder, name, Vec::new()).map_err(failed)?.into_bytes();
                self.push(path, What::Link { target }, None);
                Ok(())
            }
            FileType::Directory if is_staging(name.as_bytes()) => {
                let name = printable(shown.as_os_str().as_bytes());
                self.left_out.push(format!("\"{name}\" is left out: it is an unfinished transfer, with its secrets"));
                Ok(())
            }
            kind => {
                // Opening a device can do something.
                check_kind(shown, matches!(kind, FileType::RegularFile | FileType::Directory))?;
                let opened = open(folder, name.as_c_str(), OFlags::NOFOLLOW);
                self.add(opened.map_err(|e| unreadable(shown, e))?, path, shown)
            }
        }
    }

    fn push(&mut self, path: Vec<u8>, what: What, identity: Option<Identity>) {
        self.entries.push(Entry { path, what });
        self.identities.push(identity);
    }
}

fn check_kind(shown: &Path, is_right: bool) -> Result<()> {
    if is_right { Ok(()) } else { Err(unreadable(shown, "it is neither a file nor a folder; leave it out")) }
}

/// Whether `pcc recv` gives its folders such names.
fn is_staging(name: &[u8]) -> bool {
    let id = name.strip_prefix(STAGING_PREFIX.as_bytes());
    id.is_some_and(|id| id.len() == 12 && id.iter().all(u8::is_ascii_hexdigit))
}

/// Opens what was listed, one after the other.
pub struct Opener {
    identities: Vec<Option<Identity>>,
    roots: Vec<Root>,
    /// The folder that was used last, because the next file is likely in it too.
    folder: Option<(Vec<u8>, usize, File)>,
}

impl Opener {
    /// Of this listing; gives back the entries.
    pub fn new(listing: Listing) -> (Self, Vec<Entry>) {
        let Listing { entries, identities, roots, .. } = listing;
        (Self { identities, roots, folder: None }, entries)
    }

    fn root(&self, file: u32) -> usize {
        self.roots.partition_point(|root| root.first <= file as usize) - 1
    }

    /// Opens a file, and tells what to compare it with. `None` if it is no longer what was listed.
    pub fn open(&mut self, file: u32, entry: &Entry) -> io::Result<Option<(File, Identity)>> {
        let Some(identity) = self.identities[file as usize] else { return Ok(None) };
        let opened = match self.reach(self.root(file), entry) {
            Ok(opened) => opened,
            // As well as a link in its place.
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => return Ok(None),
            Err(e) => return Err(e),
        };
        Ok(identity.is(&opened)?.then_some((opened, identity)))
    }

    fn reach(&mut self, root: usize, entry: &Entry) -> io::Result<File> {
        let Some(below) = below(&entry.path) else {
            return open(CWD, self.roots[root].path.as_path(), OFlags::empty());
        };
        let (parent, name) = match below.iter().rposition(|&b| b == b'/') {
            Some(slash) => (&below[..slash], &below[slash + 1..]),
            None => (&b""[..], below),
        };
        let is_last = |(path, of, _): &&(Vec<u8>, usize, File)| *of == root && path == parent;
        if self.folder.as_ref().filter(is_last).is_none() {
            let mut folder = open(CWD, self.roots[root].path.as_path(), OFlags::DIRECTORY)?;
            for name in parent.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
                folder = open(&folder, name, OFlags::DIRECTORY | OFlags::NOFOLLOW)?;
            }
            self.folder = Some((parent.to_vec(), root, folder));
        }
        match &self.folder {
            Some((_, _, folder)) => open(folder, name, OFlags::NOFOLLOW),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// The path below what the user named.
fn below(path: &[u8]) -> Option<&[u8]> {
    path.iter().position(|&b| b == b'/').map(|slash| &path[slash + 1..])
}
