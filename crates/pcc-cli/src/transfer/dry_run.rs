//! `pcc send --dry-run`: what would be sent.

use super::event::{Event, Name};
use super::manifest::What;
use super::progress::Reporter;
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
        reporter.result(&Event::Entry { name: Name::of(&entry.path), kind, size: entry.size() })?;
    }
    reporter.result(&Event::Total { files: source.manifest.files, bytes: source.manifest.bytes })?;
    for left_out in &source.left_out {
        reporter.result(&Event::left_out(left_out))?;
    }
    match source.left_out.len() {
        0 => Ok(()),
        _ if strict => Err(sender::not_all()),
        n if n == source.left_out_for_good() => Err(Failure::new(
            Kind::Incomplete,
            "not everything can be sent: see above, and leave it out with --exclude",
        )),
        _ => Err(Failure::new(Kind::Incomplete, "not everything can be sent: see above")),
    }
}
