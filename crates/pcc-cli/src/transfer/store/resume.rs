//! Goes on where a transfer was cut: what the journal says is there, is read from the disk and hashed again.

use super::{Admitted, Store};
use crate::failure::{Kind, Result};
use crate::transfer::blocks;
use crate::transfer::in_place::Same;
use crate::transfer::journal::{COMMITTED, NEW_FOLDER, RESET};
use crate::transfer::manifest::Manifest;
use crate::transfer::protocol::Record;
use crate::transfer::staging::Staging;
use std::collections::HashMap;
use std::os::unix::fs::FileExt;

impl Store {
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
}
