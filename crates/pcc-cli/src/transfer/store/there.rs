//! A file that is where one of the list is to go, and may be the same.

use crate::same_file::Identity;
use crate::transfer::blocks;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A file in the place of one that comes.
pub struct There {
    /// By which it is known again.
    pub identity: Identity,
    /// Of its first blocks; of all of them, if it is as long as what comes.
    pub hashes: Vec<[u8; 32]>,
    /// The hash of the whole file, in that case.
    pub root: Option<[u8; 32]>,
}

impl There {
    /// Hashes what may be the same as in a file of `size` bytes, which is not empty.
    pub fn of(file: &File, identity: Identity, size: u64) -> io::Result<Self> {
        let is_as_long = identity.size() == size;
        let count = match is_as_long {
            true => blocks::count(size),
            // The hash of the last block is of its place too, and must not make the whole look the same.
            false => blocks::count(size.min(identity.size())).saturating_sub(1),
        };
        let mut hashes = Vec::new();
        let mut data = vec![0; size.min(blocks::BLOCK) as usize];
        for block in 0..count {
            let data = &mut data[..blocks::length(size, block)];
            file.read_exact_at(data, block * blocks::BLOCK)?;
            hashes.push(blocks::hash(size, block, data));
        }
        let root = is_as_long.then(|| *blocks::root(&hashes).as_bytes());
        Ok(Self { identity, hashes, root })
    }
}
