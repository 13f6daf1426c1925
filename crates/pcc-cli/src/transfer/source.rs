//! The sending end of a transfer on disk: finds what to send, reads and hashes it, and notices when it changes.

use super::blocks;
use super::failure::{Failure, Kind, Result, printable};
use super::manifest::{Entry, Manifest, Mtime, PERMISSIONS, What};
use super::protocol::{BATCH, Record};
use super::store::Bitmap;
use bytes::{Bytes, BytesMut};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;
use walkdir::WalkDir;

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
    paths: Vec<PathBuf>,
    /// Hashes survive a lost connection, so that nothing needs to be read twice for their sake.
    roots: HashMap<u32, [u8; 32]>,
    partial: HashMap<u32, Vec<Option<[u8; 32]>>>,
}

fn unreadable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Source, format!("cannot read \"{}\": {why}", printable(path.as_os_str().as_bytes())))
}

fn changed(entry: &Entry) -> Failure {
    let name = entry.shown();
    Failure::new(
        Kind::Source,
        format!("\"{name}\" changed while it was sent; run pcc send again when it is at rest, with a new ticket"),
    )
}

fn mtime(metadata: &Metadata) -> Mtime {
    Mtime { secs: metadata.mtime(), nanos: metadata.mtime_nsec().clamp(0, 999_999_999) as u32 }
}

impl Source {
    /// Lists what is below the given paths.
    pub fn find(arguments: &[PathBuf]) -> Result<Self> {
        let mut entries = Vec::new();
        let mut paths = Vec::new();
        for argument in arguments {
            let name = match argument.file_name() {
                Some(name) => name.to_owned(),
                None => {
                    let full = argument.canonicalize().map_err(|e| unreadable(argument, e))?;
                    full.file_name()
                        .ok_or_else(|| unreadable(argument, "it has no name; send what is in it"))?
                        .to_owned()
                }
            };
            for found in WalkDir::new(argument).sort_by_file_name() {
                let found = found.map_err(|e| unreadable(e.path().unwrap_or(argument), &e))?;
                let below = found.path().strip_prefix(argument).map_err(|e| unreadable(found.path(), e))?;
                let mut path = name.as_bytes().to_vec();
                if !below.as_os_str().is_empty() {
                    path.push(b'/');
                    path.extend_from_slice(below.as_os_str().as_bytes());
                }
                // A link that is named on the command line is followed, one inside a folder is sent as a link.
                let metadata =
                    if found.depth() == 0 { std::fs::metadata(argument) } else { found.path().symlink_metadata() };
                let metadata = metadata.map_err(|e| unreadable(found.path(), e))?;
                entries.push(Entry { path, what: describe(found.path(), &metadata)? });
                paths.push(found.into_path());
            }
        }
        let manifest = Manifest::new(entries)?;
        let encoded = manifest.encode()?.into();
        Ok(Self { manifest: Arc::new(manifest), encoded, paths, roots: HashMap::new(), partial: HashMap::new() })
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
            let opened = self.open(file, entry)?;
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
                    _ => unreadable(&self.paths[file as usize], e),
                })?;
                // Before it is handed on: with the last block the receiver may have all it needs.
                check_unchanged(&opened, entry, &self.paths[file as usize])?;
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

    fn open(&self, file: u32, entry: &Entry) -> Result<File> {
        let path = &self.paths[file as usize];
        let opened = File::open(path).map_err(|e| unreadable(path, e))?;
        check_unchanged(&opened, entry, path)?;
        Ok(opened)
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

fn describe(path: &Path, metadata: &Metadata) -> Result<What> {
    let kind = metadata.file_type();
    if kind.is_dir() {
        Ok(What::Dir { mode: metadata.mode() & PERMISSIONS, mtime: mtime(metadata) })
    } else if kind.is_file() {
        // Better now than after hours.
        File::open(path).map_err(|e| unreadable(path, e))?;
        Ok(What::File { size: metadata.len(), mode: metadata.mode() & PERMISSIONS, mtime: mtime(metadata) })
    } else if kind.is_symlink() {
        let target = std::fs::read_link(path).map_err(|e| unreadable(path, e))?;
        Ok(What::Link { target: target.as_os_str().as_bytes().to_vec() })
    } else {
        Err(unreadable(path, "it is neither a file nor a folder; leave it out"))
    }
}

fn check_unchanged(opened: &File, entry: &Entry, path: &Path) -> Result<()> {
    let metadata = opened.metadata().map_err(|e| unreadable(path, e))?;
    match &entry.what {
        What::File { size, mtime: then, .. }
            if metadata.is_file() && metadata.len() == *size && mtime(&metadata) == *then =>
        {
            Ok(())
        }
        _ => Err(changed(entry)),
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
