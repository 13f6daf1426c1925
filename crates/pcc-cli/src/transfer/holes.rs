//! Parts of a file that were never written: they take no room on the disk, and need not be read, sent or written.

use super::blocks;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// Finds holes in a file that is read from its beginning to its end.
pub struct Holes<'a> {
    file: &'a File,
    /// Nothing is between what was asked for last and this.
    next_data: u64,
}

impl<'a> Holes<'a> {
    /// Of this file, which has this metadata.
    pub fn new(file: &'a File, metadata: &Metadata) -> Self {
        // Units of 512 bytes, whatever the file system has. A file that has them all has no hole.
        let is_whole = metadata.blocks().saturating_mul(512) >= metadata.len();
        Self { file, next_data: if is_whole { u64::MAX } else { 0 } }
    }

    /// Whether there is nothing from here to there; each further on than the last.
    pub fn covers(&mut self, from: u64, to: u64) -> io::Result<bool> {
        if self.next_data == u64::MAX {
            return Ok(false);
        }
        if self.next_data <= from {
            self.next_data = match seek(self.file, SeekFrom::Data(from)) {
                Ok(data) => data,
                // Nothing comes any more.
                Err(Errno::NXIO) => u64::MAX - 1,
                // The file system does not know.
                Err(Errno::INVAL) => u64::MAX,
                Err(e) => return Err(e.into()),
            };
        }
        Ok(self.next_data != u64::MAX && self.next_data >= to)
    }
}

/// Makes a block of a file a hole, whatever was there.
pub fn punch(file: &File, size: u64, block: u64) -> io::Result<()> {
    let (from, len) = (block * blocks::BLOCK, blocks::length(size, block));
    if file.metadata()?.len() > from {
        match fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, from, len as u64) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.write_all_at(&vec![0; len], from)?,
            done => done?,
        }
    }
    if file.metadata()?.len() < size { file.set_len(size) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blocks::BLOCK;

    #[test]
    fn what_was_never_written_is_found_and_made() {
        let size = 8 * BLOCK + 5;
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file.write_all_at(b"x", 3 * BLOCK + 7).unwrap();
        let holes = |file: &File| {
            let mut holes = Holes::new(file, &file.metadata().unwrap());
            let is_hole = |block: &u64| {
                let from = block * BLOCK;
                holes.covers(from, from + blocks::length(size, *block) as u64).unwrap()
            };
            (0..blocks::count(size)).filter(is_hole).collect::<Vec<_>>()
        };
        if holes(&file).is_empty() {
            return println!("skipped: this file system has no holes");
        }
        assert_eq!(holes(&file), [0, 1, 2, 4, 5, 6, 7, 8]);
        punch(&file, size, 3).unwrap();
        let mut byte = [1];
        file.read_exact_at(&mut byte, 3 * BLOCK + 7).unwrap();
        assert_eq!(byte, [0]);
        file.write_all_at(&vec![1; size as usize], 0).unwrap();
        assert!(holes(&file).is_empty());
        // One that is shorter grows.
        let short = tempfile::tempfile().unwrap();
        punch(&short, size, 8).unwrap();
        assert_eq!(short.metadata().unwrap().len(), size);
    }
}
