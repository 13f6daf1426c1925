//! A TCP connection that is read and written without being given away, unlike with tokio's own halves: it may be read and
//! written apart, and looked at behind what reads and writes it.

use rustix::net::Shutdown;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// One of the views of a connection, of which there may be several at a time.
pub struct Borrowed<'a>(pub &'a TcpStream);

/// Tries until it can be done.
fn poll_io<T>(
    mut ready: impl FnMut() -> Poll<io::Result<()>>,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> Poll<io::Result<T>> {
    loop {
        ready!(ready())?;
        match attempt() {
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            done => return Poll::Ready(done),
        }
    }
}

impl AsyncRead for Borrowed<'_> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = poll_io(|| self.0.poll_read_ready(cx), || self.0.try_read(buf.initialize_unfilled()));
        read.map_ok(|read| buf.advance(read))
    }
}

impl AsyncWrite for Borrowed<'_> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        poll_io(|| self.0.poll_write_ready(cx), || self.0.try_write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        poll_io(|| self.0.poll_write_ready(cx), || self.0.try_write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(rustix::net::shutdown(self.0, Shutdown::Write).map_err(io::Error::from))
    }
}
