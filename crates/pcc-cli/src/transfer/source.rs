//! The sending end of a transfer on disk: finds what to send, reads and hashes it, and notices when it changes.

use super::bitmap::Bitmap;
use super::blocks;
use super::failure::{Failure, Kind, Result};
use super::manifest::{Entry, Manifest};
use super::protocol::{BATCH, Record};
use super::walk::{self, Listing, Opener};
use bytes::{Bytes, BytesMut};
use std::collections::HashMap;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;

/// Data below this size is copied next to its record; a buffer of its own would cost more.
const COPY_BELOW: usize = 16 * 1024;

/// What goes over one stream, in this order.
pub type Batch = Vec<Bytes>;

/// What is sent, and what is known about it so far.
pub struct Source {
    /// The list of what is sent.
    pub manifest: Arc<Manifest>,
    /// The list as it goes over the wire.
    pub encoded: Bytes,
    /// What is not sent, and why.
    pub left_out: Vec<String>,
    opener: Opener,
    /// Blocks that were read, for whoever watches whether it goes on.
    pub blocks_read: Arc<AtomicU64>,
    /// Hashes survive a lost connection, so that nothing needs to be read twice for their sake.
    roots: HashMap<u32, [u8; 32]>,
    partial: HashMap<u32, Vec<Option<[u8; 32]>>>,
}

fn changed(entry: &Entry) -> Failure {
    let name = entry.shown();
    Failure::new(
        Kind::Source,
        format!("\"{name}\" changed while it was sent; run pcc send again when it is at rest, with a new ticket"),
    )
}

impl Source {
    /// Lists what is below the given paths.
    pub fn find(arguments: &[PathBuf]) -> Result<Self> {
        let mut listing = Listing::find(arguments)?;
        let left_out = std::mem::take(&mut listing.left_out);
        let (opener, entries) = Opener::new(listing);
        let manifest = Manifest::new(entries)?;
        let encoded = manifest.encode()?.into();
        let (roots, partial) = (HashMap::new(), HashMap::new());
        Ok(Self {
            manifest: Arc::new(manifest),
            encoded,
            left_out,
            opener,
            blocks_read: Arc::default(),
            roots,
            partial,
        })
    }

    /// Reads whatever the receiver lacks and hands it on in batches, until all is read or nobody takes it any more.
    pub fn read(&mut self, have: &Bitmap, finished: &Bitmap, out: &mpsc::Sender<Batch>) -> Result<()> {
        let manifest = self.manifest.clone();
        let mut batch = Builder::default();
        for (file, entry) in (0u32..).zip(&manifest.entries) {
            let size = entry.size();
            if size == 0 || finished.get(file.into()) {
                continue;
            }
            let is_there = |block| manifest.block_id(file, block).is_some_and(|id| have.get(id));
            let unreadable = |opener: &Opener, e| walk::unreadable(&opener.shown(file, entry), e);
            let opened = self.opener.open(file, entry).map_err(|e| unreadable(&self.opener, e))?;
            let (opened, identity) = opened.ok_or_else(|| changed(entry))?;
            for block in 0..blocks::count(size) {
                let known = self.roots.contains_key(&file) || self.known(file, block);
                if is_there(block) && known {
                    continue;
                }
                if out.is_closed() {
                    // Blocks that are read only for their hash are not handed on, and would not show it.
                    return Ok(());
                }
                let mut data = vec![0; blocks::length(size, block)];
                opened.read_exact_at(&mut data, block * blocks::BLOCK).map_err(|e| match e.kind() {
                    std::io::ErrorKind::UnexpectedEof => changed(entry),
                    _ => unreadable(&self.opener, e),
                })?;
                self.blocks_read.fetch_add(1, Ordering::Relaxed);
                // Before it is handed on: with the last block the receiver may have all it needs.
                if !identity.is(&opened).map_err(|e| unreadable(&self.opener, e))? {
                    return Err(changed(entry));
                }
                let hash = blocks::hash(size, block, &data);
                self.note(file, block, hash);
                if is_there(block) {
                    continue;
                }
                batch.push(Record::Block { file, block: block as u32, hash }, Some(data));
                if batch.is_full() && out.blocking_send(batch.take()).is_err() {
                    return Ok(());
                }
            }
            if let Some(hash) = self.root(file) {
                batch.push(Record::Root { file, hash }, None);
            }
        }
        if !batch.is_empty() {
            // Nobody listening means that the connection is gone, which is reported elsewhere.
            let _ = out.blocking_send(batch.take());
        }
        Ok(())
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
