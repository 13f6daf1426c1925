//! The receiving end of a transfer on disk: verified blocks, the journal that remembers them, and what is still missing.

use super::bitmap::Bitmap;
use super::blocks;
use super::commit::{self, Rules};
use super::credentials::SenderId;
use super::disk::{Disk, RealDisk};
use super::failure::{Context, Failure, Kind, Result};
use super::manifest::{Manifest, What};
use super::protocol::{RECORD_LEN, Record};
use super::staging::Staging;
use cap_std::fs::{OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use std::collections::{HashMap, HashSet};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A record, then what shows that it was written completely.
const CHECK_LEN: usize = 8;
const LINE_LEN: usize = RECORD_LEN + CHECK_LEN;
/// In place of a block: everything is verified and files may be on their way to their final names.
const COMMITTED: Record = Record::Root { file: u32::MAX, hash: [0; 32] };

/// A transfer that is bound to a manifest.
pub struct Store {
    staging: Staging,
    /// The list of what is received.
    pub manifest: Arc<Manifest>,
    /// BLAKE3 of the encoded manifest.
    pub manifest_hash: blake3::Hash,
    journal: std::fs::File,
    /// Bytes of the journal that are whole lines.
    logged: u64,
    have: Bitmap,
    finished: Bitmap,
    unfinished: usize,
    /// Of files with some blocks: the hashes of these, until the file is verified.
    partial: HashMap<u32, Partial>,
    roots: HashMap<u32, [u8; 32]>,
    open: Option<(u32, std::fs::File)>,
    stored: u64,
    committed: bool,
    /// Folders that an earlier attempt to give names may have made.
    new_folders: HashSet<u32>,
    published: bool,
}

struct Partial {
    hashes: Vec<[u8; 32]>,
    missing: u64,
}

/// A manifest that may be received.
pub struct Admitted {
    manifest: Manifest,
    manifest_hash: blake3::Hash,
    journal: std::fs::File,
}

impl Admitted {
    /// Checks the manifest of the first sender, and if there are no objections binds the staging folder to it.
    pub fn bind(staging: &Staging, sender: SenderId, encoded: &[u8], rules: Rules) -> Result<Self> {
        let manifest = Manifest::decode(encoded)?;
        commit::check(staging, &manifest, rules)?;
        commit::check_space(staging, manifest.bytes)?;
        staging.bind(sender, encoded)?;
        Self::open(staging, encoded, manifest)
    }

    fn open(staging: &Staging, encoded: &[u8], manifest: Manifest) -> Result<Self> {
        Ok(Self { manifest, manifest_hash: blake3::hash(encoded), journal: staging.journal()? })
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
            partial: HashMap::new(),
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
            logged: 0,
        };
        for file in 0..store.manifest.entries.len() as u32 {
            if store.size(file) == 0 {
                store.finish(file);
            }
        }
        store
    }

    /// Takes up a transfer where it was cut: reads the journal, and hashes again every block that it names.
    pub fn resume(staging: Staging, encoded: &[u8], mut progress: impl FnMut(u64, u64)) -> Result<Self> {
        let admitted = Admitted::open(&staging, encoded, Manifest::decode(encoded)?)?;
        let mut store = Self::new(staging, admitted);
        let mut blocks: HashMap<(u32, u32), [u8; 32]> = HashMap::new();
        store.read_journal(&mut blocks)?;
        if store.committed {
            // Everything was verified and on disk before that was written.
            (0..store.manifest.entries.len() as u32).for_each(|file| store.finish(file));
            store.stored = store.manifest.bytes;
            return Ok(store);
        }
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
        let shown = || format!("read the journal in {}", self.staging.shown());
        let mut reader = BufReader::with_capacity(1 << 16, self.journal.try_clone().doing(shown)?);
        let mut line = [0; LINE_LEN];
        let mut good = 0;
        // A kill can cut the last line short; whatever follows a bad one is not believed.
        loop {
            match reader.read_exact(&mut line) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => break,
                Err(e) => return Err(Failure::io(shown(), &e)),
            }
            let (record, check) = line.split_at(RECORD_LEN);
            let Ok(record) = <&[u8; RECORD_LEN]>::try_from(record) else { break };
            if check_sum(record) != check {
                break;
            }
            good += LINE_LEN as u64;
            match Record::decode(record) {
                COMMITTED => self.committed = true,
                Record::Root { file, hash: NEW_FOLDER } => {
                    self.new_folders.insert(file);
                }
                // The file turned out to be mixed: forget it.
                Record::Root { file, hash: RESET } => {
                    blocks.retain(|(of, _), _| *of != file);
                    self.roots.remove(&file);
                }
                Record::Root { file, hash } => {
                    self.roots.insert(file, hash);
                }
                Record::Block { file, block, hash } => {
                    if self.manifest.block_id(file, block.into()).is_some() {
                        blocks.insert((file, block), hash);
                    }
                }
            }
        }
        self.logged = good;
        self.journal.set_len(good).doing(shown)
    }

    fn size(&self, file: u32) -> u64 {
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

    /// The staged file, created on first use. Only this user may read it until it has its name.
    fn file(&mut self, file: u32) -> Result<&std::fs::File> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != file) {
            let entry = &self.manifest.entries[file as usize];
            let (data, name) = (&self.staging.data, file.to_string());
            let mut options = OpenOptions::new();
            options.create(true).read(true).write(true).mode(0o600);
            let opened = data.open_with(&name, &options).or_else(|e| match e.kind() {
                // It had its final permissions already when an attempt was cut.
                ErrorKind::PermissionDenied => {
                    data.set_permissions(&name, Permissions::from_mode(0o600))?;
                    data.open_with(&name, &options)
                }
                _ => Err(e),
            });
            let shown = || format!("write \"{}\" in {}", entry.shown(), self.staging.shown());
            self.open = Some((file, opened.doing(shown)?.into_std()));
        }
        match &self.open {
            Some((_, open)) => Ok(open),
            None => Err(Failure::new(Kind::Other, "no file is open")),
        }
    }

    fn log(&mut self, record: Record) -> Result<()> {
        let record = record.encode();
        let mut line = [0; LINE_LEN];
        line[..RECORD_LEN].copy_from_slice(&record);
        line[RECORD_LEN..].copy_from_slice(&check_sum(&record));
        let written = self.journal.write_all(&line);
        match &written {
            Ok(()) => self.logged += LINE_LEN as u64,
            // A torn line would hide all that follow it. If this fails too, the next start stops reading there.
            Err(_) => drop(self.journal.set_len(self.logged)),
        }
        written.doing(|| format!("write the journal in {}", self.staging.shown()))
    }

    /// Verifies a block, writes it to its place, and only then notes it in the journal.
    pub fn put_block(&mut self, file: u32, block: u32, hash: [u8; 32], data: &[u8]) -> Result<()> {
        let Some(id) = self.manifest.block_id(file, block.into()) else {
            return Err(Failure::new(Kind::Corrupt, "the sender sent a block that is not in its list"));
        };
        if self.have.get(id) {
            return Ok(());
        }
        let size = self.size(file);
        if blocks::hash(size, block.into(), data) != hash {
            let name = self.manifest.entries[file as usize].shown();
            return Err(Failure::new(Kind::Corrupt, format!("block {block} of \"{name}\" does not match its hash")));
        }
        let written = self.file(file)?.write_all_at(data, u64::from(block) * blocks::BLOCK);
        written.doing(|| {
            format!("write \"{}\" in {}", self.manifest.entries[file as usize].shown(), self.staging.path.display())
        })?;
        self.log(Record::Block { file, block, hash })?;
        self.note_block(file, block, hash, data.len());
        self.verify(file)
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
        self.log(Record::Root { file, hash })?;
        self.roots.insert(file, hash);
        self.verify(file)
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
        self.stored += len as u64;
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
        self.log(Record::Root { file, hash: RESET })?;
        self.roots.remove(&file);
        self.partial.remove(&file);
        for block in 0..blocks::count(self.size(file)) {
            if let Some(id) = self.manifest.block_id(file, block) {
                self.have.set(id, false);
            }
        }
        self.stored -= self.size(file);
        Ok(())
    }

    fn finish(&mut self, file: u32) {
        if !self.finished.get(file.into()) {
            self.finished.set(file.into(), true);
            self.unfinished -= 1;
        }
    }

    /// Bytes verified and stored.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// Whether every file is there and verified.
    pub fn is_complete(&self) -> bool {
        self.unfinished == 0
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
        self.seal(disk, rules)?;
        commit::publish(&self.staging, &self.manifest, rules, &self.new_folders, disk)?;
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
        commit::prepare(&self.staging, &self.manifest, rules)?;
        disk.sync_files(&self.staging.data, self.staging.handle(), &self.staging.path)?;
        for folder in commit::missing_folders(&self.staging, &self.manifest) {
            self.log(Record::Root { file: folder, hash: NEW_FOLDER })?;
        }
        self.log(COMMITTED)?;
        self.journal.sync_all().doing(|| format!("write the journal in {}", self.staging.shown()))?;
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

/// In the place of a file's hash: forget the file.
const RESET: [u8; 32] = [0; 32];
/// In the place of a hash: this folder was not there before.
const NEW_FOLDER: [u8; 32] = [0xff; 32];

fn check_sum(record: &[u8; RECORD_LEN]) -> [u8; CHECK_LEN] {
    let mut sum = [0; CHECK_LEN];
    sum.copy_from_slice(&blake3::hash(record).as_bytes()[..CHECK_LEN]);
    sum
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
