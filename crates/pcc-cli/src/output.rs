//! Standard output and files: results as text and as lines of JSON.

use anyhow::Context;
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::Path;

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

/// Writes results to standard output. A reader that has gone away is no error (`println!` would panic).
///
/// # Errors
///
/// When they can't be written for another reason.
pub fn show(results: &str) -> io::Result<()> {
    write(results).map(drop)
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

/// Writes a file, and makes the folders that it is in. What is there is replaced, but not written to: it may be a link that
/// somebody else put there.
///
/// # Errors
///
/// When either can't be done.
pub fn write_file(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    replace(file, text).with_context(|| format!("can't write {}", file.display()))
}

fn replace(file: &Path, text: &str) -> io::Result<()> {
    let mut name = file.file_name().ok_or(ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = file.with_file_name(name);
    // Follows no link either.
    let mut written = OpenOptions::new().write(true).create_new(true).open(&new)?;
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
    fn what_a_link_leads_to_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("table.txt"), folder.path().join("other"));
        std::fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        write_file(&file, "table").unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "mine");
        write_file(&file, "newer").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "newer");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }
}
