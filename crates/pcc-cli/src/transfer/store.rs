//! The receiving end of a transfer on disk: verified blocks, the journal that remembers them, and what is still missing.

use super::admission;
use super::bitmap::Bitmap;
use super::blocks;
use super::commit;
use super::disk::{Disk, RealDisk};
use super::holes;
use super::in_place::{Same, is_in_place, may_stay};
use super::journal::{COMMITTED, Journal, NEW_FOLDER, RESET};
use super::manifest::{Entry, Manifest, What};
use super::protocol::Record;
use super::rules::Rules;
use super::staging::{Holder, Staging};
use super::there::There;
use crate::failure::{Context, Failure, Kind, Result};
use cap_std::fs::{OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A transfer that is bound to a manifest.
pub struct Store {
    pub(super) staging: Staging,
    /// The list of what is received.
    pub manifest: Arc<Manifest>,
    /// BLAKE3 of the encoded manifest.
    pub manifest_hash: blake3::Hash,
    pub(super) journal: Journal,
    pub(super) have: Bitmap,
    pub(super) finished: Bitmap,
    unfinished: usize,
    /// Files that have their time and permissions under their staged names.
    completed: Bitmap,
    /// Of files with some blocks: the hashes of these, until the file is verified.
    pub(super) partial: BTreeMap<u32, Partial>,
    roots: HashMap<u32, [u8; 32]>,
    open: Option<(u32, std::fs::File)>,
    pub(super) stored: u64,
    committed: bool,
    /// Folders that an earlier attempt to give names may have made.
    new_folders: HashSet<u32>,
    published: bool,
    /// Files that the sender gave up, and what was lost.
    pub(super) given_up: BTreeSet<u32>,
    /// What somebody removed before it had its name, or after an attempt to give names that was cut.
    lost: BTreeSet<u32>,
    /// Files that were in their place before.
    pub(super) in_place: HashMap<u32, Same>,
    /// Files that were and may be the same.
    pub(super) there: HashMap<u32, There>,
    /// Bytes of blocks that came over the network, since this process began.
    moved: u64,
}

pub(super) struct Partial {
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

    /// Exchanges the manifest and its journal; `same` tells which file is which.
    pub(super) fn go_over(
        &mut self,
        manifest: Manifest,
        manifest_hash: blake3::Hash,
        journal: Journal,
        same: &HashMap<u32, u32>,
    ) {
        let old = std::mem::replace(&mut self.manifest, Arc::new(manifest));
        let have = std::mem::replace(&mut self.have, Bitmap::new(self.manifest.blocks));
        let finished = std::mem::replace(&mut self.finished, Bitmap::new(self.manifest.entries.len() as u64));
        let mut partial = std::mem::take(&mut self.partial);
        let mut roots = std::mem::take(&mut self.roots);
        let mut in_place = std::mem::take(&mut self.in_place);
        let mut there = std::mem::take(&mut self.there);
        (self.manifest_hash, self.journal, self.open) = (manifest_hash, journal, None);
        self.unfinished = self.manifest.entries.len();
        self.completed = Bitmap::new(self.manifest.entries.len() as u64);
        self.stored = 0;
        self.given_up.clear();
        self.finish_empty();
        for (&before, &file) in same {
            for block in 0..blocks::count(self.size(file)) {
                let ids = (old.block_id(before, block), self.manifest.block_id(file, block));
                if let (Some(before), Some(id)) = ids
                    && have.get(before)
                {
                    self.have.set(id, true);
                    self.stored += blocks::length(self.size(file), block) as u64;
                }
            }
            if finished.get(before.into()) {
                self.finish(file);
            }
            self.in_place.extend(in_place.remove(&before).map(|same| (file, same)));
            self.there.extend(there.remove(&before).map(|there| (file, there)));
            self.partial.extend(partial.remove(&before).map(|partial| (file, partial)));
            self.roots.extend(roots.remove(&before).map(|root| (file, root)));
        }
    }

    /// Takes up a transfer where it was cut: reads the journal, and hashes again every block that it names.
    pub fn resume(staging: Staging, encoded: &[u8], mut progress: impl FnMut(u64, u64)) -> Result<Self> {
        let (manifest, manifest_hash) = (Manifest::decode(encoded)?, blake3::hash(encoded));
        let journal = staging.journal(manifest_hash)?;
        let mut store = Self::new(staging, Admitted { manifest, manifest_hash, journal });
        let mut blocks: HashMap<(u32, u32), [u8; 32]> = HashMap::new();
        store.read_journal(&mut blocks)?;
        if store.committed {
            // Everything was verified and on disk before that was written.
            let there = (0..store.manifest.entries.len() as u32).filter(|file| !store.given_up.contains(file));
            there.collect::<Vec<_>>().into_iter().for_each(|file| store.finish(file));
            store.stored = store.manifest.bytes;
            return Ok(store);
        }
        store.given_up.clear();
        store.in_place.clear();
        let mut blocks: Vec<_> = blocks.into_iter().collect();
        blocks.sort_unstable_by_key(|(place, _)| *place);
        let size = |(file, block): (u32, u32)| blocks::length(store.size(file), block.into()) as u64;
        let total = blocks.iter().map(|(place, _)| size(*place)).sum();
        let mut checked = 0;
        let mut buffer = vec![0; blocks::BLOCK as usize];
        let mut last = None;
        for ((file, block), hash) in blocks {
            if last.replace(file) != Some(file) {
                store.read_from_disk(file);
            }
            let data = &mut buffer[..blocks::length(store.size(file), block.into())];
            let intact =
                store.read_block(file, block, data) && blocks::hash(store.size(file), block.into(), data) == hash;
            if intact {
                store.note_block(file, block, hash, data.len());
            }
            checked += data.len() as u64;
            progress(checked, total);
        }
        let files: Vec<u32> = store.partial.keys().copied().collect();
        for file in files {
            match store.verify(file) {
                // Mixed, and now forgotten: it will be sent again.
                Err(failure) if failure.kind != Kind::Source => return Err(failure),
                _ => {}
            }
        }
        Ok(store)
    }

    fn read_journal(&mut self, blocks: &mut HashMap<(u32, u32), [u8; 32]>) -> Result<()> {
        let Self { journal, manifest, committed, new_folders, given_up, in_place, roots, .. } = self;
        journal.read(|record| {
            match record {
                COMMITTED => *committed = true,
                Record::Root { file, hash: NEW_FOLDER } => {
                    new_folders.insert(file);
                }
                // The file turned out to be mixed: forget it.
                Record::Root { file, hash: RESET } => {
                    blocks.retain(|(of, _), _| *of != file);
                    roots.remove(&file);
                }
                Record::Root { file, hash } => {
                    roots.insert(file, hash);
                }
                Record::Skip { file } => {
                    given_up.insert(file);
                }
                Record::Same { file, .. } => {
                    in_place.insert(file, Same::ByTime);
                }
                // Never written here.
                Record::Copy { .. } => {}
                Record::Block { file, block, hash } | Record::Hole { file, block, hash } => {
                    if manifest.block_id(file, block.into()).is_some() {
                        blocks.insert((file, block), hash);
                    }
                }
            }
            Ok(())
        })
    }

    pub(super) fn size(&self, file: u32) -> u64 {
        self.manifest.entries[file as usize].size()
    }

    /// After a failed write the memory may hold what the disk does not: it is the disk that is to be checked.
    fn read_from_disk(&mut self, file: u32) {
        #[cfg(target_os = "linux")]
        if let Ok(file) = self.file(file) {
            // If it cannot be done, there is nothing better to do.
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = file;
    }

    fn read_block(&mut self, file: u32, block: u32, data: &mut [u8]) -> bool {
        self.file(file).is_ok_and(|f| f.read_exact_at(data, u64::from(block) * blocks::BLOCK).is_ok())
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
            self.open = Some((file, opened.doing(shown)?.into_std()));
        }
        match &self.open {
            Some((_, open)) => Ok(open),
            None => Err(Failure::new(Kind::Other, "no file is open")),
        }
    }

    /// Takes a block that came over the network.
    pub fn put_block(&mut self, file: u32, block: u32, hash: [u8; 32], data: &[u8]) -> Result<()> {
        if self.put_data(file, block, hash, data)? {
            self.moved += data.len() as u64;
        }
        Ok(())
    }

    /// Verifies a block, writes it to its place, and only then notes it in the journal; whether it was not there yet.
    pub(super) fn put_data(&mut self, file: u32, block: u32, hash: [u8; 32], data: &[u8]) -> Result<bool> {
        let is_new = self.lacks(file, block, hash, || data.into())?;
        if is_new {
            let written = self.file(file)?.write_all_at(data, u64::from(block) * blocks::BLOCK);
            self.put(Record::Block { file, block, hash }, written)?;
        }
        Ok(is_new)
    }

    /// The same for one that is a hole.
    pub fn put_hole(&mut self, file: u32, block: u32, hash: [u8; 32]) -> Result<()> {
        let size = self.manifest.entries.get(file as usize).map_or(0, Entry::size);
        if self.lacks(file, block, hash, || vec![0; blocks::length(size, block.into())].into())? {
            let punched = holes::punch(self.file(file)?, size, block.into());
            self.put(Record::Hole { file, block, hash }, punched)?;
        }
        Ok(())
    }

    /// Whether this block, which is in the list and matches its hash, is not there yet.
    fn lacks<'a>(&self, file: u32, block: u32, hash: [u8; 32], data: impl FnOnce() -> Cow<'a, [u8]>) -> Result<bool> {
        let Some(id) = self.manifest.block_id(file, block.into()) else {
            return Err(Failure::new(Kind::Corrupt, "the sender sent a block that is not in its list"));
        };
        if self.have.get(id) {
            return Ok(false);
        }
        if blocks::hash(self.size(file), block.into(), &data()) != hash {
            let name = self.manifest.entries[file as usize].shown();
            return Err(Failure::new(Kind::Corrupt, format!("block {block} of \"{name}\" does not match its hash")));
        }
        Ok(true)
    }

    /// Notes what was written.
    fn put(&mut self, record: Record, written: std::io::Result<()>) -> Result<()> {
        let (Record::Block { file, block, hash } | Record::Hole { file, block, hash }) = record else { return Ok(()) };
        written.doing(|| {
            format!("write \"{}\" in {}", self.manifest.entries[file as usize].shown(), self.staging.path.display())
        })?;
        self.journal.append(record)?;
        self.note_block(file, block, hash, blocks::length(self.size(file), block.into()));
        self.verify(file)
    }

    /// Gives the file that was written last its time and permissions, if all of it is there: as long as it is open that costs
    /// little. What fails is tried again in the end.
    pub fn complete_last(&mut self, rules: Rules) {
        if let Some((file, opened)) = &self.open {
            let (file, entry) = (u64::from(*file), &self.manifest.entries[*file as usize]);
            if self.finished.get(file) && !self.completed.get(file) {
                self.completed.set(file, commit::complete(opened, entry, rules).is_ok());
            }
        }
    }

    /// Notes the hash that a file of several blocks must have.
    pub fn put_root(&mut self, file: u32, hash: [u8; 32]) -> Result<()> {
        let several = self.manifest.entries.get(file as usize).is_some_and(|entry| blocks::count(entry.size()) > 1);
        if !several || hash == RESET || hash == NEW_FOLDER {
            return Err(Failure::new(Kind::Corrupt, "the sender sent the hash of a file that is not in its list"));
        }
        if self.finished.get(file.into()) || self.roots.get(&file) == Some(&hash) {
            return Ok(());
        }
        self.journal.append(Record::Root { file, hash })?;
        self.roots.insert(file, hash);
        self.verify(file)
    }

    /// Notes that the sender gives a file up: what is there of it does not count.
    pub fn give_up(&mut self, file: u32) -> Result<()> {
        if self.manifest.entries.get(file as usize).is_none_or(|entry| entry.size() == 0) {
            return Err(Failure::new(Kind::Corrupt, "the sender gives up a file that is not in its list"));
        }
        if !self.finished.get(file.into()) && self.given_up.insert(file) {
            self.stored += self.size(file) - self.stored_of(file);
        }
        Ok(())
    }

    /// What the sender of an earlier session gave up may come now.
    pub fn hope_again(&mut self) {
        if !self.committed {
            for file in std::mem::take(&mut self.given_up) {
                self.stored -= self.size(file) - self.stored_of(file);
            }
        }
    }

    /// Bytes of a file that are verified and stored.
    pub(super) fn stored_of(&self, file: u32) -> u64 {
        let is_there = |block: &u64| self.manifest.block_id(file, *block).is_some_and(|id| self.have.get(id));
        let there = (0..blocks::count(self.size(file))).filter(is_there);
        there.map(|block| blocks::length(self.size(file), block) as u64).sum()
    }

    /// Files of which all is here, empty ones aside.
    pub fn finished_files(&self) -> usize {
        let files = 0..self.manifest.entries.len() as u32;
        files.filter(|&file| self.size(file) > 0 && self.finished.get(file.into())).count()
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

    pub(super) fn finish(&mut self, file: u32) {
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

    /// The entries that are complete, as runs.
    pub fn finished_runs(&self) -> Vec<(u64, u64)> {
        self.finished.runs()
    }

    /// Gives everything its final name, where it survives a loss of power. Can be repeated after a cut.
    pub fn commit(&mut self, rules: Rules) -> Result<()> {
        self.commit_on(&RealDisk, rules)
    }

    fn commit_on(&mut self, disk: &impl Disk, rules: Rules) -> Result<()> {
        if self.published {
            return Ok(());
        }
        let is_resumed = self.committed;
        self.seal(disk, rules)?;
        let Self { staging, manifest, new_folders: ours, given_up, in_place, .. } = &*self;
        let attempt = commit::Attempt { is_resumed, ours, given_up, in_place };
        for file in commit::publish(staging, manifest, rules, &attempt, disk)? {
            self.finished.set(file.into(), false);
            self.unfinished += 1;
            self.given_up.insert(file);
            self.lost.insert(file);
        }
        self.published = true;
        Ok(())
    }

    /// Completes everything under its staged name, and notes that names may be given from now on.
    pub(super) fn seal(&mut self, disk: &impl Disk, rules: Rules) -> Result<()> {
        if self.committed {
            return Ok(());
        }
        for file in 0..self.manifest.entries.len() as u32 {
            if matches!(self.manifest.entries[file as usize].what, What::File { size: 0, .. }) {
                self.file(file)?;
            }
        }
        self.open = None;
        commit::prepare(&self.staging, &self.manifest, &self.given_up, &self.in_place, &self.completed, rules)?;
        disk.sync_files(&self.staging.data, self.staging.handle(), &self.staging.path)?;
        for folder in commit::missing_folders(&self.staging, &self.manifest) {
            self.journal.append(Record::Root { file: folder, hash: NEW_FOLDER })?;
        }
        for &file in &self.given_up {
            self.journal.append(Record::Skip { file })?;
        }
        for (&file, same) in &self.in_place {
            let is_plain = || is_in_place(&self.staging, &self.manifest.entries[file as usize]);
            if matches!(same, Same::ByContent(_)) && !is_plain() {
                // It stays as it is, though its time could not be set.
                self.journal.append(Record::Same { file, hash: [0; 32] })?;
            }
        }
        self.journal.append(COMMITTED)?;
        self.journal.sync()?;
        self.committed = true;
        Ok(())
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

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
