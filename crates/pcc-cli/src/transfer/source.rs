//! The sending end of a transfer on disk: finds what to send, reads and hashes it, and notices when it changes.

use super::bitmap::Bitmap;
use super::blocks;
use super::holes::Holes;
use super::manifest::{Entry, Manifest, What};
use super::protocol::{BATCH, Record};
use super::selection::Selection;
use super::walk::{LeftOut, Listing, Named, Opener};
use crate::failure::Result;
use crate::same_file::Identity;
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;

/// Data below this size is copied next to its record; a buffer of its own would cost more.
const COPY_BELOW: usize = 16 * 1024;

/// What goes over one stream, in this order.
pub type Batch = Vec<Bytes>;

/// What the receiver has before anything is sent.
#[derive(Default)]
pub struct Had {
    /// Blocks that are not needed.
    pub blocks: Bitmap,
    /// Entries that are complete.
    pub files: Bitmap,
    /// Hashes of blocks of files that are in the place of those that are sent; sorted.
    pub there: Vec<(u64, [u8; 32])>,
}

impl Had {
    /// Whether the receiver has this block, in a file that was there before.
    fn has(&self, id: u64, hash: &[u8; 32]) -> bool {
        self.there.binary_search_by_key(&id, |(id, _)| *id).is_ok_and(|at| self.there[at].1 == *hash)
    }
}

/// What is sent, and what is known about it so far.
pub struct Source {
    /// The list of what is sent.
    pub manifest: Arc<Manifest>,
    /// The list as it goes over the wire.
    pub encoded: Bytes,
    /// What is not sent, and why.
    pub left_out: Vec<LeftOut>,
    /// What the user named and is not there any more, and why: what has not arrived of it doesn't.
    pub gone: Vec<String>,
    /// What the user named, for another listing.
    pub named: Named,
    opener: Opener,
    /// Blocks that were read, for whoever watches whether it goes on.
    pub blocks_read: Arc<AtomicU64>,
    /// Hashes survive a lost connection, so that nothing needs to be read twice for their sake.
    roots: HashMap<u32, [u8; 32]>,
    partial: HashMap<u32, Vec<Option<[u8; 32]>>>,
    /// Bytes that the last reading handed on.
    pub handed_on: u64,
    moved: Moved,
    /// Files that the receiver was told that it has the same of.
    same: HashSet<u32>,
    /// What the last reading could not read as it was listed, and why.
    pub trouble: BTreeMap<u32, String>,
}

/// Blocks whose data was handed on, and how many bytes these have. What is sent again after a cut counts once.
struct Moved {
    blocks: Bitmap,
    bytes: u64,
}

/// What became of reading a file.
enum FileRead {
    Done,
    /// Nobody takes what is read.
    Unwanted,
    /// It cannot be read as it was listed; this says why.
    Trouble(String),
}

/// Why a file is not sent as it was listed.
const CHANGED: &str = "it changed while it was sent";
/// Why a file is not sent at all.
const GONE: &str = "it was removed before all of it was sent";

impl Source {
    /// Lists what is below the given paths.
    pub fn find(arguments: &[PathBuf], selection: &Selection) -> Result<Self> {
        Self::of(Listing::find(arguments, selection)?, selection)
    }

    /// Lists them again. What isn't what was named any more is listed as in the `last` list, so that all else can arrive.
    pub fn find_again(arguments: &[PathBuf], selection: &Selection, named: &Named, last: &Manifest) -> Result<Self> {
        Self::of(Listing::find_again(arguments, selection, named, &last.entries), selection)
    }

    fn of(mut listing: Listing, selection: &Selection) -> Result<Self> {
        let named = listing.named();
        let (left_out, gone) = (std::mem::take(&mut listing.left_out), std::mem::take(&mut listing.gone));
        let (opener, entries) = Opener::new(listing, selection.links);
        let manifest = Manifest::new(entries)?;
        let encoded = manifest.encode()?.into();
        let (roots, partial) = (HashMap::new(), HashMap::new());
        let moved = Moved { blocks: Bitmap::new(manifest.blocks), bytes: 0 };
        Ok(Self {
            manifest: Arc::new(manifest),
            encoded,
            left_out,
            gone,
            named,
            opener,
            blocks_read: Arc::default(),
            roots,
            partial,
            handed_on: 0,
            moved,
            same: HashSet::new(),
            trouble: BTreeMap::new(),
        })
    }

    /// How many of those that are not sent can't be another time either.
    pub fn left_out_for_good(&self) -> usize {
        self.left_out.iter().filter(|left_out| left_out.why.is_for_good).count()
    }

    /// Reads whatever the receiver lacks and hands it on in batches, until all is read or nobody takes it any more. What
    /// cannot be read as it was listed is noted, and if `give_up`, the receiver is told to do without.
    pub fn read(&mut self, had: &Had, give_up: bool, out: &mpsc::Sender<Batch>) {
        (self.handed_on, self.trouble) = (0, BTreeMap::new());
        let manifest = self.manifest.clone();
        let mut batch = Builder::default();
        for (file, entry) in (0u32..).zip(&manifest.entries) {
            if let What::File { size: 0, .. } = entry.what {
                // Nothing is to be sent, but there may be something by now.
                if let Some(why) = self.changed(file, entry) {
                    self.trouble.insert(file, why);
                }
            }
            if entry.size() == 0 || had.files.get(file.into()) {
                continue;
            }
            match self.read_file(file, entry, had, &mut batch, out) {
                FileRead::Done => {}
                FileRead::Unwanted => return,
                FileRead::Trouble(why) => {
                    self.partial.remove(&file);
                    self.trouble.insert(file, why);
                    if give_up {
                        batch.push(Record::Skip { file }, None);
                    }
                }
            }
        }
        if !batch.is_empty() {
            // Nobody listening means that the connection is gone, which is reported elsewhere.
            let _ = out.blocking_send(batch.take());
        }
    }

    /// Why a file can't be opened as it was listed.
    fn changed(&mut self, file: u32, entry: &Entry) -> Option<String> {
        match self.opener.open(file, entry) {
            Ok(Some(_)) => None,
            Ok(None) => Some(self.not_as_listed(file, entry)),
            Err(e) => Some(e.to_string()),
        }
    }

    /// What became of a file that is not what was listed.
    fn not_as_listed(&mut self, file: u32, entry: &Entry) -> String {
        if self.opener.is_gone(file, entry) { GONE } else { CHANGED }.to_owned()
    }

    fn read_file(
        &mut self,
        file: u32,
        entry: &Entry,
        had: &Had,
        batch: &mut Builder,
        out: &mpsc::Sender<Batch>,
    ) -> FileRead {
        let size = entry.size();
        let (opened, metadata) = match self.opener.open(file, entry) {
            Ok(Some(opened)) => opened,
            Ok(None) => return FileRead::Trouble(self.not_as_listed(file, entry)),
            Err(e) => return FileRead::Trouble(e.to_string()),
        };
        let mut holes = Holes::new(&opened, &metadata);
        let identity = Identity::of(&metadata);
        // Records that are not needed if all of the file is as at the receiver; `None` once it is not.
        let mut same = Some(Vec::new());
        let mut hash = [0; 32];
        for block in 0..blocks::count(size) {
            let Some(id) = self.manifest.block_id(file, block) else { continue };
            let is_there = had.blocks.get(id);
            if is_there && !self.emit_all(&mut same, batch, out) {
                return FileRead::Unwanted;
            }
            if is_there && (self.roots.contains_key(&file) || self.known(file, block)) {
                continue;
            }
            if out.is_closed() {
                // Blocks that are read only for their hash are not handed on, and would not show it.
                return FileRead::Unwanted;
            }
            let mut data = vec![0; blocks::length(size, block)];
            let at = block * blocks::BLOCK;
            let is_hole = holes.covers(at, at + data.len() as u64);
            let read = match is_hole {
                Ok(false) => opened.read_exact_at(&mut data, at),
                _ => Ok(()),
            };
            self.blocks_read.fetch_add(1, Ordering::Relaxed);
            // Before it is handed on: with the last block the receiver may have all it needs.
            let is_hole = match read.and_then(|()| Ok((identity.is(&opened)?, is_hole?))) {
                Ok((true, is_hole)) => is_hole,
                Ok((false, _)) => return FileRead::Trouble(self.not_as_listed(file, entry)),
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                    return FileRead::Trouble(self.not_as_listed(file, entry));
                }
                Err(e) => return FileRead::Trouble(e.to_string()),
            };
            hash = blocks::hash(size, block, &data);
            self.note(file, block, hash);
            if is_there {
                continue;
            }
            let is_same = had.has(id, &hash);
            if !is_same && !self.emit_all(&mut same, batch, out) {
                return FileRead::Unwanted;
            }
            let block = block as u32;
            let record = match (is_hole, is_same) {
                (true, _) => Record::Hole { file, block, hash },
                (false, true) => Record::Copy { file, block, hash },
                (false, false) => Record::Block { file, block, hash },
            };
            match &mut same {
                Some(records) => records.push(record),
                None if !self.emit(record, (!is_hole && !is_same).then_some(data), batch, out) => {
                    return FileRead::Unwanted;
                }
                None => {}
            }
        }
        let root = self.root(file);
        if same.is_some() {
            // A file of one block has no other hash than that.
            let record = Record::Same { file, hash: root.unwrap_or(hash) };
            return if self.emit(record, None, batch, out) { FileRead::Done } else { FileRead::Unwanted };
        }
        if let Some(hash) = root {
            batch.push(Record::Root { file, hash }, None);
        }
        FileRead::Done
    }

    /// Hands on what turned out to be needed; whether anybody takes it.
    fn emit_all(&mut self, records: &mut Option<Vec<Record>>, batch: &mut Builder, out: &mpsc::Sender<Batch>) -> bool {
        records.take().into_iter().flatten().all(|record| self.emit(record, None, batch, out))
    }

    /// Hands a record on, with the data of a block; whether anybody takes it.
    fn emit(&mut self, record: Record, data: Option<Vec<u8>>, batch: &mut Builder, out: &mpsc::Sender<Batch>) -> bool {
        let entries = &self.manifest.entries;
        let (file, blocks) = match record {
            Record::Same { file, .. } => (file, 0..blocks::count(entries[file as usize].size())),
            Record::Block { file, block, .. } | Record::Hole { file, block, .. } | Record::Copy { file, block, .. } => {
                (file, block.into()..u64::from(block) + 1)
            }
            Record::Root { file, .. } | Record::Skip { file } => (file, 0..0),
        };
        let size = entries[file as usize].size();
        for block in blocks {
            let len = blocks::length(size, block) as u64;
            self.handed_on += len;
            let id = self.manifest.block_id(file, block).filter(|&id| !self.moved.blocks.get(id));
            if let (Some(id), Record::Block { .. }) = (id, record) {
                self.moved.blocks.set(id, true);
                self.moved.bytes += len;
            }
        }
        match record {
            Record::Same { .. } => self.same.insert(file),
            _ => self.same.remove(&file),
        };
        batch.push(record, data);
        !batch.is_full() || out.blocking_send(batch.take()).is_ok()
    }

    /// Bytes of files that went over the network.
    pub fn moved(&self) -> u64 {
        self.moved.bytes
    }

    /// Files that did not need to be sent because the receiver had the same.
    pub fn same_files(&self) -> usize {
        self.same.len()
    }

    fn known(&self, file: u32, block: u64) -> bool {
        self.partial.get(&file).is_some_and(|hashes| hashes[block as usize].is_some())
    }

    fn note(&mut self, file: u32, block: u64, hash: [u8; 32]) {
        let count = blocks::count(self.manifest.entries[file as usize].size()) as usize;
        if count > 1 && !self.roots.contains_key(&file) {
            self.partial.entry(file).or_insert_with(|| vec![None; count])[block as usize] = Some(hash);
        }
    }

    /// The hash of a file of several blocks, all of which have been read.
    fn root(&mut self, file: u32) -> Option<[u8; 32]> {
        if let Some(root) = self.roots.get(&file) {
            return Some(*root);
        }
        let hashes: Vec<_> = self.partial.remove(&file)?.into_iter().collect::<Option<_>>()?;
        let root = *blocks::root(&hashes).as_bytes();
        self.roots.insert(file, root);
        Some(root)
    }
}

#[derive(Default)]
struct Builder {
    chunks: Vec<Bytes>,
    small: BytesMut,
    len: usize,
}

impl Builder {
    fn push(&mut self, record: Record, data: Option<Vec<u8>>) {
        let head = record.encode();
        self.small.extend_from_slice(&head);
        self.len += head.len();
        let Some(data) = data else { return };
        self.len += data.len();
        if data.len() < COPY_BELOW {
            self.small.extend_from_slice(&data);
        } else {
            self.chunks.push(self.small.split().freeze());
            self.chunks.push(data.into());
        }
    }

    fn is_full(&self) -> bool {
        self.len >= BATCH
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn take(&mut self) -> Batch {
        let mut whole = std::mem::take(self);
        if !whole.small.is_empty() {
            whole.chunks.push(whole.small.freeze());
        }
        whole.chunks
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
