//! What is sent on a stream.

use super::convert::{id_of, lost, var_int};
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, StreamErrorIncoming, StreamId, WriteBuf};
use noq::{StoppedError, VarInt, WriteError};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

type Delivery = Pin<Box<dyn Future<Output = Result<Option<VarInt>, StoppedError>> + Send>>;

/// The sending direction of a stream.
pub struct SendStream {
    stream: noq::SendStream,
    writing: Option<WriteBuf<Bytes>>,
    has_begun: bool,
    /// Waits until all was received, once there is no more to send.
    delivery: Option<Delivery>,
}

impl SendStream {
    pub(super) fn new(stream: noq::SendStream) -> SendStream {
        SendStream { stream, writing: None, has_begun: false, delivery: None }
    }
}

impl quic::SendStream<Bytes> for SendStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(data) = self.writing.as_mut().filter(|data| data.has_remaining()) {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, data.chunk())).map_err(failed)?;
            data.advance(written);
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.writing.is_some() {
            return Err(StreamErrorIncoming::Unknown("data before the last was sent".into()));
        }
        (self.writing, self.has_begun) = (Some(data.into()), true);
        Ok(())
    }

    /// Waits until the other side has acknowledged all of it.
    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let delivery = self.delivery.get_or_insert_with(|| {
            // Fails only for a stream that has ended, which `stopped` tells of.
            let _ = self.stream.finish();
            Box::pin(self.stream.stopped())
        });
        match ready!(delivery.as_mut().poll(cx)) {
            Ok(None) => Poll::Ready(Ok(())),
            Ok(Some(code)) => Poll::Ready(Err(terminated(code))),
            Err(error) => Poll::Ready(Err(failed(error.into()))),
        }
    }

    fn reset(&mut self, reset_code: u64) {
        // Fails only for a stream that has ended.
        let _ = self.stream.reset(var_int(reset_code));
    }

    fn send_id(&self) -> StreamId {
        id_of(self.stream.id())
    }
}

/// Dropped, noq ends a stream as if all had been said. Where nothing was, that is no answer.
impl Drop for SendStream {
    fn drop(&mut self) {
        if !self.has_begun {
            // Fails only for a stream that has ended.
            let _ = self.stream.reset(var_int(Code::H3_REQUEST_REJECTED.value()));
        }
    }
}

fn terminated(code: VarInt) -> StreamErrorIncoming {
    StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
}

fn failed(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::ConnectionLost(error) => lost(&error),
        WriteError::Stopped(code) => terminated(code),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}
