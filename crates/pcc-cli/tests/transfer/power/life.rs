//! What happens on the disk that is recorded: real receivers take two transfers, the second of which replaces files of the
//! first, and is killed on the way.

use super::disk::{Disk, Record};
use super::sources::{Line, Sources};
use crate::common::{PATIENCE, Pcc, receiver, sender};
use crate::mounted::{Format, Mounted};
use fastrand::Rng;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Noted while it is recorded.
#[derive(Debug)]
pub enum Note {
    /// `pcc recv` was started to take this version of what is sent.
    Starts(usize),
    /// It printed this ticket.
    Invited(String),
    /// `pcc send` ended with exit code 0.
    Sent,
    /// `pcc recv` did.
    Received,
}

/// A life of a disk.
pub struct Life {
    pub record: Record<Note>,
    pub sources: Sources,
    /// The option of the receiver that lets it replace files.
    pub replaces: &'static str,
}

impl Life {
    /// What was there before the transfer of this version.
    pub fn before(&self, version: usize) -> &[Line] {
        if version == 0 { &[] } else { self.sources.lines(version - 1) }
    }
}

/// Where files are received, from the root of the disk.
pub const TO: &str = "new/to";
/// With it a transfer takes some hundred milliseconds.
const RATE: [&str; 2] = ["--max-rate", "50mbit"];
const LONGEST: u64 = 600;

/// Records a life. The error says why that is not possible here.
pub fn record(format: &Format, folder: &Path, rng: &mut Rng) -> Result<Life, String> {
    let (file, sources) = (folder.join("disk"), Sources::new(folder));
    format.make(&file)?;
    // The slower a disk is, the more may happen before a flush is done.
    let flush = Duration::from_millis([0, 5, 50][rng.usize(..3)]);
    let disk = Disk::over(&file, flush).map_err(|e| format!("a FUSE file system: {e}"))?;
    let mounted = Mounted::new(&disk.path, folder.join("mounted"), &["-o", "loop"])?;
    let replaces = ["--sync", "--overwrite"][rng.usize(..2)];
    let is_calm = rng.bool();
    let (stop, unrest) = (AtomicBool::new(is_calm), rng.fork());
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| write_early(&mounted.at, unrest, &stop));
        let take = |version| take(&disk, &mounted.at.join(TO), &sources.version(version), version, replaces);
        take(0).end(&disk);
        let pair = take(1);
        std::thread::sleep(Duration::from_millis(rng.u64(..LONGEST)));
        pair.kill();
        take(1).end(&disk);
    });
    drop(mounted);
    Ok(Life { record: disk.finish(), sources, replaces })
}

/// Both ends of a transfer.
struct Pair {
    recv: Pcc,
    send: Pcc,
}

fn take(disk: &Disk<Note>, to: &Path, from: &Path, version: usize, replaces: &str) -> Pair {
    disk.note(Note::Starts(version));
    let recv = receiver(to, &["--json", replaces]);
    let ticket = recv.ticket();
    disk.note(Note::Invited(ticket.clone()));
    let send = sender(&[from], &ticket, &[&["--json"], &RATE[..]].concat());
    Pair { recv, send }
}

impl Pair {
    fn end(mut self, disk: &Disk<Note>) {
        for (pcc, note) in [(&mut self.send, Note::Sent), (&mut self.recv, Note::Received)] {
            let deadline = Instant::now() + PATIENCE;
            while pcc.is_running() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            // At once, before anything else may be written.
            disk.note(note);
            pcc.exits(0);
        }
    }

    fn kill(self) {
        self.recv.kill();
        self.send.kill();
    }
}

/// Ends the unrest, also when something fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Has all of the file system, or any file of it, written to the disk now and then, sooner than it would be by itself.
fn write_early(root: &Path, mut rng: Rng, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let entries: Vec<_> = walkdir::WalkDir::new(root).into_iter().flatten().collect();
        let entry = &entries[rng.usize(..entries.len())];
        // What it is may have changed meanwhile.
        let file = (!entry.path_is_symlink()).then(|| fs::File::open(entry.path()));
        if let Some(Ok(file)) = file {
            let _ = if entry.depth() == 0 { rustix::fs::syncfs(&file).map_err(Into::into) } else { file.sync_all() };
        }
        std::thread::sleep(Duration::from_millis(rng.u64(..50)));
    }
}
