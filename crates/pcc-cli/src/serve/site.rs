//! The folder that is served. No path leads out of it, whatever it is and whatever links there are in the folder.

use super::path::Place;
use super::version::Version;
use crate::failure::{Context, Failure, Kind, Result};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::SystemTime;

/// What stands for a folder, if it is there.
const INDEX: &str = "index.html";
/// Entries of a listing, beyond which it says that there are more.
const MAX_ENTRIES: usize = 10_000;

/// A folder and what of it is served.
pub struct Site {
    folder: Dir,
    hidden: bool,
}

/// What is at a place.
pub enum Found {
    /// A file, open.
    File(File, Version),
    /// A folder without an index.
    Folder(Vec<Entry>),
    /// A folder, although the URL has no slash at its end.
    WithoutSlash,
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
        if metadata.is_file() { Ok(Found::File(file, Version::of(&metadata))) } else { Err(Refusal::Forbidden) }
    }

    fn list(&self, path: &Path) -> Result<Vec<Entry>, Refusal> {
        let mut entries = Vec::new();
        for entry in self.folder.read_dir(path)? {
            let name = entry?.file_name();
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            // What a link leads to counts; one that leads out of the folder is not served.
            let Ok(metadata) = self.folder.metadata(path.join(&name)) else { continue };
            if (is_hidden && !self.hidden) || !(metadata.is_file() || metadata.is_dir()) {
                continue;
            }
            let modified = metadata.modified().ok().map(|time| time.into_std());
            entries.push(Entry { name, size: metadata.is_file().then_some(metadata.len()), modified });
            if entries.len() > MAX_ENTRIES {
                break;
            }
        }
        // Folders first.
        entries.sort_by(|a, b| (a.size.is_some(), &a.name).cmp(&(b.size.is_some(), &b.name)));
        Ok(entries)
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
        assert!(matches!(find(&site, "/file"), Ok(Found::File(_, version)) if version.size == 4));
        assert!(matches!(find(&site, "/sub/inside"), Ok(Found::File(..))), "a link that stays in the folder");
        for path in ["/absolute", "/relative", "/up/", "/up/secret", "/loop", "/pipe"] {
            assert_eq!(find(&site, path).err(), Some(Refusal::Forbidden), "{path}");
        }
        let long = format!("/{}", "x".repeat(300));
        for path in ["/none", "/file/", "/file/x", "/sub/.hidden/file", &long] {
            assert_eq!(find(&site, path).err(), Some(Refusal::Missing), "{path}");
        }
        assert!(matches!(find(&site, "/sub"), Ok(Found::WithoutSlash)));
        let Ok(Found::Folder(entries)) = find(&site, "/") else { panic!("a listing") };
        let names: Vec<_> = entries.iter().map(|entry| entry.name.to_str().unwrap()).collect();
        assert_eq!(names, ["sub", "file"]);
        let site = Site::open(&root, true).unwrap();
        assert!(matches!(find(&site, "/sub/.hidden/file"), Ok(Found::File(..))));
        std::fs::write(root.join("index.html"), "index").unwrap();
        assert!(matches!(find(&site, "/"), Ok(Found::File(_, version)) if version.size == 5));
        std::fs::create_dir(root.join("sub/index.html")).unwrap();
        assert!(matches!(find(&site, "/sub/"), Ok(Found::Folder(_))), "a folder is no index");
    }
}
