//! Finds what to send, and opens it again when its turn has come.
//!
//! Whoever may write in a sent folder may be less trusted than whoever sends it. So a link is followed only where the
//! user named it, or asked for it; everything below is opened from the folder it is in, and nothing blocks. What is opened
//! later must be the very file that was listed.
//!
//! What is named must be there, and when it is listed again in the course of a transfer, it must be in the folder that it was in, and not lead
//! elsewhere. What cannot be sent of what is below it is left out.

use super::manifest::{Entry, MAX_DEPTH, MAX_ENTRIES, MAX_FILE, Mtime, PERMISSIONS, What, check_path, is_staging};
use super::selection::{Links, Selection};
use crate::failure::{Failure, Kind, Result, printable};
use crate::same_file::Identity;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{CString, OsStr, OsString};
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file or folder that the user named.
#[derive(Clone)]
struct Root {
    path: PathBuf,
    /// The first of its entries.
    first: usize,
    place: Place,
}

/// What a name led to when it was listed first: devices and inodes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    /// The folder it is in.
    around: Option<(u64, u64)>,
    /// It, where that must not change: a folder, or whatever a link led to. A file may be replaced by a newer one.
    itself: Option<(u64, u64)>,
    is_link: bool,
}

impl Place {
    /// Of this name, which leads to what was opened.
    fn of(path: &Path, opened: &Metadata) -> io::Result<Self> {
        let at = |metadata: &Metadata| (metadata.dev(), metadata.ino());
        let is_link = path.symlink_metadata()?.is_symlink();
        let around = split(path).map(|(folder, _)| folder.metadata()).transpose()?.map(|folder| at(&folder));
        Ok(Self { around, itself: (is_link || opened.is_dir()).then(|| at(opened)), is_link })
    }
}

/// The folder that something is in, and its name there; none of `/` and `..`.
fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    path.file_name().map(|name| (folder.unwrap_or(Path::new(".")), name))
}

/// What the user named: where it led to when it was listed first, and the first of its entries in the last list.
#[derive(Clone)]
pub struct Named(Vec<(Place, usize)>);

/// What was found.
#[derive(Default)]
pub struct Listing {
    /// For the manifest.
    pub entries: Vec<Entry>,
    /// What was left out, and why.
    pub left_out: Vec<LeftOut>,
    /// What the user named and is not there any more, and why.
    pub gone: Vec<String>,
    /// The folders around what is looked at just now.
    around: Vec<(u64, u64)>,
    identities: Vec<Option<Identity>>,
    roots: Vec<Root>,
}

/// What was found below a named folder and is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// As it would have arrived.
    pub path: Vec<u8>,
    /// Why.
    pub why: Why,
}

/// Why something cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// In words.
    pub reason: String,
    /// Whether it is so another time too, as with devices and with names that are not allowed.
    pub is_for_good: bool,
}

impl Why {
    fn for_good(reason: impl Into<String>) -> Why {
        Why { reason: reason.into(), is_for_good: true }
    }

    /// The system says so, for now.
    fn now(error: impl fmt::Display) -> Why {
        Why { reason: error.to_string(), is_for_good: false }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

const UNFINISHED: &str = "it is an unfinished transfer, with its secrets";

/// That what the user named cannot be sent.
fn unreadable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Source, format!("cannot send \"{}\": {why}", printable(path.as_os_str().as_bytes())))
}

fn open<P: rustix::path::Arg>(folder: impl AsFd, name: P, more: OFlags) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags | more, Mode::empty())?.into())
}

fn mtime(metadata: &Metadata) -> Mtime {
    Mtime { secs: metadata.mtime(), nanos: metadata.mtime_nsec().clamp(0, 999_999_999) as u32 }
}

/// The permissions that everybody has who isn't named in an access control list. Where there is one, the bits of the group are the most that
/// any of those have who are named in it (acl(5)), and the group may have less: it gets nothing.
fn granted(opened: &File, mode: u32) -> u32 {
    const OF_GROUP: u32 = 0o070;
    // A list that is too long for this is one.
    let has_list = || match rustix::fs::fgetxattr(opened, "system.posix_acl_access", &mut [0u8; 256]) {
        Ok(len) => len > 0,
        Err(error) => error == Errno::RANGE,
    };
    if mode & OF_GROUP != 0 && has_list() { mode & !OF_GROUP } else { mode }
}

/// The name under which that arrives which the user named.
pub fn name_of(argument: &Path) -> Result<OsString, Why> {
    let full = match argument.file_name() {
        Some(name) => return Ok(name.to_owned()),
        None => argument.canonicalize().map_err(Why::now)?,
    };
    full.file_name().map(OsStr::to_owned).ok_or_else(|| Why::for_good("it has no name; send what is in it"))
}

/// Whether what the user names is there, and each arrives under a name of its own.
pub fn check(arguments: &[PathBuf]) -> Result<()> {
    let mut names: HashMap<OsString, &Path> = HashMap::new();
    for argument in arguments {
        let named = name_of(argument).and_then(|name| {
            let metadata = std::fs::metadata(argument).map_err(Why::now)?;
            check_kind(metadata.is_file() || metadata.is_dir()).map(|()| name)
        });
        let name = named.map_err(|why| unreadable(argument, why))?;
        let shown = |path: &OsStr| printable(path.as_bytes());
        if let Some(other) = names.insert(name.clone(), argument) {
            let message = format!(
                "\"{}\" and \"{}\" would both arrive as \"{}\"; rename one, or send a folder that has both",
                shown(other.as_os_str()),
                shown(argument.as_os_str()),
                shown(&name)
            );
            return Err(Failure::new(Kind::BadName, message));
        }
    }
    Ok(())
}

/// How what is below a named folder is opened.
fn below_flags(links: Links) -> OFlags {
    if links == Links::Follow { OFlags::empty() } else { OFlags::NOFOLLOW }
}

impl Listing {
    /// Lists what is below the given paths.
    pub fn find(arguments: &[PathBuf], selection: &Selection) -> Result<Self> {
        check(arguments)?;
        let mut listing = Self::default();
        for argument in arguments {
            listing.add_root(argument, None, selection).map_err(|why| unreadable(argument, why))?;
        }
        Ok(listing)
    }

    /// Lists it again. What the user named and is gone, or isn't what was named any more, is listed as it was in the last list, with all that was
    /// in it: what has arrived of it stays, and the rest can't be opened.
    pub fn find_again(arguments: &[PathBuf], selection: &Selection, named: &Named, last: &[Entry]) -> Self {
        let mut listing = Self::default();
        let ends = named.0.iter().skip(1).map(|(_, first)| *first).chain([last.len()]);
        for ((argument, &(place, begin)), end) in arguments.iter().zip(&named.0).zip(ends) {
            let first = listing.entries.len();
            if let Err(why) = listing.add_root(argument, Some(place), selection) {
                listing.entries.truncate(first);
                listing.identities.truncate(first);
                listing.roots.retain(|root| root.first < first);
                listing.around.clear();
                listing.roots.push(Root { path: argument.clone(), first, place });
                for entry in &last[begin..end] {
                    // Without an identity nothing is it.
                    listing.push(entry.path.clone(), entry.what.clone(), None);
                }
                if let What::Dir { .. } = last[begin].what {
                    let name = last[begin].shown();
                    listing.gone.push(format!("what has not arrived of \"{name}\" can't be sent any more: {why}"));
                }
            }
        }
        listing
    }

    /// What the user named, for another listing.
    pub fn named(&self) -> Named {
        Named(self.roots.iter().map(|root| (root.place, root.first)).collect())
    }

    /// Adds what the user named; `before` is where it led to when it was listed first.
    fn add_root(&mut self, argument: &Path, before: Option<Place>, selection: &Selection) -> Result<(), Why> {
        let name = name_of(argument)?;
        let metadata = std::fs::metadata(argument).map_err(Why::now)?;
        check_kind(metadata.is_file() || metadata.is_dir())?;
        check_staging(argument)?;
        let opened = open_root(argument, before)?;
        // That of the first time stays: names may lead elsewhere at any moment.
        let place = match before {
            Some(before) => before,
            None => opened.metadata().and_then(|opened| Place::of(argument, &opened)).map_err(Why::now)?,
        };
        self.roots.push(Root { path: argument.to_owned(), first: self.entries.len(), place });
        self.add(opened, name.as_bytes().to_vec(), selection)
    }

    /// Adds a file, or a folder with all that is in it.
    fn add(&mut self, mut opened: File, path: Vec<u8>, selection: &Selection) -> Result<(), Why> {
        let metadata = opened.metadata().map_err(Why::now)?;
        check_kind(metadata.is_file() || metadata.is_dir())?;
        let (mode, mtime) = (granted(&opened, metadata.mode() & PERMISSIONS), mtime(&metadata));
        if metadata.is_file() {
            let size = metadata.len();
            if size > MAX_FILE {
                return Err(Why::for_good(format!("it is longer than {} TiB", MAX_FILE >> 40)));
            }
            if size == 0 && opened.read(&mut [0]).map_err(Why::now)? > 0 {
                let reason = "its length is not known before it is read, as in /proc; send a copy of it";
                return Err(Why::for_good(reason));
            }
            self.push(path, What::File { size, mode, mtime }, Some(Identity::of(&metadata)));
            return Ok(());
        }
        if path.iter().filter(|&&b| b == b'/').count() >= MAX_DEPTH {
            return Err(Why::for_good("it is too deep in folders"));
        }
        let this = (metadata.dev(), metadata.ino());
        if self.around.contains(&this) {
            return Err(Why::for_good("it leads back to a folder that it is in"));
        }
        let mut names: Vec<(CString, FileType)> = Vec::new();
        for entry in Dir::read_from(&opened).map_err(system)? {
            let entry = entry.map_err(system)?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                names.push((entry.file_name().to_owned(), entry.file_type()));
            }
        }
        names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.push(path.clone(), What::Dir { mode, mtime }, None);
        self.around.push(this);
        for (name, kind) in names {
            // More is refused anyway, and with links that are followed there may be no end.
            if self.entries.len() > MAX_ENTRIES {
                break;
            }
            let below = [&path, &b"/"[..], name.as_bytes()].concat();
            if selection.excludes(&below) {
                continue;
            }
            if let Err(why) = self.add_below(&opened, (&name, kind), &below, selection) {
                self.left_out.push(LeftOut { path: below, why });
            }
        }
        self.around.pop();
        Ok(())
    }

    /// Adds what is in a folder by this name, and of this kind as far as the folder knows.
    fn add_below(
        &mut self,
        folder: &File,
        (name, kind): (&CString, FileType),
        path: &[u8],
        selection: &Selection,
    ) -> Result<(), Why> {
        let may_be_link = matches!(kind, FileType::Symlink | FileType::Unknown);
        let is_followed = selection.links == Links::Follow && may_be_link;
        let (look, nofollow) = match is_followed {
            true => (AtFlags::empty(), OFlags::empty()),
            false => (AtFlags::SYMLINK_NOFOLLOW, OFlags::NOFOLLOW),
        };
        let kind = match kind {
            known if known != FileType::Unknown && !is_followed => known,
            _ => match statat(folder, name, look) {
                Ok(there) => FileType::from_raw_mode(there.st_mode),
                // Gone since the folder was read; but a link that leads nowhere is there.
                Err(Errno::NOENT) if statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_err() => return Ok(()),
                Err(e) => return Err(system(e)),
            },
        };
        match kind {
            FileType::Symlink if selection.links == Links::Skip => Ok(()),
            FileType::Symlink => {
                check_path(path).map_err(|why| Why::for_good(format!("it {why}")))?;
                let target = readlinkat(folder, name, Vec::new()).map_err(system)?;
                self.push(path.to_vec(), What::Link { target: target.into_bytes() }, None);
                Ok(())
            }
            FileType::Directory if is_staging(name.as_bytes()) => Err(Why::for_good(UNFINISHED)),
            kind => {
                // Opening a device can do something.
                check_kind(matches!(kind, FileType::RegularFile | FileType::Directory))?;
                check_path(path).map_err(|why| Why::for_good(format!("it {why}")))?;
                if is_followed {
                    check_staging(&self.full(path))?;
                }
                match open(folder, name.as_c_str(), nofollow) {
                    Ok(opened) => self.add(opened, path.to_vec(), selection),
                    Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                    Err(e) => Err(Why::now(e)),
                }
            }
        }
    }

    /// Where this is that is below the root being listed.
    fn full(&self, path: &[u8]) -> PathBuf {
        let root = self.roots.last().map(|root| root.path.as_path()).unwrap_or(Path::new(""));
        below(path).map_or_else(|| root.to_owned(), |below| root.join(OsStr::from_bytes(below)))
    }

    fn push(&mut self, path: Vec<u8>, what: What, identity: Option<Identity>) {
        self.entries.push(Entry { path, what });
        self.identities.push(identity);
    }
}

/// Refuses what is, or leads into, the folder of an unfinished transfer. What is gone is seen when it is opened.
fn check_staging(path: &Path) -> Result<(), Why> {
    let is_in = |full: PathBuf| full.components().any(|part| is_staging(part.as_os_str().as_bytes()));
    if path.canonicalize().is_ok_and(is_in) { Err(Why::for_good(UNFINISHED)) } else { Ok(()) }
}

/// Opens what the user named. If it was listed before, it must be in the same folder, and no link may have taken its place.
fn open_root(argument: &Path, before: Option<Place>) -> Result<File, Why> {
    let Some(before) = before else { return open(CWD, argument, OFlags::empty()).map_err(Why::now) };
    let other = || Why::now("it is not what was named any more");
    let at = |file: &File| file.metadata().map(|metadata| (metadata.dev(), metadata.ino())).map_err(Why::now);
    let opened = match split(argument) {
        Some((folder, name)) => {
            let folder = open(CWD, folder, OFlags::DIRECTORY).map_err(Why::now)?;
            if before.around != Some(at(&folder)?) {
                return Err(other());
            }
            let nofollow = if before.is_link { OFlags::empty() } else { OFlags::NOFOLLOW };
            open(&folder, name, nofollow).map_err(|_| other())?
        }
        None => open(CWD, argument, OFlags::empty()).map_err(Why::now)?,
    };
    let is_same = match before.itself {
        Some(itself) => at(&opened)? == itself,
        None => opened.metadata().map_err(Why::now)?.is_file(),
    };
    if is_same { Ok(opened) } else { Err(other()) }
}

fn check_kind(is_right: bool) -> Result<(), Why> {
    if is_right { Ok(()) } else { Err(Why::for_good("it is neither a file nor a folder nor a link")) }
}

fn system(error: Errno) -> Why {
    Why::now(io::Error::from(error))
}

/// Opens what was listed, one after the other.
pub struct Opener {
    below: OFlags,
    identities: Vec<Option<Identity>>,
    roots: Vec<Root>,
    /// The folder that was used last, because the next file is likely in it too.
    folder: Option<(Vec<u8>, usize, File)>,
}

impl Opener {
    /// Of this listing; gives back the entries.
    pub fn new(listing: Listing, links: Links) -> (Self, Vec<Entry>) {
        let Listing { entries, identities, roots, .. } = listing;
        (Self { below: below_flags(links), identities, roots, folder: None }, entries)
    }

    fn root(&self, file: u32) -> usize {
        self.roots.partition_point(|root| root.first <= file as usize) - 1
    }

    /// Opens a file, and tells how it is. `None` if it is no longer what was listed.
    pub fn open(&mut self, file: u32, entry: &Entry) -> io::Result<Option<(File, Metadata)>> {
        let Some(identity) = self.identities[file as usize] else { return Ok(None) };
        let opened = match self.reach(self.root(file), entry) {
            Ok(opened) => opened,
            // As well as a link in its place.
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
            Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => return Ok(None),
            Err(e) => return Err(e),
        };
        let metadata = opened.metadata()?;
        Ok((metadata.is_file() && Identity::of(&metadata) == identity).then_some((opened, metadata)))
    }

    /// Whether nothing is there any more.
    pub fn is_gone(&mut self, file: u32, entry: &Entry) -> bool {
        matches!(self.reach(self.root(file), entry), Err(e) if e.kind() == io::ErrorKind::NotFound)
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
                folder = open(&folder, name, OFlags::DIRECTORY | self.below)?;
            }
            self.folder = Some((parent.to_vec(), root, folder));
        }
        match &self.folder {
            Some((_, _, folder)) => open(folder, name, self.below),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// The path below what the user named.
fn below(path: &[u8]) -> Option<&[u8]> {
    path.iter().position(|&b| b == b'/').map(|slash| &path[slash + 1..])
}
