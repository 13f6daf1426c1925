//! Takes what comes over the network: blocks, holes, hashes of whole files, and that a file does not come.

use super::Store;
use crate::failure::{Context, Failure, Kind, Result};
use crate::transfer::blocks;
use crate::transfer::commit;
use crate::transfer::holes;
use crate::transfer::journal::{NEW_FOLDER, RESET};
use crate::transfer::manifest::Entry;
use crate::transfer::protocol::Record;
use crate::transfer::rules::Rules;
use std::borrow::Cow;
use std::os::unix::fs::FileExt;

impl Store {
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
}
