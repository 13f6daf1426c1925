//! Whether a file is still the one that was looked at.

use serde::Serialize;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;

/// What makes a file the same file, unchanged. The time of change, unlike that of modification, cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    /// That of the file with this metadata.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The length of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether this is still the file.
    pub fn is(&self, file: &File) -> io::Result<bool> {
        let metadata = file.metadata()?;
        Ok(metadata.is_file() && Self::of(&metadata) == *self)
    }
}
