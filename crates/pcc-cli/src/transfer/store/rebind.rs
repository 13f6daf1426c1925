//! Files changed while they were sent: the sender lists them again, and what both lists have is kept.

use super::Store;
use crate::failure::Result;
use crate::transfer::admission;
use crate::transfer::bitmap::Bitmap;
use crate::transfer::blocks;
use crate::transfer::in_place::may_stay;
use crate::transfer::journal::Journal;
use crate::transfer::manifest::Manifest;
use crate::transfer::protocol::Record;
use crate::transfer::rules::Rules;
use crate::transfer::staging::Holder;
use std::collections::HashMap;
use std::sync::Arc;

/// Which entry of an older list is which of a newer one: the same version of the same file.
fn same(old: &Manifest, new: &Manifest) -> HashMap<u32, u32> {
    let files = |manifest: &Manifest| {
        let named = (0u32..).zip(&manifest.entries).filter(|(_, entry)| entry.size() > 0);
        named.map(|(file, entry)| (entry.staged_name(), file)).collect::<Vec<_>>()
    };
    let new: HashMap<_, _> = files(new).into_iter().collect();
    files(old).into_iter().filter_map(|(name, file)| Some((file, *new.get(&name)?))).collect()
}

impl Store {
    /// Goes over to a newer list of the same transfer. If that may not be received, all stays as it is.
    pub fn rebind(&mut self, holder: Holder, encoded: &[u8], rules: Rules) -> Result<()> {
        let manifest = Manifest::decode_of(holder.transfer, encoded)?;
        let same = same(&self.manifest, &manifest);
        admission::check(&self.staging, &manifest, rules)?;
        let stored: HashMap<u32, u64> = same.iter().map(|(&before, &file)| (file, self.stored_of(before))).collect();
        let there = (0u32..).zip(&manifest.entries).map(|(file, entry)| match may_stay(&self.staging, entry, rules) {
            true => entry.size(),
            false => stored.get(&file).copied().unwrap_or_default(),
        });
        admission::check_space(&self.staging, manifest.bytes - there.sum::<u64>())?;

        // A list and its journal belong together: the rename of the list is the moment at which both are exchanged.
        let mut journal = self.staging.new_journal(blake3::hash(encoded))?;
        self.journal.read(|record| match record.at(|file| same.get(&file).copied()) {
            Some(moved) => journal.append(moved),
            None => Ok(()),
        })?;
        journal.sync()?;
        self.staging.bind(holder, encoded)?;
        self.staging.remove_journal(self.manifest_hash);
        for (file, entry) in (0u32..).zip(&self.manifest.entries) {
            if entry.size() > 0 && !same.contains_key(&file) {
                self.staging.remove_staged(&entry.staged_name());
            }
        }
        self.go_over(manifest, blake3::hash(encoded), journal, &same);
        Ok(())
    }

    /// Exchanges the manifest and its journal; `same` tells which file is which.
    fn go_over(&mut self, manifest: Manifest, manifest_hash: blake3::Hash, journal: Journal, same: &HashMap<u32, u32>) {
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
}

impl Record {
    /// The same of another file.
    fn at(self, moved: impl Fn(u32) -> Option<u32>) -> Option<Self> {
        Some(match self {
            Record::Block { file, block, hash } => Record::Block { file: moved(file)?, block, hash },
            Record::Hole { file, block, hash } => Record::Hole { file: moved(file)?, block, hash },
            Record::Root { file, hash } => Record::Root { file: moved(file)?, hash },
            Record::Skip { file } => Record::Skip { file: moved(file)? },
            Record::Copy { file, block, hash } => Record::Copy { file: moved(file)?, block, hash },
            Record::Same { file, hash } => Record::Same { file: moved(file)?, hash },
        })
    }
}

#[cfg(test)]
#[path = "rebind_tests.rs"]
mod tests;
