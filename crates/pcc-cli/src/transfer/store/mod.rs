//! The receiving end of a transfer on disk: verified blocks, the journal that remembers them, and what is still missing.

mod incoming;
mod publish;
mod rebind;
mod resume;
mod sync;
#[cfg(test)]
mod tests;
mod there;

use super::admission;
use super::bitmap::Bitmap;
use super::blocks;
use super::in_place::{Same, may_stay};
use super::inodes;
use super::journal::{Journal, RESET};
use super::manifest::{Entry, Manifest, What};
use super::protocol::Record;
use super::rules::Rules;
use super::staging::{Holder, Staging};
use crate::failure::{Context, Failure, Kind, Result};
use cap_std::fs::{OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::ErrorKind;
use std::sync::Arc;
use there::There;

/// A transfer that is bound to a manifest.
pub struct Store {
    staging: Staging,
    /// The list of what is received.
    pub manifest: Arc<Manifest>,
    /// BLAKE3 of the encoded manifest.
    pub manifest_hash: blake3::Hash,
    journal: Journal,
    have: Bitmap,
    finished: Bitmap,
    unfinished: usize,
    /// Files that have their time and permissions under their staged names.
    completed: Bitmap,
    /// Of files with some blocks: the hashes of these, until the file is verified.
    partial: BTreeMap<u32, Partial>,
    roots: HashMap<u32, [u8; 32]>,
    open: Option<(u32, std::fs::File)>,
    stored: u64,
    committed: bool,
    /// Folders that an earlier attempt to give names may have made.
    new_folders: HashSet<u32>,
    published: bool,
    /// Files that the sender gave up, and what was lost.
    given_up: BTreeSet<u32>,
    /// What somebody removed before it had its name, or after an attempt to give names that was cut.
    lost: BTreeSet<u32>,
    /// Files that were in their place before.
    in_place: HashMap<u32, Same>,
    /// Files that were and may be the same.
    there: HashMap<u32, There>,
    /// Bytes of blocks that came over the network, since this process began.
    moved: u64,
}

struct Partial {
    hashes: Vec<[u8; 32]>,
    missing: u64,
}

/// A manifest that may be received.
pub struct Admitted {
    manifest: Manifest,
    manifest_hash: blake3::Hash,
    journal: Journal,
}

impl Admitted {
    /// Checks the manifest of the first sender, and if there are no objections binds the staging folder to it.
    pub fn bind(staging: &Staging, holder: Holder, encoded: &[u8], rules: Rules) -> Result<Self> {
        let manifest = Manifest::decode_of(holder.transfer, encoded)?;
        admission::check(staging, &manifest, rules)?;
        let there = manifest.entries.iter().filter(|entry| may_stay(staging, entry, rules));
        let there: u64 = there.map(Entry::size).sum();
        admission::check_space(staging, manifest.bytes - there)?;
        let manifest_hash = blake3::hash(encoded);
        // One may be there, and damaged: a loss of power may keep a journal without the list that it belongs to.
        let journal = staging.new_journal(manifest_hash)?;
        staging.bind(holder, encoded)?;
        Ok(Self { manifest, manifest_hash, journal })
    }
}

impl Store {
    /// A transfer of which nothing is there yet.
    pub fn new(staging: Staging, admitted: Admitted) -> Self {
        let Admitted { manifest, manifest_hash, journal } = admitted;
        let mut store = Self {
            have: Bitmap::new(manifest.blocks),
            finished: Bitmap::new(manifest.entries.len() as u64),
            unfinished: manifest.entries.len(),
            completed: Bitmap::new(manifest.entries.len() as u64),
            partial: BTreeMap::new(),
            roots: HashMap::new(),
            open: None,
            stored: 0,
            committed: false,
            new_folders: HashSet::new(),
            published: false,
            staging,
            manifest: Arc::new(manifest),
            manifest_hash,
            journal,
            given_up: BTreeSet::new(),
            lost: BTreeSet::new(),
            in_place: HashMap::new(),
            there: HashMap::new(),
            moved: 0,
        };
        store.finish_empty();
        store
    }

    fn finish_empty(&mut self) {
        for file in 0..self.manifest.entries.len() as u32 {
            if self.size(file) == 0 {
                self.finish(file);
            }
        }
    }

    fn is_empty_file(&self, file: u32) -> bool {
        matches!(self.manifest.entries[file as usize].what, What::File { size: 0, .. })
    }

    fn size(&self, file: u32) -> u64 {
        self.manifest.entries[file as usize].size()
    }

    /// The staged file, created on first use. Only this user may read it until it has its name. If somebody removed what is there of
    /// it, another would have zeros in its place.
    fn file(&mut self, file: u32) -> Result<&std::fs::File> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != file) {
            let entry = &self.manifest.entries[file as usize];
            let (data, name) = (&self.staging.data, entry.staged_name());
            let mut options = OpenOptions::new();
            let has_blocks = self.partial.contains_key(&file);
            options.create(!has_blocks).read(true).write(true).mode(0o600);
            let opened = data.open_with(&name, &options).or_else(|e| match e.kind() {
                // It had its final permissions already when an attempt was cut.
                ErrorKind::PermissionDenied => {
                    data.set_permissions(&name, Permissions::from_mode(0o600))?;
                    data.open_with(&name, &options)
                }
                _ => Err(e),
            });
            let shown = || format!("write \"{}\" in {}", entry.shown(), self.staging.shown());
            if has_blocks && matches!(&opened, Err(e) if e.kind() == ErrorKind::NotFound) {
                let message = format!(
                    "what came of \"{}\" was removed from {}; run both commands again to send it anew",
                    entry.shown(),
                    self.staging.shown()
                );
                return Err(Failure::new(Kind::Other, message));
            }
            self.open = Some((file, opened.map_err(|e| inodes::named(e, data)).doing(shown)?.into_std()));
        }
        match &self.open {
            Some((_, open)) => Ok(open),
            None => Err(Failure::new(Kind::Other, "no file is open")),
        }
    }

    /// Bytes of a file that are verified and stored.
    pub fn stored_of(&self, file: u32) -> u64 {
        let is_there = |block: &u64| self.manifest.block_id(file, *block).is_some_and(|id| self.have.get(id));
        let there = (0..blocks::count(self.size(file))).filter(is_there);
        there.map(|block| blocks::length(self.size(file), block) as u64).sum()
    }

    /// Files of which all is here; of empty ones, those that were in their place before, by their time.
    pub fn finished_files(&self) -> usize {
        let files = 0..self.manifest.entries.len() as u32;
        let is_here = |&file: &u32| match self.size(file) {
            0 => self.in_place.get(&file) == Some(&Same::ByTime),
            _ => self.finished.get(file.into()),
        };
        files.filter(is_here).count()
    }

    /// What is not here when all else is, and why.
    pub fn missing(&self) -> impl Iterator<Item = (&Entry, &'static str)> {
        self.given_up.iter().map(|file| {
            let why = match self.lost.contains(file) {
                true => "somebody removed it before all was in its place",
                false => "the sender could not read it as it was",
            };
            (&self.manifest.entries[*file as usize], why)
        })
    }

    /// The same as runs of entries.
    pub fn missing_runs(&self) -> Vec<(u64, u64)> {
        let mut bits = Bitmap::new(self.manifest.entries.len() as u64);
        self.given_up.iter().for_each(|&file| bits.set(file.into(), true));
        bits.runs()
    }

    fn note_block(&mut self, file: u32, block: u32, hash: [u8; 32], len: usize) {
        let Some(id) = self.manifest.block_id(file, block.into()) else { return };
        let count = blocks::count(self.size(file));
        let partial = self
            .partial
            .entry(file)
            .or_insert_with(|| Partial { hashes: vec![[0; 32]; count as usize], missing: count });
        partial.hashes[block as usize] = hash;
        partial.missing -= 1;
        self.have.set(id, true);
        // All of what is given up counts already.
        if !self.given_up.contains(&file) {
            self.stored += len as u64;
        }
    }

    /// A file whose blocks are all there must have the hash that the sender states for the whole.
    fn verify(&mut self, file: u32) -> Result<()> {
        let Some(partial) = self.partial.get(&file) else { return Ok(()) };
        if partial.missing > 0 {
            return Ok(());
        }
        if partial.hashes.len() > 1 {
            let Some(expected) = self.roots.get(&file) else { return Ok(()) };
            if blocks::root(&partial.hashes) != *expected {
                self.forget(file)?;
                let name = self.manifest.entries[file as usize].shown();
                return Err(Failure::new(
                    Kind::Source,
                    format!(
                        "\"{name}\" changed at the source between two attempts; run pcc send again to send it anew"
                    ),
                ));
            }
        }
        self.partial.remove(&file);
        self.finish(file);
        Ok(())
    }

    fn forget(&mut self, file: u32) -> Result<()> {
        self.journal.append(Record::Root { file, hash: RESET })?;
        self.roots.remove(&file);
        self.partial.remove(&file);
        for block in 0..blocks::count(self.size(file)) {
            if let Some(id) = self.manifest.block_id(file, block) {
                self.have.set(id, false);
            }
        }
        if !self.given_up.contains(&file) {
            self.stored -= self.size(file);
        }
        Ok(())
    }

    fn finish(&mut self, file: u32) {
        if !self.finished.get(file.into()) {
            self.finished.set(file.into(), true);
            self.unfinished -= 1;
            self.given_up.remove(&file);
        }
    }

    /// Bytes verified and stored.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// Whether every file that the sender did not give up is there and verified.
    pub fn is_complete(&self) -> bool {
        self.unfinished == self.given_up.len()
    }

    /// Bytes that came over the network.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// The blocks that are there, as runs.
    pub fn block_runs(&self) -> Vec<(u64, u64)> {
        self.have.runs()
    }

    /// The entries that are complete, as runs; without empty files that were not here before.
    pub fn finished_runs(&self) -> Vec<(u64, u64)> {
        let mut finished = self.finished.clone();
        let files = 0..self.manifest.entries.len() as u32;
        let is_new = |&file: &u32| self.is_empty_file(file) && !self.in_place.contains_key(&file);
        files.filter(is_new).for_each(|file| finished.set(file.into(), false));
        finished.runs()
    }

    /// Whether all is verified and names may have been given.
    pub fn is_committed(&self) -> bool {
        self.committed
    }

    /// Whether everything has its final name.
    pub fn is_published(&self) -> bool {
        self.published
    }

    /// Whether nothing came yet.
    pub fn is_untouched(&self) -> bool {
        self.stored == 0 && !self.committed
    }

    /// Gives the staging folder back, for removal or for a later attempt.
    pub fn into_staging(self) -> Staging {
        self.staging
    }
}
