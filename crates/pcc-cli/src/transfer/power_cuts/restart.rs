//! What a cut left: what must be there, and the receiver that starts on it.

use super::cut::Cut;
use super::disk::{Disk, Op};
use super::{INVITED, NAMES, Place, RECEIVED, SENT, publishes, said, temporary};
use crate::failure::Failure;
use crate::peer::credentials::SenderId;
use crate::peer::ticket::Ticket;
use crate::transfer::blocks::{self, BLOCK};
use crate::transfer::manifest::What;
use crate::transfer::progress::Reporter;
use crate::transfer::selection::{Links, Selection};
use crate::transfer::session::{Shared, State};
use crate::transfer::source::Source;
use crate::transfer::staging::{Holder, Staging};
use crate::transfer::store::{Admitted, Store};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a cut left, made real.
pub struct Left<'a> {
    place: &'a Place,
    done: &'a [Op],
    /// What was there before the transfer, as lines.
    old: Vec<String>,
    folder: tempfile::TempDir,
}

impl<'a> Left<'a> {
    /// By a cut after these operations; `old` is what was there before the transfer.
    pub fn by(cut: &Cut<'_>, place: &'a Place, done: &'a [Op], old: &Disk) -> Self {
        let folder = temporary();
        cut.disk.store(folder.path());
        Self { place, done, old: old.lines(), folder }
    }

    /// Where files are received.
    pub fn to(&self) -> PathBuf {
        self.folder.path().join("to")
    }

    /// Lines of what is sent and not there.
    pub fn missing(&self) -> Vec<String> {
        let missing = self.place.missing(&self.to()).into_iter();
        missing.filter(|line| !is_old_folder(line, &self.old)).collect()
    }

    /// Checks what must be there; whether the receiver is to be started again.
    pub fn check(&self) -> Result<bool, String> {
        let (sent, to) = (self.place.sent(), self.to());
        for file in sent_in(&to).iter().filter(|line| !is_folder(line)) {
            if !sent.contains(file) && !self.old.contains(&format!("to/{file}")) {
                return Err(format!("torn: {file}"));
            }
        }
        if said(self.done, SENT) && !self.missing().is_empty() {
            return Err(format!("pcc send said that all is there, but {:?} is not", self.missing()));
        }
        if said(self.done, RECEIVED) {
            let names = fs::read_dir(&to).expect("folder").map(|entry| entry.expect("entry").file_name());
            let others: Vec<_> = names.filter(|name| !NAMES.iter().any(|sent| name == sent)).collect();
            return if others.is_empty() { Ok(false) } else { Err(format!("pcc recv is done and left {others:?}")) };
        }
        Ok(true)
    }

    /// Checks that all is there and over.
    pub fn check_end(&self) -> Result<(), String> {
        check_end(&self.missing(), &self.to())
    }

    /// Starts the receiver, sends what is missing, and checks again.
    pub async fn restart(&self) -> Result<(), String> {
        let Self { place, done, .. } = self;
        let to = self.to();
        let staging = Staging::open(&to).map_err(|e| format!("the start failed: {e}"))?;
        let ticket: Ticket = fs::read_to_string(place.ticket()).expect("a ticket").parse().expect("a ticket");
        if said(self.done, INVITED) && !done.iter().any(publishes) && staging.identity.secret != ticket.secret {
            return Err("the ticket is no longer good".to_owned());
        }
        let store = match start(place, staging).await.map_err(|e| format!("the start failed: {e}"))? {
            State::Fresh(staging) if self.missing().is_empty() => {
                return staging.remove().map_err(|e| format!("removal failed: {e}"));
            }
            State::Fresh(staging) => first_list(place, staging).map_err(|e| format!("the list was refused: {e}"))?,
            State::Bound(store) => store,
            State::Failed(failure) => return Err(format!("the start failed: {failure}")),
            State::Gone => return Err("the start failed".to_owned()),
        };
        if !store.is_published() && (said(self.done, SENT) || done.iter().any(publishes)) {
            return Err("not published at the next start, but committed".to_owned());
        }
        finish(place, store).map_err(|e| format!("it could not be finished: {e}"))?;
        self.check_end()
    }
}

/// Checks that nothing is missing, and nothing there that the next receiver would take for an unfinished transfer.
pub fn check_end(missing: &[String], to: &Path) -> Result<(), String> {
    if !missing.is_empty() {
        return Err(format!("in the end {missing:?} is not there"));
    }
    match Staging::open(to).and_then(|staging| staging.bound()) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err("it is complete, but the next start takes it up again".to_owned()),
        Err(e) => Err(format!("the next start fails: {e}")),
    }
}

/// What is in this folder of what is sent, as lines.
pub fn sent_in(folder: &Path) -> Vec<String> {
    if !folder.exists() {
        return Vec::new();
    }
    let lines = Disk::load(folder).lines();
    lines.into_iter().filter(|line| NAMES.iter().any(|name| line.starts_with(name))).collect()
}

fn is_folder(line: &str) -> bool {
    line.contains("/ ")
}

/// Such a folder stays as it is.
fn is_old_folder(line: &str, old: &[String]) -> bool {
    let path = line.split(' ').next().unwrap_or_default();
    is_folder(line) && old.iter().any(|old| old.starts_with(&format!("to/{path} ")))
}

/// What `pcc recv` does at its start.
async fn start(place: &Place, staging: Staging) -> Result<State, Failure> {
    let bound = staging.bound()?;
    let is_bound = bound.is_some();
    let (shared, outcome) = Shared::start(staging, bound, place.rules(), Arc::new(Reporter::new(false))).await;
    if is_bound {
        outcome.await.expect("an outcome")?;
    }
    Ok(shared.take().await)
}

fn source(place: &Place) -> Result<Source, Failure> {
    let selection = Selection::new(Links::Keep, &[]).expect("no pattern");
    Source::find(&place.paths(), &selection)
}

fn holder(place: &Place, source: &Source) -> Holder {
    Holder { sender: SenderId(place.sender().hash()), transfer: source.manifest.transfer() }
}

fn first_list(place: &Place, staging: Staging) -> Result<Box<Store>, Failure> {
    let source = source(place)?;
    let admitted = Admitted::bind(&staging, holder(place, &source), &source.manifest.encode()?, place.rules())?;
    Ok(Box::new(Store::new(staging, admitted)))
}

/// What a sender that comes back, and `pcc recv` then, do.
fn finish(place: &Place, mut store: Box<Store>) -> Result<(), Failure> {
    let source = source(place)?;
    let encoded = source.manifest.encode()?;
    if store.manifest_hash != blake3::hash(&encoded) && !store.is_published() {
        store.rebind(holder(place, &source), &encoded, place.rules())?;
    }
    let entries = store.manifest.clone();
    for (file, entry) in (0u32..).zip(&entries.entries) {
        let What::File { size, .. } = entry.what else { continue };
        let whole = fs::read(place.source().join(OsStr::from_bytes(&entry.path))).expect("the source");
        for (block, data) in (0u32..).zip(whole.chunks(BLOCK as usize)) {
            store.put_block(file, block, blocks::hash(size, block.into(), data), data)?;
        }
        if blocks::count(size) > 1 {
            store.put_root(file, *blake3::hash(&whole).as_bytes())?;
        }
    }
    store.commit(place.rules())?;
    store.into_staging().remove()
}
