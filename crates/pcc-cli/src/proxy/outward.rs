//! One direction of a tunnel, at the side that sends.

use super::credit::START;
use super::outcome::End;
use super::protocol::RESET;
use crate::failure::Result;
use crate::peer::wire;
use noq::{ReadError, RecvStream, SendStream, StoppedError, VarInt, WriteError};
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Read from the program at once.
const BUFFER: usize = 32 << 10;

/// Sends what a program says. Dropped before its end, it resets the stream.
pub struct Outward {
    data: SendStream,
    finished: bool,
    credit: CreditReader,
}

impl Outward {
    /// Over this stream, with credit that comes over the other.
    pub fn new(data: SendStream, credit: RecvStream) -> Outward {
        let credit = CreditReader { stream: Some(credit), bytes: [0; 8], filled: 0, limit: START };
        Outward { data, finished: false, credit }
    }

    /// Sends a message before the data.
    pub async fn message<T: Serialize>(&mut self, message: &T) -> Result<()> {
        wire::send(&mut self.data, message).await
    }

    /// Sends `early` and then all that `program` says, up to its end, and waits until the other side has it.
    pub async fn send(mut self, mut program: impl AsyncRead + Unpin, early: &[u8], count: &AtomicU64) -> End {
        let mut buffer = Buffer::new(early);
        let mut sent = 0;
        let stopped = self.data.stopped();
        tokio::pin!(stopped);
        while !buffer.is_done() {
            let room = self.credit.limit - sent;
            tokio::select! {
                biased;
                granted = self.credit.next() => match granted {
                    Ok(()) => {}
                    Err(ReadError::ConnectionLost(_)) => return End::Lost,
                    Err(_) => return End::Reset,
                },
                moved = buffer.advance(&mut program, &mut self.data, room), if room > 0 => match moved {
                    Ok(written) => {
                        sent += written;
                        count.store(sent, Ordering::Relaxed);
                    }
                    Err(end) => return end,
                },
                stopped = &mut stopped => return stop(stopped),
            }
        }
        self.finish();
        let stopped = self.data.stopped().await;
        match stopped {
            Ok(None) => End::Closed,
            other => stop(other),
        }
    }

    /// Ends the stream as it is.
    pub fn finish(&mut self) {
        // Fails only where the other side doesn't want it any more.
        self.finished = self.data.finish().is_ok();
    }
}

fn stop(stopped: Result<Option<VarInt>, StoppedError>) -> End {
    if stopped.is_err() { End::Lost } else { End::Reset }
}

/// What was read of a program and not sent yet.
struct Buffer {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
    has_ended: bool,
}

impl Buffer {
    fn new(early: &[u8]) -> Buffer {
        let mut bytes = early.to_vec();
        bytes.resize(BUFFER.max(early.len()), 0);
        Buffer { bytes, begin: 0, end: early.len(), has_ended: false }
    }

    fn is_done(&self) -> bool {
        self.has_ended && self.begin == self.end
    }

    /// Sends up to `room` bytes of what is there, else reads; how many were sent. It can be dropped and called again.
    async fn advance(
        &mut self,
        program: &mut (impl AsyncRead + Unpin),
        data: &mut SendStream,
        room: u64,
    ) -> Result<u64, End> {
        let room = room.min(BUFFER as u64) as usize;
        if self.begin < self.end {
            let written = data.write(&self.bytes[self.begin..self.end.min(self.begin + room)]).await;
            let written =
                written.map_err(|e| if matches!(e, WriteError::ConnectionLost(_)) { End::Lost } else { End::Reset })?;
            self.begin += written;
            return Ok(written as u64);
        }
        let read = program.read(&mut self.bytes[..room]).await.map_err(|_| End::Reset)?;
        (self.begin, self.end, self.has_ended) = (0, read, read == 0);
        Ok(0)
    }
}

impl Drop for Outward {
    fn drop(&mut self) {
        if !self.finished {
            // A stream that is merely dropped would look complete. Fails only where there is nothing left to reset.
            let _ = self.data.reset(RESET);
        }
    }
}

/// Reads credit, even if it comes in parts.
struct CreditReader {
    /// None when there is no more to come.
    stream: Option<RecvStream>,
    bytes: [u8; 8],
    filled: usize,
    limit: u64,
}

impl CreditReader {
    /// Waits for more. It can be dropped and called again.
    async fn next(&mut self) -> Result<(), ReadError> {
        let Some(stream) = &mut self.stream else { return std::future::pending().await };
        match stream.read(&mut self.bytes[self.filled..]).await? {
            Some(read) => {
                self.filled += read;
                if self.filled == self.bytes.len() {
                    self.filled = 0;
                    self.limit = self.limit.max(u64::from_le_bytes(self.bytes));
                }
            }
            None => self.stream = None,
        }
        Ok(())
    }
}
