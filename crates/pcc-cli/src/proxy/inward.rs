//! One direction of a tunnel, at the side that receives.

use super::credit::{Credit, Memory};
use super::outcome::End;
use super::protocol::{Answer, MAX_MESSAGE, Refusal};
use crate::peer::wire;
use crate::reassembly::Reassembly;
use noq::{Chunk, Connection, PathId, ReadError, RecvStream, SendStream, WriteError};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// Above data: it is little, and without it the other side waits.
const CREDIT_PRIORITY: i32 = 1;
/// Where no round trip was measured yet.
const SOME_RTT: Duration = Duration::from_millis(100);
/// How long an answer may take: the far side's own time to connect, and round trips of seconds.
const ANSWER: Duration = Duration::from_secs(20);

/// Grants credit, before there is anything to receive.
pub struct Grants {
    stream: SendStream,
    credit: Credit,
}

/// Receives what comes for a program, in any order, and hands it on in order. Dropped before the end of the stream, it asks
/// the other side to stop.
pub struct Inward {
    data: RecvStream,
    /// An [`Answer`] comes first.
    behind_answer: bool,
    /// It ended instead of it: the target cut off what it had accepted.
    cut_off: bool,
    connection: Connection,
    grants: Grants,
}

impl Grants {
    /// Over this stream.
    pub fn new(stream: SendStream, memory: &Memory) -> Grants {
        // Fails only for a stream that is closed.
        let _ = stream.set_priority(CREDIT_PRIORITY);
        Grants { stream, credit: Credit::new(memory.clone()) }
    }

    /// Says what both sides know, so that the other side sees the stream.
    pub async fn announce(&mut self) -> Result<(), WriteError> {
        self.stream.write_all(&self.credit.granted().to_le_bytes()).await
    }

    /// More credit, as it is said to the other side, if there is any; with how many bytes have arrived in all.
    fn more(
        &mut self,
        connection: &Connection,
        reassembly: &Reassembly,
        arrived: u64,
    ) -> impl Iterator<Item = u8> + use<> {
        if reassembly.is_empty() {
            let rtt = connection.rtt(PathId::ZERO).unwrap_or(SOME_RTT);
            self.credit.keeps_up(Instant::now(), rtt, arrived);
        }
        self.credit.grant(reassembly.taken()).into_iter().flat_map(u64::to_le_bytes)
    }

    /// Whether this much was granted of a stream in which data begins at `begin`.
    fn allow(&self, chunk: &Chunk, begin: u64) -> bool {
        let end = chunk.offset.saturating_add(chunk.bytes.len() as u64);
        chunk.offset >= begin && end - begin <= self.credit.granted()
    }
}

impl Inward {
    /// Receives the rest of this stream.
    pub fn new(data: RecvStream, grants: Grants, connection: Connection) -> Inward {
        Inward { data, behind_answer: false, cut_off: false, connection, grants }
    }

    /// Receives an answer and then the rest of this stream.
    pub fn behind_answer(data: RecvStream, grants: Grants, connection: Connection) -> Inward {
        Inward { data, behind_answer: true, cut_off: false, connection, grants }
    }

    /// Waits for the answer, if it hasn't come yet. A reset may come in its place; it shows when [receiving](Self::receive).
    ///
    /// # Errors
    ///
    /// The other side's reason; [`Refusal::TimedOut`] if none comes, and [`Refusal::NoFarSide`] when the connection ends.
    pub async fn answered(&mut self) -> Result<(), Refusal> {
        if self.behind_answer {
            let answer = timeout(ANSWER, wire::receive::<Answer>(&mut self.data, MAX_MESSAGE)).await;
            match answer.map_err(|_| Refusal::TimedOut)? {
                Ok(answer) => answer?,
                Err(_) if self.connection.close_reason().is_some() => return Err(Refusal::NoFarSide),
                Err(_) => self.cut_off = true,
            }
            self.behind_answer = false;
        }
        Ok(())
    }

    /// Hands all that comes, behind the answer, to `program`, and at the end of the stream says that this was all.
    pub async fn receive(self, mut program: impl AsyncWrite + Unpin, count: &AtomicU64) -> End {
        let Inward { data, connection, mut grants, cut_off, .. } = self;
        if cut_off {
            return End::Reset;
        }
        let Ok(begin) = data.bytes_read() else { return End::Lost };
        let mut data = data.into_unordered();
        let mut reassembly = Reassembly::default();
        let mut arrived = 0;
        let mut unsaid = Vec::new();
        let (mut is_complete, mut is_flushed) = (false, true);
        while !(is_complete && is_flushed && reassembly.is_empty()) {
            tokio::select! {
                biased;
                chunk = data.read_chunk(usize::MAX), if !is_complete => match chunk {
                    Ok(Some(chunk)) if grants.allow(&chunk, begin) => {
                        if reassembly.insert(chunk.offset - begin, &chunk.bytes).is_err() {
                            return End::Reset;
                        }
                        arrived += chunk.bytes.len() as u64;
                        unsaid.extend(grants.more(&connection, &reassembly, arrived));
                    }
                    Ok(None) => is_complete = true,
                    Err(ReadError::ConnectionLost(_)) => return End::Lost,
                    _ => return End::Reset,
                },
                said = grants.stream.write(&unsaid), if !unsaid.is_empty() => match said {
                    Ok(said) => drop(unsaid.drain(..said)),
                    // The sender has sent all that it has.
                    Err(WriteError::Stopped(_)) => unsaid.clear(),
                    Err(_) => return End::Lost,
                },
                written = pass(&mut program, reassembly.front()), if !(is_flushed && reassembly.is_empty()) => match written {
                    Ok(0) if reassembly.is_empty() => is_flushed = true,
                    Ok(written @ 1..) => {
                        is_flushed = false;
                        reassembly.take(written);
                        count.store(reassembly.taken(), Ordering::Relaxed);
                        unsaid.extend(grants.more(&connection, &reassembly, arrived));
                    }
                    _ => return End::Reset,
                },
            }
        }
        if program.shutdown().await.is_ok() { End::Closed } else { End::Reset }
    }
}

/// Passes some bytes on; where there are none, makes sure that none are kept back, as standard output does behind the last end
/// of a line.
async fn pass(program: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() { program.flush().await.map(|()| 0) } else { program.write(bytes).await }
}
