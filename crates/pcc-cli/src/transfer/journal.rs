//! The journal of a transfer: what was verified and written, line by line, so that a later start knows it.

use super::protocol::{RECORD_LEN, Record};
use crate::failure::{Context, Failure, Result};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, Write};

/// A record, then what shows that it was written completely.
const CHECK_LEN: usize = 8;
const LINE_LEN: usize = RECORD_LEN + CHECK_LEN;

/// In place of a block: everything is verified and files may be on their way to their final names.
pub const COMMITTED: Record = Record::Root { file: u32::MAX, hash: [0; 32] };
/// In the place of a file's hash: forget the file.
pub const RESET: [u8; 32] = [0; 32];
/// In the place of a hash: this folder was not there before.
pub const NEW_FOLDER: [u8; 32] = [0xff; 32];

/// An open journal.
pub struct Journal {
    file: File,
    /// Bytes that are whole lines.
    whole: u64,
    /// Where it is, for messages.
    folder: String,
}

impl Journal {
    /// The journal in this file, which is opened for reading and appending.
    pub fn new(file: File, folder: String) -> Self {
        Self { file, whole: 0, folder }
    }

    /// Reads it from its beginning. A kill can cut the last line short; whatever follows a bad one is not believed.
    pub fn read(&mut self, mut each: impl FnMut(Record) -> Result<()>) -> Result<()> {
        let folder = self.folder.clone();
        let shown = || format!("read the journal in {folder}");
        self.file.rewind().doing(shown)?;
        let mut reader = BufReader::with_capacity(1 << 16, &self.file);
        let mut line = [0; LINE_LEN];
        self.whole = 0;
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
            self.whole += LINE_LEN as u64;
            each(Record::decode(record))?;
        }
        self.file.set_len(self.whole).doing(shown)
    }

    /// Adds a line.
    pub fn append(&mut self, record: Record) -> Result<()> {
        let record = record.encode();
        let mut line = [0; LINE_LEN];
        line[..RECORD_LEN].copy_from_slice(&record);
        line[RECORD_LEN..].copy_from_slice(&check_sum(&record));
        let written = self.file.write_all(&line);
        match &written {
            Ok(()) => self.whole += LINE_LEN as u64,
            // A torn line would hide all that follow it. If this fails too, the next start stops reading there.
            Err(_) => drop(self.file.set_len(self.whole)),
        }
        written.doing(|| format!("write the journal in {}", self.folder))
    }

    /// Brings it to the disk.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_all().doing(|| format!("write the journal in {}", self.folder))
    }
}

fn check_sum(record: &[u8; RECORD_LEN]) -> [u8; CHECK_LEN] {
    let mut sum = [0; CHECK_LEN];
    sum.copy_from_slice(&blake3::hash(record).as_bytes()[..CHECK_LEN]);
    sum
}
