//! `pcc send --dry-run`: what would be sent.

use super::manifest::What;
use super::progress::{Event, Reporter};
use super::selection::Selection;
use super::sender;
use super::source::Source;
use crate::failure::{Failure, Kind, Result};
use std::path::PathBuf;

/// Lists what would be sent, and names what would not.
pub fn run(paths: &[PathBuf], selection: &Selection, strict: bool, reporter: &Reporter) -> Result<()> {
    let source = Source::find(paths, selection)?;
    for entry in &source.manifest.entries {
        let kind = match entry.what {
            What::Dir { .. } => "folder",
            What::File { .. } => "file",
            What::Link { .. } => "link",
        };
        let path = String::from_utf8_lossy(&entry.path);
        reporter.event(&Event::Entry { path: &path, kind, size: entry.size() });
    }
    reporter.event(&Event::Total { files: source.manifest.files, bytes: source.manifest.bytes });
    for message in &source.left_out {
        reporter.event(&Event::Note { message });
    }
    match source.left_out.len() {
        0 => Ok(()),
        _ if strict => Err(sender::not_all()),
        _ => Err(Failure::new(Kind::Incomplete, "not everything can be sent: see above")),
    }
}
