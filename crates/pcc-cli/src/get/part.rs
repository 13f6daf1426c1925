//! A download that is not complete yet: `FILE.part`, and beside it `FILE.part.json`, which says of what it is a part.

use super::url::Url;
use crate::failure::{Context, Failure, Kind, Result};
use crate::folders::{make_folders, sync};
use crate::output::write_file;
use rustix::fs::{CWD, FlockOperation, OFlags, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Longer than any note.
const MAX_NOTE: u64 = 64 << 10;

/// Of what a file is a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// What the user asked for.
    asked: String,
    /// Where that led.
    url: String,
    /// The version, if the server names it.
    etag: Option<String>,
}

/// What there is of a file. No other process has it at the same time.
pub struct Part {
    target: PathBuf,
    asked: String,
    overwrite: bool,
    path: PathBuf,
    note_path: PathBuf,
    file: File,
    note: Option<Note>,
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(extension);
    path.with_file_name(name)
}

impl Part {
    /// Of this file, for what is at `asked`. Neither it nor a part of something else may be there yet, unless they may be replaced.
    pub fn open(target: &Path, asked: &Url, overwrite: bool) -> Result<Part> {
        if target.is_dir() {
            return Err(Failure::new(Kind::Exists, format!("{} is a folder; name a file with -o", target.display())));
        }
        if !overwrite && target.symlink_metadata().is_ok() {
            return Err(exists(target));
        }
        let (path, note_path) = (beside(target, ".part"), beside(target, ".part.json"));
        make_folders(folder(target)).doing(|| format!("make the folder of {}", target.display()))?;
        let mut options = OpenOptions::new();
        // Nor a link that somebody put there, nor a pipe.
        options.read(true).write(true).create(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
        let shown = || format!("write {}", path.display());
        let file = options.open(&path).doing(shown)?;
        if !file.metadata().doing(shown)?.is_file() {
            return Err(Failure::new(Kind::Exists, format!("{} is in the way: it is no file", path.display())));
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                let message = format!("another process is downloading {}", target.display());
                return Err(Failure::new(Kind::Exists, message));
            }
            done => done.doing(shown)?,
        }
        let (note, asked) = (read_note(&note_path), asked.to_string());
        let is_empty = file.metadata().doing(shown)?.len() == 0;
        if !(overwrite || is_empty || note.as_ref().is_some_and(|note| note.asked == asked)) {
            let what =
                note.map_or("is no unfinished download".to_owned(), |note| format!("is a part of {}", note.asked));
            let message = format!(
                "{} is in the way: it {what}; use --overwrite, or another name with -o, or remove it",
                path.display()
            );
            return Err(Failure::new(Kind::Exists, message));
        }
        Ok(Part { target: target.to_owned(), asked, overwrite, path, note_path, file, note })
    }

    /// How many bytes of what is at this URL are there, and of which version by its entity tag; `None` if nothing is.
    pub fn have(&self, url: &Url) -> Result<Option<(u64, &str)>> {
        let len = self.file.metadata().doing(|| self.writing())?.len();
        let note = self.note.as_ref().filter(|note| note.url == url.to_string() && len > 0);
        Ok(note.and_then(|note| Some((len, note.etag.as_deref()?))))
    }

    /// Begins anew with what is at this URL. Without an entity tag it can't be taken up again.
    pub fn restart(&mut self, url: &Url, etag: Option<&str>) -> Result<()> {
        // Before the note: it must never be about other bytes.
        self.file.set_len(0).doing(|| self.writing())?;
        let note = Note { asked: self.asked.clone(), url: url.to_string(), etag: etag.map(str::to_owned) };
        let text = serde_json::to_string(&note).map_err(|error| Failure::new(Kind::Other, error))?;
        self.note = Some(note);
        write_file(&self.note_path, &text).map_err(|error| Failure::new(Kind::Other, format!("{error:#}")))
    }

    /// The file, standing at this byte.
    pub fn file(&self, at: u64) -> Result<File> {
        let mut file = self.file.try_clone().doing(|| self.writing())?;
        file.seek(SeekFrom::Start(at)).doing(|| self.writing())?;
        Ok(file)
    }

    /// It is complete: it gets its name, once it is on the disk.
    pub fn finish(self) -> Result<()> {
        self.file.sync_all().doing(|| self.writing())?;
        let target = self.target.display();
        if self.overwrite {
            std::fs::rename(&self.path, &self.target).doing(|| format!("rename to {target}"))?;
        } else {
            match renameat_with(CWD, &self.path, CWD, &self.target, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => return Err(exists(&self.target)),
                // The file system can't; nobody else does this at the same time.
                Err(Errno::INVAL | Errno::NOSYS) if self.target.symlink_metadata().is_err() => {
                    std::fs::rename(&self.path, &self.target).doing(|| format!("rename to {target}"))?;
                }
                done => done.doing(|| format!("rename to {target}"))?,
            }
        }
        self.forget()?;
        let folder = File::open(folder(&self.target));
        folder.and_then(|folder| sync(&folder)).doing(|| format!("write the name of {target} to disk"))
    }

    /// What is there is of no use.
    pub fn discard(self) -> Result<()> {
        std::fs::remove_file(&self.path).doing(|| format!("remove {}", self.path.display()))?;
        self.forget()
    }

    /// It isn't complete, and stays for another time, unless nothing of it has come.
    pub fn leave(self) {
        if self.file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            // It is in nobody's way.
            let _ = self.discard();
        }
    }

    fn forget(&self) -> Result<()> {
        match std::fs::remove_file(&self.note_path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            done => done.doing(|| format!("remove {}", self.note_path.display())),
        }
    }

    fn writing(&self) -> String {
        format!("write {}", self.path.display())
    }
}

fn exists(target: &Path) -> Failure {
    Failure::new(
        Kind::Exists,
        format!("{} is there already; use --overwrite, or another name with -o", target.display()),
    )
}

fn folder(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn read_note(path: &Path) -> Option<Note> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_NOTE).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_part_is_taken_up_if_it_is_of_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new/file");
        let (url, other) = (Url::parse("https://a/file").unwrap(), Url::parse("https://b/file").unwrap());
        let mut part = Part::open(&target, &url, false).unwrap();
        assert_eq!(part.have(&url).unwrap(), None);
        part.restart(&url, Some("\"1\"")).unwrap();
        part.file(0).unwrap().write_all(b"abc").unwrap();
        assert_eq!(Part::open(&target, &url, false).err().unwrap().kind, Kind::Exists, "one at a time");
        drop(part);
        let mut part = Part::open(&target, &url, false).unwrap();
        assert_eq!(part.have(&url).unwrap(), Some((3, "\"1\"")));
        assert_eq!(part.have(&other).unwrap(), None, "a redirection leads elsewhere");
        part.restart(&other, None).unwrap();
        part.file(0).unwrap().write_all(b"x").unwrap();
        assert_eq!(part.have(&other).unwrap(), None, "nothing says which version it is of");
        drop(part);
        let part = Part::open(&target, &url, false).unwrap();
        part.finish().unwrap();
        assert_eq!(std::fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
        assert_eq!(Part::open(&target, &url, false).err().unwrap().kind, Kind::Exists);
        Part::open(&target, &url, true).unwrap().discard().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"x");
    }

    #[test]
    fn a_part_of_something_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (target, path) = (folder.path().join("file"), folder.path().join("file.part"));
        let (url, other) = (Url::parse("https://a/file").unwrap(), Url::parse("https://b/file").unwrap());
        std::fs::write(&path, "mine").unwrap();
        let refused = Part::open(&target, &url, false).err().unwrap();
        assert!(refused.kind == Kind::Exists && refused.message.contains("file.part"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        let mut part = Part::open(&target, &url, true).unwrap();
        part.restart(&url, None).unwrap();
        part.file(0).unwrap().write_all(b"abc").unwrap();
        drop(part);
        let refused = Part::open(&target, &other, false).err().unwrap();
        assert!(refused.kind == Kind::Exists && refused.message.contains("https://a/file"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
    }

    #[test]
    fn what_others_put_there_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, other) = (folder.path().join("file"), folder.path().join("other"));
        std::fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, beside(&target, ".part")).unwrap();
        assert!(Part::open(&target, &Url::parse("https://a/file").unwrap(), false).is_err());
        assert_eq!(std::fs::read(&other).unwrap(), b"mine");
    }
}
