//! Data in blocks, each on a stream of its own and read as it comes.
//!
//! One endless stream would end in noq's "too many gaps in stream buffer" on a path with losses and a large window, and in-order
//! reading would turn one loss into a second of silence.

use bytes::Bytes;
use noq::{Connection, ConnectionError, SendStream, VarInt, WriteError};

/// Bytes of a block.
pub const BLOCK: usize = 512 * 1024;

static DATA: [u8; BLOCK] = [0x5a; BLOCK];

/// Writes data whose content doesn't matter.
#[derive(Debug)]
pub struct BlockWriter {
    connection: Connection,
    /// All that was written, the newest last.
    streams: Vec<SendStream>,
    /// What the newest block still takes.
    left: usize,
}

impl BlockWriter {
    /// Writes to `connection`.
    pub fn new(connection: Connection) -> BlockWriter {
        BlockWriter { connection, streams: Vec::new(), left: 0 }
    }

    /// Writes `bytes` as fast as flow control allows.
    ///
    /// # Errors
    ///
    /// When the connection is lost.
    pub async fn write(&mut self, mut bytes: usize) -> Result<(), WriteError> {
        while bytes > 0 {
            if self.left == 0 {
                self.streams.push(self.connection.open_uni().await?);
                self.left = BLOCK;
            }
            let Some(stream) = self.streams.last_mut() else { break };
            let part = bytes.min(self.left);
            stream.write_chunk(Bytes::from_static(DATA.get(..part).unwrap_or(&DATA))).await?;
            bytes -= part;
            self.left -= part;
            if self.left == 0 {
                // It can only have been finished before.
                let _ = stream.finish();
            }
        }
        Ok(())
    }

    /// Takes back what hasn't arrived, whether it was sent or not.
    pub fn discard(&mut self) {
        for mut stream in self.streams.drain(..) {
            // What has arrived can't be taken back.
            let _ = stream.reset(VarInt::from_u32(0));
        }
        self.left = 0;
    }

    /// Ends the last block and waits until everything has arrived.
    ///
    /// # Errors
    ///
    /// When the connection is lost before.
    pub async fn finish(mut self) -> Result<(), ConnectionError> {
        for mut stream in self.streams.drain(..) {
            let _ = stream.finish();
            if let Err(noq::StoppedError::ConnectionLost(error)) = stream.stopped().await {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Reads all streams of `connection` at once, until it ends; `got` is told of each piece of data.
pub async fn receive(connection: &Connection, got: impl Fn(u64) + Clone + Send + 'static) {
    while let Ok(stream) = connection.accept_uni().await {
        let got = got.clone();
        tokio::spawn(async move {
            let mut stream = stream.into_unordered();
            while let Ok(Some(chunk)) = stream.read_chunk(usize::MAX).await {
                got(chunk.bytes.len() as u64);
            }
        });
    }
}
