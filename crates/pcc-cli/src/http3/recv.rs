//! What is received on a stream.
//!
//! noq closes a connection when an ordered reader has many pieces with gaps between before it, as on a long path with loss.
//! So what comes is read in any order, and put into order here.

use super::convert::{id_of, lost, var_int};
use super::guard::Guard;
use crate::reassembly::Reassembly;
use bytes::Bytes;
use h3::quic::{self, StreamErrorIncoming, StreamId};
use noq::{Chunk, ReadError, UnorderedRecvStream};
use std::pin::pin;
use std::task::{Context, Poll, ready};

/// The largest piece that is handed on, in bytes.
const PIECE: usize = 64 << 10;

/// The receiving direction of a stream.
pub struct RecvStream {
    stream: UnorderedRecvStream,
    /// What came ahead of something that is missing.
    ahead: Reassembly,
    /// How far, in bytes, what comes may be ahead of what is missing.
    max_ahead: u64,
    guard: Guard,
    is_complete: bool,
}

impl RecvStream {
    pub(super) fn new(stream: noq::RecvStream, guard: Guard, max_ahead: u64) -> RecvStream {
        let stream = stream.into_unordered();
        RecvStream { stream, ahead: Reassembly::default(), max_ahead, guard, is_complete: false }
    }

    /// The next bytes in order.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        loop {
            let front = self.ahead.front();
            if !front.is_empty() {
                let bytes = Bytes::copy_from_slice(front);
                self.ahead.take(bytes.len());
                return Poll::Ready(Ok(Some(bytes)));
            }
            if self.is_complete {
                return Poll::Ready(Ok(None));
            }
            match ready!(pin!(self.stream.read_chunk(PIECE)).poll(cx)).map_err(failed)? {
                Some(Chunk { offset, bytes }) if self.ahead.skip(offset, bytes.len()) => {
                    return Poll::Ready(Ok(Some(bytes)));
                }
                Some(Chunk { offset, bytes }) => {
                    if offset.saturating_sub(self.ahead.taken()) > self.max_ahead {
                        return Poll::Ready(Err(StreamErrorIncoming::Unknown("data too far ahead".into())));
                    }
                    let kept = self.ahead.insert(offset, &bytes);
                    kept.map_err(|error| StreamErrorIncoming::Unknown(Box::new(error)))?;
                }
                None => self.is_complete = true,
            }
        }
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let next = ready!(self.poll_next(cx))?;
        if let Some(bytes) = &next {
            self.guard.check(bytes).map_err(|error| StreamErrorIncoming::Unknown(Box::new(error)))?;
        }
        Poll::Ready(Ok(next))
    }

    fn stop_sending(&mut self, error_code: u64) {
        // Fails only for a stream that has ended.
        let _ = self.stream.stop(var_int(error_code));
    }

    fn recv_id(&self) -> StreamId {
        id_of(self.stream.id())
    }
}

fn failed(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::ConnectionLost(error) => lost(&error),
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}
