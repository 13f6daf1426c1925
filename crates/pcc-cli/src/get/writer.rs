//! Writes what comes on a thread of its own, and hashes it.

use super::backlog::Backlog;
use bytes::Bytes;
use ring::digest::{Context, SHA256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{self, UnboundedSender};

/// What is kept until it is written is handed on in pieces of about so many bytes.
const PIECE: usize = 128 << 10;

/// The SHA-256 of a file up to some byte.
pub type Hash = Context;

/// That of nothing.
pub fn empty() -> Hash {
    Context::new(&SHA256)
}

/// That of the first `len` bytes of this file, which stands at its begin; on a thread of its own.
pub async fn hash(file: File, len: u64) -> io::Result<Hash> {
    let reading = tokio::task::spawn_blocking(move || {
        let (mut hash, mut there, mut buffer) = (empty(), file.take(len), vec![0; PIECE]);
        loop {
            match there.read(&mut buffer)? {
                0 => return Ok(hash),
                len => hash.update(&buffer[..len]),
            }
        }
    });
    reading.await.map_err(io::Error::other)?
}

/// Takes the bytes of a file in their order. It never waits for the disk, because noq gives a connection up when some 2000 packets
/// of a stream wait to be read: what is too much for the disk must not come at all, for which others look at the [`Backlog`].
pub struct Writer {
    out: UnboundedSender<Bytes>,
    piece: Vec<u8>,
    backlog: Backlog,
    thread: JoinHandle<io::Result<Hash>>,
}

impl Writer {
    /// Where this file stands, behind what has this hash.
    pub fn start(mut file: File, mut hash: Hash, backlog: Backlog) -> Writer {
        let (out, mut pieces) = mpsc::unbounded_channel::<Bytes>();
        let waiting = backlog.clone();
        let thread = std::thread::spawn(move || {
            while let Some(piece) = pieces.blocking_recv() {
                file.write_all(&piece)?;
                hash.update(&piece);
                waiting.written(piece.len());
            }
            Ok(hash)
        });
        Writer { out, piece: Vec::with_capacity(PIECE), backlog, thread }
    }

    /// Takes some bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.backlog.came(piece.len());
        // A thread that has ended early tells why at the end.
        let _ = self.out.send(piece.into());
    }

    /// Whether there is no use in further bytes, because the disk has failed.
    pub fn is_broken(&self) -> bool {
        self.out.is_closed()
    }

    /// Waits until all is written; the hash of the whole file.
    ///
    /// # Errors
    ///
    /// When it couldn't be written, or what was there before couldn't be read.
    pub async fn finish(mut self) -> io::Result<Hash> {
        self.flush();
        drop(self.out);
        let joined = tokio::task::spawn_blocking(|| self.thread.join()).await;
        joined.map_err(io::Error::other)?.unwrap_or_else(|_| Err(io::Error::other("writing has panicked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom};
    use std::time::Duration;
    use tokio::time::timeout;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn what_was_there_counts_for_the_hash() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"what was there").unwrap();
        let from_begin = || {
            let mut file = file.try_clone().unwrap();
            file.rewind().unwrap();
            file
        };
        let hash_of = async |len| hash(from_begin(), len).await.unwrap();
        let there = hash_of(4).await;
        let mut at_end = from_begin();
        at_end.seek(SeekFrom::Start(4)).unwrap();
        let backlog = Backlog::default();
        let mut writer = Writer::start(at_end, there, backlog.clone());
        writer.write(&[7; 3 * PIECE]);
        let written = timeout(PATIENCE, writer.finish()).await.unwrap().unwrap();
        assert_eq!(written.finish().as_ref(), hash_of(u64::MAX).await.finish().as_ref());
        assert_eq!(backlog.bytes(), 0);
    }

    #[tokio::test]
    async fn a_disk_that_fails_says_so() {
        let (nobody_reads, disk) = std::io::pipe().unwrap();
        let backlog = Backlog::default();
        let mut writer = Writer::start(File::from(std::os::fd::OwnedFd::from(disk)), empty(), backlog.clone());
        for _ in 0..300 {
            writer.write(&[7; PIECE]);
        }
        assert!(backlog.bytes() >= 299 * PIECE as u64, "{backlog:?}");
        drop(nobody_reads);
        assert!(timeout(PATIENCE, writer.finish()).await.unwrap().is_err());
    }
}
