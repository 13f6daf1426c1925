//! A connection as h3 sees it.

use super::convert::{ended, lost, var_int};
use super::guard::Guard;
use super::recv::RecvStream;
use super::send::SendStream;
use bytes::Bytes;
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use noq::ConnectionError;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Waits for a stream. noq's own futures forget their place in the queue when they are dropped, so that they are kept.
type Waiting<T> = Option<Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send>>>;

type Pair = (noq::SendStream, noq::RecvStream);

/// A connection of noq.
pub struct Connection {
    connection: noq::Connection,
    opener: Opener,
    accepting_bi: Waiting<Pair>,
    accepting_uni: Waiting<noq::RecvStream>,
}

/// Opens streams of a connection.
pub struct Opener {
    connection: noq::Connection,
    max_ahead: u64,
    opening_bi: Waiting<Pair>,
    opening_uni: Waiting<noq::SendStream>,
}

/// Both directions of a request.
pub struct BidiStream {
    send: SendStream,
    recv: RecvStream,
}

impl Connection {
    /// Takes over all streams of this connection. `max_ahead` bounds the memory of each stream: how far, in bytes, what
    /// comes may be ahead of what is missing.
    pub fn new(connection: noq::Connection, max_ahead: u64) -> Connection {
        let opener = Opener::new(connection.clone(), max_ahead);
        Connection { connection, opener, accepting_bi: None, accepting_uni: None }
    }
}

impl Opener {
    fn new(connection: noq::Connection, max_ahead: u64) -> Opener {
        Opener { connection, max_ahead, opening_bi: None, opening_uni: None }
    }
}

impl BidiStream {
    fn new((send, recv): Pair, max_ahead: u64) -> BidiStream {
        BidiStream { send: SendStream::new(send), recv: RecvStream::new(recv, Guard::of_request(), max_ahead) }
    }
}

fn poll<T, F>(
    waiting: &mut Waiting<T>,
    begin: impl FnOnce() -> F,
    cx: &mut Context<'_>,
) -> Poll<Result<T, ConnectionError>>
where
    F: Future<Output = Result<T, ConnectionError>> + Send + 'static,
{
    let done = ready!(waiting.get_or_insert_with(|| Box::pin(begin())).as_mut().poll(cx));
    *waiting = None;
    Poll::Ready(done)
}

impl quic::Connection<Bytes> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = Opener;

    fn poll_accept_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let Connection { connection, accepting_uni, .. } = self;
        let connection = connection.clone();
        let accepted = poll(accepting_uni, || async move { connection.accept_uni().await }, cx);
        accepted
            .map_ok(|stream| RecvStream::new(stream, Guard::of_unidirectional(), self.opener.max_ahead))
            .map_err(|e| ended(&e))
    }

    fn poll_accept_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream, ConnectionErrorIncoming>> {
        let Connection { connection, accepting_bi, .. } = self;
        let connection = connection.clone();
        let accepted = poll(accepting_bi, || async move { connection.accept_bi().await }, cx);
        accepted.map_ok(|pair| BidiStream::new(pair, self.opener.max_ahead)).map_err(|e| ended(&e))
    }

    fn opener(&self) -> Opener {
        Opener::new(self.connection.clone(), self.opener.max_ahead)
    }
}

impl quic::OpenStreams<Bytes> for Connection {
    type BidiStream = BidiStream;
    type SendStream = SendStream;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<SendStream, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.opener.close(code, reason);
    }
}

impl quic::OpenStreams<Bytes> for Opener {
    type BidiStream = BidiStream;
    type SendStream = SendStream;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        let connection = self.connection.clone();
        let opened = poll(&mut self.opening_bi, || async move { connection.open_bi().await }, cx);
        opened.map_ok(|pair| BidiStream::new(pair, self.max_ahead)).map_err(|e| lost(&e))
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<SendStream, StreamErrorIncoming>> {
        let connection = self.connection.clone();
        let opened = poll(&mut self.opening_uni, || async move { connection.open_uni().await }, cx);
        opened.map_ok(SendStream::new).map_err(|e| lost(&e))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(var_int(code.value()), reason);
    }
}

impl quic::SendStream<Bytes> for BidiStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl quic::RecvStream for BidiStream {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.recv.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.recv.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}
