//! What is on a disk.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// What a disk writes whole or not at all, in bytes.
pub const BLOCK: usize = 4096;

type Block = [u8; BLOCK];

/// The blocks of a disk that are not all zeros. Copies share them.
#[derive(Clone)]
pub struct Image {
    len: u64,
    blocks: BTreeMap<u64, Arc<Block>>,
}

impl Image {
    /// What is in this file, whose length is a multiple of a block's.
    pub fn load(path: &Path) -> io::Result<Self> {
        let mut file = io::BufReader::with_capacity(64 * BLOCK, File::open(path)?);
        let len = file.get_ref().metadata()?.len();
        let mut blocks = BTreeMap::new();
        let mut block = [0; BLOCK];
        for number in 0..len / BLOCK as u64 {
            file.read_exact(&mut block)?;
            if block != [0; BLOCK] {
                blocks.insert(number, Arc::new(block));
            }
        }
        Ok(Self { len, blocks })
    }

    /// Makes a sparse file of it.
    pub fn store(&self, path: &Path) -> io::Result<()> {
        let file = File::create(path)?;
        file.set_len(self.len)?;
        self.blocks.iter().try_for_each(|(number, block)| file.write_all_at(&block[..], number * BLOCK as u64))
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// So many bytes from here, or what there is up to the end.
    pub fn read(&self, at: u64, len: usize) -> Vec<u8> {
        let end = self.len.min(at + len as u64);
        let mut data = vec![0; end.saturating_sub(at) as usize];
        for (start, piece) in pieces(at, data.len()) {
            if let Some(block) = self.blocks.get(&(start / BLOCK as u64)) {
                let within = (start % BLOCK as u64) as usize;
                let from = (start - at) as usize;
                data[from..from + piece].copy_from_slice(&block[within..within + piece]);
            }
        }
        data
    }

    /// Writes, from here on, the blocks of `data` that are to be written.
    pub fn write(&mut self, at: u64, data: &[u8], mut is_written: impl FnMut() -> bool) {
        for (start, piece) in pieces(at, data.len()) {
            if is_written() {
                let block = self.blocks.entry(start / BLOCK as u64).or_insert_with(|| Arc::new([0; BLOCK]));
                let within = (start % BLOCK as u64) as usize;
                let from = (start - at) as usize;
                Arc::make_mut(block)[within..within + piece].copy_from_slice(&data[from..from + piece]);
            }
        }
    }
}

/// Cuts so many bytes from here at the ends of blocks: where each piece starts, and its length.
fn pieces(at: u64, len: usize) -> impl Iterator<Item = (u64, usize)> {
    let end = at + len as u64;
    let mut next = at;
    std::iter::from_fn(move || {
        let start = next;
        next = end.min((start / BLOCK as u64 + 1) * BLOCK as u64);
        (start < end).then_some((start, (next - start) as usize))
    })
}
