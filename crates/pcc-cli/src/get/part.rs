//! A download that is not complete yet: `FILE.part`, and beside it `FILE.part.json`, which says of what it is a part.

use super::url::Url;
use crate::failure::{Context, Failure, Kind, Result};
use crate::folders::{make_folders, sync};
use crate::output::write_file;
use rustix::fs::{CWD, FlockOperation, OFlags, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
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
    /// None as long as there is no folder for it, which is made when something comes.
    file: Option<File>,
    /// None as well if there is a note, but not of ours.
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
        check_target(target, overwrite)?;
        let (path, note_path) = (beside(target, ".part"), beside(target, ".part.json"));
        let (target, asked) = (target.to_owned(), asked.to_string());
        let mut part = Part { target, asked, overwrite, path, note_path, file: None, note: None };
        if folder(&part.target).is_dir() {
            part.take()?;
        }
        Ok(part)
    }

    /// Takes what is there, or makes an empty file.
    fn take(&mut self) -> Result<()> {
        // Before there is a file that would be left behind.
        read_note(&self.note_path, self.overwrite)?;
        let mut options = OpenOptions::new();
        // Nor a link that somebody put there, nor a pipe. And nothing that everybody may write to.
        options.read(true).write(true).create(true).mode(0o664).custom_flags(UNTRUSTED.bits() as i32);
        let file = options.open(&self.path).doing(|| self.writing())?;
        let metadata = file.metadata().doing(|| self.writing())?;
        if let Some(why) = distrust(&metadata) {
            return Err(in_the_way(&self.path, &format!("{why}; remove it, or use another name with -o")));
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                let message = format!("another process is downloading {}", self.target.display());
                return Err(Failure::new(Kind::Exists, message));
            }
            done => done.doing(|| self.writing())?,
        }
        let note = read_note(&self.note_path, self.overwrite)?;
        let is_of_this = note.as_ref().is_some_and(|note| note.asked == self.asked);
        if !(self.overwrite || metadata.len() == 0 || is_of_this) {
            let what =
                note.map_or("is no unfinished download".to_owned(), |note| format!("is a part of {}", note.asked));
            return Err(in_the_way(&self.path, &format!("it {what}; {REMEDY}")));
        }
        (self.file, self.note) = (Some(file), note);
        Ok(())
    }

    /// How many bytes of what is at this URL are there, and of which version by its entity tag; `None` if nothing is.
    pub fn have(&self, url: &Url) -> Result<Option<(u64, &str)>> {
        let Some(file) = &self.file else { return Ok(None) };
        let len = file.metadata().doing(|| self.writing())?.len();
        let note = self.note.as_ref().filter(|note| note.url == url.to_string() && len > 0);
        Ok(note.and_then(|note| Some((len, note.etag.as_deref()?))))
    }

    /// Begins anew with what is at this URL. Without an entity tag it can't be taken up again.
    pub fn restart(&mut self, url: &Url, etag: Option<&str>) -> Result<()> {
        if self.file.is_none() {
            make_folders(folder(&self.target)).doing(|| format!("make the folder of {}", self.target.display()))?;
            self.take()?;
        }
        // Before the note: it must never be about other bytes.
        self.opened()?.set_len(0).doing(|| self.writing())?;
        let note = Note { asked: self.asked.clone(), url: url.to_string(), etag: etag.map(str::to_owned) };
        let text = serde_json::to_string(&note).map_err(|error| Failure::new(Kind::Other, error))?;
        self.note = Some(note);
        write_file(&self.note_path, &text).map_err(|error| Failure::new(Kind::Other, format!("{error:#}")))
    }

    fn opened(&self) -> Result<&File> {
        self.file.as_ref().ok_or_else(|| std::io::Error::from(ErrorKind::NotFound)).doing(|| self.writing())
    }

    /// The file, standing at this byte.
    pub fn file(&self, at: u64) -> Result<File> {
        let mut file = self.opened()?.try_clone().doing(|| self.writing())?;
        file.seek(SeekFrom::Start(at)).doing(|| self.writing())?;
        Ok(file)
    }

    /// It is complete: it gets its name, once it is on the disk.
    pub fn finish(self) -> Result<()> {
        self.opened()?.sync_all().doing(|| self.writing())?;
        let target = self.target.display();
        // It may be another than at the begin.
        check_target(&self.target, self.overwrite)?;
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
        if self.file.as_ref().is_some_and(|file| file.metadata().is_ok_and(|metadata| metadata.len() == 0)) {
            // It is in nobody's way.
            let _ = self.discard();
        }
    }

    fn forget(&self) -> Result<()> {
        if self.note.is_none() {
            return Ok(());
        }
        match std::fs::remove_file(&self.note_path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
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

/// Whether a file may come to this name. One that is there must be a file, whatever the user wants: in the place of a device or
/// pipe a file would be of no use to anybody, and where a link leads is not for us to say.
fn check_target(target: &Path, overwrite: bool) -> Result<()> {
    let refuse = |what: &str| {
        let message = format!("{} is {what}; name a file with -o", target.display());
        Err(Failure::new(Kind::Exists, message))
    };
    match target.symlink_metadata() {
        Ok(_) if target.is_dir() => refuse("a folder"),
        Ok(there) if !there.is_file() => refuse("no file (a link or device)"),
        Ok(_) if !overwrite => Err(exists(target)),
        _ => Ok(()),
    }
}

/// How files of others are opened: no link is followed, and no pipe waited for.
const UNTRUSTED: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK);

const REMEDY: &str = "use --overwrite, or another name with -o, or remove it";

fn in_the_way(path: &Path, why: &str) -> Failure {
    Failure::new(Kind::Exists, format!("{} is in the way: {why}", path.display()))
}

/// Why a file can't be taken for a part of this user's: another could change what the download ends as.
fn distrust(metadata: &Metadata) -> Option<&'static str> {
    match metadata {
        other if !other.is_file() => Some("it is no file"),
        other if other.uid() != rustix::process::geteuid().as_raw() => Some("it belongs to another user"),
        other if other.mode() & 0o002 != 0 => Some("everybody may write to it"),
        other if other.nlink() != 1 => Some("it has another name too (a hard link)"),
        _ => None,
    }
}

/// The note at this path, if there is one of ours. Something else of that name may be replaced only if the user wants that.
fn read_note(path: &Path, overwrite: bool) -> Result<Option<Note>> {
    let reading = || format!("read {}", path.display());
    let opened = OpenOptions::new().read(true).custom_flags(UNTRUSTED.bits() as i32).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(in_the_way(path, "it is a link; remove it, or use another name with -o"));
        }
        Err(error) => return Err(Failure::io(reading(), &error)),
    };
    if let Some(why) = distrust(&file.metadata().doing(reading)?) {
        return Err(in_the_way(path, &format!("{why}; remove it, or use another name with -o")));
    }
    let mut text = Vec::new();
    file.take(MAX_NOTE).read_to_end(&mut text).doing(reading)?;
    match serde_json::from_slice(&text) {
        Ok(note) => Ok(Some(note)),
        Err(_) if overwrite => Ok(None),
        Err(_) => Err(in_the_way(path, &format!("it is no note about an unfinished download; {REMEDY}"))),
    }
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
        Part::open(&target, &url, false).unwrap().leave();
        let mut part = Part::open(&target, &url, false).unwrap();
        assert_eq!(part.have(&url).unwrap(), None);
        assert!(!target.parent().unwrap().exists(), "nothing has come yet");
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
        let url = Url::parse("https://a/file").unwrap();
        for name in [".part", ".part.json"] {
            std::os::unix::fs::symlink(&other, beside(&target, name)).unwrap();
            for overwrite in [false, true] {
                assert!(Part::open(&target, &url, overwrite).is_err(), "{name}");
            }
            std::fs::remove_file(beside(&target, name)).unwrap();
        }
        assert_eq!(std::fs::read(&other).unwrap(), b"mine");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left");
    }

    #[test]
    fn only_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [link, fifo, later] = ["link", "fifo", "later"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&later, &link).unwrap();
        // As a device is, which only root can make.
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let url = Url::parse("https://a/file").unwrap();
        for target in [&link, &fifo] {
            let refused = Part::open(target, &url, true).err().unwrap();
            assert!(refused.kind == Kind::Exists && refused.message.contains("is no file"), "{refused}");
        }
        // And what is there only at the end.
        let mut part = Part::open(&later, &url, true).unwrap();
        part.restart(&url, None).unwrap();
        std::os::unix::fs::symlink(&fifo, &later).unwrap();
        assert_eq!(part.finish().unwrap_err().kind, Kind::Exists);
        assert!(later.symlink_metadata().unwrap().is_symlink());
    }

    #[test]
    fn a_part_that_others_can_change_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (target, path) = (folder.path().join("file"), folder.path().join("file.part"));
        let url = Url::parse("https://a/file").unwrap();
        let refused = || Part::open(&target, &url, true).err().expect("must be refused").message;
        std::fs::write(&path, "theirs").unwrap();
        let other = folder.path().join("other");
        std::fs::hard_link(&path, &other).unwrap();
        assert!(refused().contains("hard link"), "{}", refused());
        std::fs::remove_file(&other).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        assert!(refused().contains("everybody may write"), "{}", refused());
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        assert!(Part::open(&target, &url, true).is_ok());
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_err() {
            return println!("skipped: only root can give a file to another user");
        }
        assert!(refused().contains("belongs to another user; remove it"), "{}", refused());
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    }

    #[test]
    fn a_note_of_something_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (target, note) = (folder.path().join("file"), folder.path().join("file.part.json"));
        let url = Url::parse("https://a/file").unwrap();
        std::fs::write(&note, "{\"mine\": 1}").unwrap();
        let refused = Part::open(&target, &url, false).err().unwrap();
        assert!(refused.kind == Kind::Exists && refused.message.contains("file.part.json is in the way"), "{refused}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left");
        // With --overwrite too as long as nothing comes.
        Part::open(&target, &url, true).unwrap().leave();
        assert_eq!(std::fs::read(&note).unwrap(), b"{\"mine\": 1}");
        let mut part = Part::open(&target, &url, true).unwrap();
        part.restart(&url, None).unwrap();
        part.finish().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the file");
    }
}
