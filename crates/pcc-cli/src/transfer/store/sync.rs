//! What is in its place already and need not be sent: `pcc recv --sync`, and with `--checksum`.
//!
//! With `--checksum` the files that are there are hashed, and the sender is told the hashes of their blocks. It answers that
//! a file is the same, or which of its blocks are: these are copied from here.

use super::Store;
use super::there::There;
use crate::failure::{Context, Failure, Kind, Result};
use crate::transfer::blocks;
use crate::transfer::in_place::{self, Same};
use std::os::unix::fs::FileExt;

impl Store {
    /// Takes files that are in their place already, by size and time, for received. If contents are to be compared, hashes
    /// what is there instead, and tells how many bytes of how many it has looked at. Of empty files there is nothing to
    /// compare but their length.
    pub fn take_what_is_there(&mut self, checksum: bool, mut progress: impl FnMut(u64, u64)) {
        if self.is_committed() {
            return;
        }
        let files = 0..self.manifest.entries.len() as u32;
        let (empty, others): (Vec<u32>, Vec<u32>) = files.partition(|&file| self.is_empty_file(file));
        for file in empty {
            let entry = &self.manifest.entries[file as usize];
            let same = match checksum {
                false => in_place::is_in_place(&self.staging, entry).then_some(Same::ByTime),
                true => in_place::open_in_place(&self.staging, entry)
                    .ok()
                    .and_then(|(_, identity)| (identity.size() == 0).then_some(Same::ByContent(identity))),
            };
            match same {
                Some(same) => drop(self.in_place.insert(file, same)),
                None => drop(self.in_place.remove(&file)),
            }
        }
        let missing: Vec<u32> = others.into_iter().filter(|&file| !self.finished.get(file.into())).collect();
        let total = missing.iter().map(|&file| self.size(file)).sum();
        let mut seen = 0;
        for file in missing {
            let entry = &self.manifest.entries[file as usize];
            if checksum {
                seen += entry.size();
                self.look_at(file);
                progress(seen, total);
            } else if in_place::is_in_place(&self.staging, entry) {
                self.keep(file, Same::ByTime);
            }
        }
    }

    fn look_at(&mut self, file: u32) {
        let entry = &self.manifest.entries[file as usize];
        // What can't be read is sent.
        let Ok((opened, identity)) = in_place::open_in_place(&self.staging, entry) else {
            self.there.remove(&file);
            return;
        };
        if self.there.get(&file).is_some_and(|there| there.identity == identity) {
            return;
        }
        match There::of(&opened, identity, entry.size()) {
            Ok(there) => drop(self.there.insert(file, there)),
            Err(_) => drop(self.there.remove(&file)),
        }
    }

    /// What may be the same at the sender: blocks in the sequence of all blocks, and their hashes.
    pub fn offers(&self) -> Vec<(u64, [u8; 32])> {
        let files = (0..self.manifest.entries.len() as u32).filter_map(|file| Some((file, self.there.get(&file)?)));
        let blocks = files.flat_map(|(file, there)| {
            let first = self.manifest.block_id(file, 0).unwrap_or_default();
            (first..).zip(there.hashes.iter().copied())
        });
        blocks.filter(|(id, _)| !self.have.get(*id)).collect()
    }

    /// Takes a file that is here for received: the sender has the same.
    pub fn put_same(&mut self, file: u32, hash: [u8; 32]) -> Result<()> {
        match self.there.get(&file) {
            Some(there) if there.root == Some(hash) => {
                let same = Same::ByContent(there.identity);
                if !self.finished.get(file.into()) {
                    self.keep(file, same);
                }
                Ok(())
            }
            _ => Err(Failure::new(Kind::Corrupt, "the sender sent that a file is the same which is not")),
        }
    }

    /// Files that stay because the sender said that it has the same.
    pub fn same_files(&self) -> usize {
        self.in_place.values().filter(|same| matches!(same, Same::ByContent(_))).count()
    }

    /// Copies a block that is here: the sender has the same.
    pub fn put_copy(&mut self, file: u32, block: u32, hash: [u8; 32]) -> Result<()> {
        let Some(there) = self.there.get(&file).filter(|there| there.hashes.get(block as usize) == Some(&hash)) else {
            return Err(Failure::new(Kind::Corrupt, "the sender sent that a block is the same which is not"));
        };
        let entry = &self.manifest.entries[file as usize];
        let mut data = vec![0; blocks::length(entry.size(), block.into())];
        let (opened, identity) = in_place::open_in_place(&self.staging, entry)?;
        let read = opened.read_exact_at(&mut data, u64::from(block) * blocks::BLOCK);
        read.doing(|| format!("read \"{}\"", entry.shown()))?;
        if identity != there.identity || !identity.is(&opened).doing(|| format!("look at \"{}\"", entry.shown()))? {
            return Err(in_place::changed_here(entry));
        }
        self.put_data(file, block, hash, &data).map(drop)
    }

    /// Takes a file that is in its place for received.
    fn keep(&mut self, file: u32, same: Same) {
        for block in 0..blocks::count(self.size(file)) {
            if let Some(id) = self.manifest.block_id(file, block).filter(|&id| !self.have.get(id)) {
                self.have.set(id, true);
                // All of what is given up counts already.
                if !self.given_up.contains(&file) {
                    self.stored += blocks::length(self.size(file), block) as u64;
                }
            }
        }
        self.partial.remove(&file);
        self.in_place.insert(file, same);
        self.finish(file);
    }
}

#[cfg(test)]
#[path = "sync_tests.rs"]
mod tests;
