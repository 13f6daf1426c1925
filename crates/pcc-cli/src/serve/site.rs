//! The folder that is served. No path leads out of it, whatever it is and whatever links there are in the folder.

use super::path::Place;
use super::version::Version;
use crate::failure::{Context, Failure, Kind, Result};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What stands for a folder, if it is there.
const INDEX: &str = "index.html";
/// Names in a listing, beyond which it says that there are more.
pub const MAX_ENTRIES: usize = 10_000;

/// A folder and what of it is served.
pub struct Site {
    folder: Dir,
    hidden: bool,
}

/// What is at a place.
pub enum Found {
    /// A file, open, and the path at which it was: for a folder, that of its index.
    File(File, Version, PathBuf),
    /// A folder without an index.
    Folder(Listing),
    /// A folder, although the URL has no slash at its end.
    WithoutSlash,
}

/// What is in a folder.
#[derive(Debug)]
pub struct Listing {
    /// Folders first, each by their names.
    pub entries: Vec<Entry>,
    /// Whether there are more names than a listing has. It then has those that come first.
    pub is_cut: bool,
}

/// A file or folder in a listing.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// The size of a file in bytes.
    pub size: Option<u64>,
    /// When it was modified, if the file system knows.
    pub modified: Option<SystemTime>,
}

/// Why there is nothing to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing that is served is there.
    Missing,
    /// It is there, and not for others.
    Forbidden,
    /// The disk or the operating system failed.
    Failed,
}

impl Site {
    /// Serves this folder; with `hidden`, also what has a name that begins with a dot.
    pub fn open(folder: &Path, hidden: bool) -> Result<Site> {
        let shown = folder.display();
        let opened = Dir::open_ambient_dir(folder, ambient_authority());
        let folder = opened.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::new(Kind::Source, format!("there is no folder {shown}")),
            ErrorKind::NotADirectory => {
                Failure::new(Kind::Source, format!("{shown} is no folder; name the one to serve"))
            }
            _ => Failure::io(format!("open {shown}"), &error),
        })?;
        folder.entries().doing(|| format!("read {shown}"))?;
        Ok(Site { folder, hidden })
    }

    /// What is there.
    pub fn find(&self, place: &Place) -> Result<Found, Refusal> {
        if place.is_hidden && !self.hidden {
            return Err(Refusal::Missing);
        }
        let path = if place.path.as_os_str().is_empty() { Path::new(".") } else { &place.path };
        if !self.folder.metadata(path)?.is_dir() {
            return if place.is_folder { Err(Refusal::Missing) } else { self.file(path) };
        }
        if !place.is_folder {
            return Ok(Found::WithoutSlash);
        }
        let index = path.join(INDEX);
        match self.folder.metadata(&index).map_err(Refusal::from) {
            Err(Refusal::Missing) => Ok(Found::Folder(self.list(path)?)),
            Ok(metadata) if metadata.is_dir() => Ok(Found::Folder(self.list(path)?)),
            _ => self.file(&index),
        }
    }

    fn file(&self, path: &Path) -> Result<Found, Refusal> {
        // Devices and pipes are not opened, as that alone can do something.
        if !self.folder.metadata(path)?.is_file() {
            return Err(Refusal::Forbidden);
        }
        let mut options = OpenOptions::new();
        // If it has become one meanwhile, opening it doesn't wait.
        options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
        let file = self.folder.open_with(path, &options)?.into_std();
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Refusal::Forbidden);
        }
        Ok(Found::File(file, Version::of(&metadata), path.to_owned()))
    }

    fn list(&self, path: &Path) -> Result<Listing, Refusal> {
        let (mut names, mut is_cut) = (BinaryHeap::new(), false);
        for entry in self.folder.read_dir(path)? {
            let name = entry?.file_name();
            if self.hidden || !name.as_encoded_bytes().starts_with(b".") {
                names.push(name);
            }
            if names.len() > MAX_ENTRIES {
                // The order of a folder is no order: which are left out must not depend on it.
                names.pop();
                is_cut = true;
            }
        }
        let mut entries: Vec<Entry> = names.into_iter().filter_map(|name| self.entry(path, name)).collect();
        // Folders first.
        entries.sort_by(|a, b| (a.size.is_some(), &a.name).cmp(&(b.size.is_some(), &b.name)));
        Ok(Listing { entries, is_cut })
    }

    /// What has this name in a folder, if it is served.
    fn entry(&self, folder: &Path, name: OsString) -> Option<Entry> {
        // What a link leads to counts; one that leads out of the folder is not served.
        let metadata = self.folder.metadata(folder.join(&name)).ok()?;
        let modified = metadata.modified().ok().map(|time| time.into_std());
        let size = metadata.is_file().then_some(metadata.len());
        (metadata.is_file() || metadata.is_dir()).then_some(Entry { name, size, modified })
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename | ErrorKind::InvalidInput => {
                Refusal::Missing
            }
            // Also for a link that leads out of the folder.
            ErrorKind::PermissionDenied => Refusal::Forbidden,
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Refusal::Forbidden,
            _ => Refusal::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::path::parse;
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::symlink;

    fn find(site: &Site, path: &str) -> Result<Found, Refusal> {
        site.find(&parse(path).unwrap())
    }

    #[test]
    fn only_what_is_in_the_folder_is_found() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("root");
        std::fs::create_dir_all(root.join("sub/.hidden")).unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("file"), "file").unwrap();
        std::fs::write(root.join("sub/.hidden/file"), "file").unwrap();
        symlink(outside.path().join("secret"), root.join("absolute")).unwrap();
        symlink("../secret", root.join("relative")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("../file", root.join("sub/inside")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let site = Site::open(&root, false).unwrap();
        assert!(matches!(find(&site, "/file"), Ok(Found::File(_, version, _)) if version.size == 4));
        assert!(matches!(find(&site, "/sub/inside"), Ok(Found::File(..))), "a link that stays in the folder");
        for path in ["/absolute", "/relative", "/up/", "/up/secret", "/loop", "/pipe"] {
            assert_eq!(find(&site, path).err(), Some(Refusal::Forbidden), "{path}");
        }
        let long = format!("/{}", "x".repeat(300));
        for path in ["/none", "/file/", "/file/x", "/sub/.hidden/file", &long] {
            assert_eq!(find(&site, path).err(), Some(Refusal::Missing), "{path}");
        }
        assert!(matches!(find(&site, "/sub"), Ok(Found::WithoutSlash)));
        let Ok(Found::Folder(listing)) = find(&site, "/") else { panic!("a listing") };
        assert!(!listing.is_cut);
        let names: Vec<_> = listing.entries.iter().map(|entry| entry.name.to_str().unwrap()).collect();
        assert_eq!(names, ["sub", "file"]);
        let site = Site::open(&root, true).unwrap();
        assert!(matches!(find(&site, "/sub/.hidden/file"), Ok(Found::File(..))));
        std::fs::write(root.join("index.html"), "index").unwrap();
        let Ok(Found::File(_, version, path)) = find(&site, "/") else { panic!("an index") };
        assert_eq!(
            (version.size, path.extension()),
            (5, Some("html".as_ref())),
            "the path of the index, not of the folder"
        );
        std::fs::create_dir(root.join("sub/index.html")).unwrap();
        assert!(matches!(find(&site, "/sub/"), Ok(Found::Folder(_))), "a folder is no index");
    }
    #[test]
    fn a_listing_that_is_cut_has_the_first_names_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        // Not in their order, and one more than it takes.
        for n in (0..=MAX_ENTRIES).rev() {
            File::create(folder.path().join(format!("{n:05}"))).unwrap();
        }
        let site = Site::open(folder.path(), false).unwrap();
        let list = || match find(&site, "/") {
            Ok(Found::Folder(listing)) => listing,
            _ => panic!("a listing"),
        };
        let Listing { entries, is_cut } = list();
        assert!(is_cut);
        assert!(entries.iter().enumerate().all(|(n, entry)| entry.name.to_str() == Some(&format!("{n:05}"))));
        assert_eq!(entries.len(), MAX_ENTRIES);
        std::fs::remove_file(folder.path().join("00000")).unwrap();
        let Listing { entries, is_cut } = list();
        assert_eq!((entries.len(), is_cut), (MAX_ENTRIES, false));
    }
}
