//! Standard output and files: results as text and as lines of JSON.

use anyhow::Context;
use rustix::fs::{FileType, Stat, fstat, stat};
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes to standard output at once; `Break` when nobody reads it any more.
///
/// # Errors
///
/// When it can't be written for another reason.
pub fn write(text: &str) -> io::Result<ControlFlow<()>> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        done => done.map(ControlFlow::Continue),
    }
}

/// Whether what is written to standard output is gone: it is `/dev/null`, which it becomes at the start of this process where it was closed.
pub fn leads_nowhere() -> bool {
    let is_device = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    let (out, null) = (fstat(io::stdout()), stat("/dev/null"));
    matches!((out, null), (Ok(out), Ok(null)) if is_device(&out) && out.st_rdev == null.st_rdev)
}

/// Writes what somebody has to read to standard output; `is_new` tells that nobody can know it from before.
///
/// # Errors
///
/// When nobody can read it.
pub fn hand_over(text: &str, is_new: bool) -> io::Result<()> {
    if is_new && leads_nowhere() {
        return Err(io::Error::other("standard output is closed or /dev/null; let it be a terminal, a file or a pipe"));
    }
    match write(text)? {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ErrorKind::BrokenPipe.into()),
    }
}

/// Writes results to standard output. A reader that has gone away is no error (`println!` would panic).
///
/// # Errors
///
/// When they can't be written for another reason.
pub fn show(results: &str) -> io::Result<()> {
    write(results).map(drop)
}

/// Tells a script how far the command is, which goes on even if that can't be written: then it says so once on standard error.
/// Whether it could be written.
pub fn tell(text: &str) -> bool {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    let Err(error) = show(text) else { return true };
    if !IS_SAID.swap(true, Ordering::Relaxed) {
        let _ = writeln!(io::stderr(), "warning: cannot write to standard output: {error}; going on without it");
    }
    false
}

/// A JSON document for each item, one a line.
///
/// # Errors
///
/// When an item has no form in JSON.
pub fn json_lines<T: Serialize>(items: impl IntoIterator<Item = T>) -> serde_json::Result<String> {
    let mut lines = String::new();
    for item in items {
        lines += &serde_json::to_string(&item)?;
        lines.push('\n');
    }
    Ok(lines)
}

/// Writes a file, and makes the folders that it is in. A file that is there is replaced, and not written to. A link is not
/// followed: somebody else may have put it there.
///
/// # Errors
///
/// When either can't be done, or when something is there that is no file: a link or a device.
pub fn write_file(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    replace(file, text, 0o666).with_context(|| format!("can't write {}", file.display()))
}

/// Writes a file that only this user may read, as a ticket: whole, or not at all. As with [`write_file`], a file that is there is
/// replaced, and a link not followed.
///
/// # Errors
///
/// When it can't be written, or when something is there that is no file.
pub fn write_secret(file: &Path, text: &str) -> io::Result<()> {
    replace(file, text, 0o600)
}

/// Whether nothing is there; else a file is, which can be replaced.
///
/// # Errors
///
/// When something is there that is no file.
pub fn is_free(file: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(file) {
        Ok(there) if !there.is_file() => {
            Err(io::Error::other("there is something of that name that is no file (a link or device); name a file"))
        }
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// With these permissions, as far as the umask leaves them.
fn replace(file: &Path, text: &str, mode: u32) -> io::Result<()> {
    is_free(file)?;
    let mut name = file.file_name().ok_or(ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = file.with_file_name(name);
    // Follows no link either, and neither does the renaming.
    let mut written = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
    let done = written.write_all(text.as_bytes()).and_then(|()| std::fs::rename(&new, file));
    done.inspect_err(|_| drop(std::fs::remove_file(&new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_document_has_a_line() {
        assert_eq!(json_lines([vec!["a\nb"], vec![]]).unwrap(), "[\"a\\nb\"]\n[]\n");
        assert_eq!(json_lines::<u8>([]).unwrap(), "");
    }

    #[test]
    fn folders_of_a_file_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b/c.txt");
        write_file(&file, "text").unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), "text");
    }

    #[test]
    fn nobody_else_may_read_a_secret() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ticket");
        // Whatever is there, and whoever may read it.
        std::fs::write(&file, "older and longer").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        write_secret(&file, "ticket\n").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "ticket\n");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(write_secret(&folder.path().join("none/ticket"), "x").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn only_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, other, fifo] = ["file", "link", "other", "fifo"].map(|name| folder.path().join(name));
        std::fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        // As a device is, which only root can make.
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        for there in [&link, &fifo] {
            let error = write_file(there, "table").unwrap_err();
            assert!(format!("{error:#}").contains("that is no file (a link or device)"), "{error:#}");
            assert!(!there.symlink_metadata().unwrap().is_file());
        }
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "mine");
        for text in ["table", "newer"] {
            write_file(&file, text).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
        std::fs::hard_link(&file, folder.path().join("another name")).unwrap();
        write_file(&file, "newest").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "newest");
        let another = std::fs::read_to_string(folder.path().join("another name")).unwrap();
        assert_eq!(another, "newer", "replaced, and not written to");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5, "nothing else is left");
    }
}
