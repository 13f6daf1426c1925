//! Writes what comes on a thread of its own, and hashes it.

use bytes::Bytes;
use ring::digest::{Context, Digest, SHA256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{self, Sender};

/// What is kept until it is written is handed on in pieces of about so many bytes, and so many of them.
const PIECE: usize = 128 << 10;
const PIECES: usize = 16;

/// Takes the bytes of a file in their order.
pub struct Writer {
    out: Sender<Bytes>,
    piece: Vec<u8>,
    thread: JoinHandle<io::Result<Digest>>,
}

impl Writer {
    /// Behind the first `have` bytes of this file, which stands at its begin: they count for the hash too.
    pub fn start(file: File, have: u64) -> Writer {
        let (out, mut pieces) = mpsc::channel::<Bytes>(PIECES);
        let thread = std::thread::spawn(move || {
            let mut file = file;
            let mut hash = Context::new(&SHA256);
            let mut there = (&mut file).take(have);
            let mut buffer = vec![0; PIECE];
            loop {
                match there.read(&mut buffer)? {
                    0 => break,
                    len => hash.update(&buffer[..len]),
                }
            }
            while let Some(piece) = pieces.blocking_recv() {
                file.write_all(&piece)?;
                hash.update(&piece);
            }
            Ok(hash.finish())
        });
        Writer { out, piece: Vec::with_capacity(PIECE), thread }
    }

    /// Takes some bytes. It waits while the disk is behind.
    pub async fn write(&mut self, bytes: &[u8]) {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush().await;
        }
    }

    async fn flush(&mut self) {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        // A thread that has ended early tells why at the end.
        let _ = self.out.send(piece.into()).await;
    }

    /// Whether there is no use in further bytes, because the disk has failed.
    pub fn is_broken(&self) -> bool {
        self.out.is_closed()
    }

    /// Waits until all is written; the SHA-256 of the whole file.
    ///
    /// # Errors
    ///
    /// When it couldn't be written, or what was there before couldn't be read.
    pub async fn finish(mut self) -> io::Result<Digest> {
        self.flush().await;
        drop(self.out);
        let joined = tokio::task::spawn_blocking(|| self.thread.join()).await;
        joined.map_err(io::Error::other)?.unwrap_or_else(|_| Err(io::Error::other("writing has panicked")))
    }
}
