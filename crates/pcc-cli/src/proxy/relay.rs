//! Moves bytes between a program and a tunnel.

use super::outcome::End;
use super::protocol::Refusal;
use super::tunnel::Tunnel;
use rustix::net::Shutdown;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Between a TCP connection and a tunnel. `early` is what was read of the connection already. Where one side is cut off, the
/// other is as well.
///
/// # Errors
///
/// As [`Inward::answered`](super::inward::Inward::answered): all that can be said without a protocol is a reset.
pub async fn tcp(
    stream: TcpStream,
    tunnel: Tunnel,
    early: &[u8],
    sent: &AtomicU64,
    received: &AtomicU64,
) -> Result<End, Refusal> {
    // Small messages shall not wait for each other: QUIC puts those together that are there together.
    let _ = stream.set_nodelay(true);
    let end = tokio::select! {
        end = pipe(Half(&stream), Half(&stream), tunnel, early, sent, received) => end,
        // A reset shows here even while there is neither room for what would be read nor anything to write.
        _ = stream.ready(Interest::ERROR) => Ok(End::Reset),
    };
    if end != Ok(End::Closed) {
        // A close that sends RST. It fails where the connection has ended already.
        let _ = stream.set_zero_linger();
    }
    end
}

/// The same between a tunnel and two ends of pipes. What comes in is sent on before there is an answer.
///
/// # Errors
///
/// The same.
pub async fn pipe(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    tunnel: Tunnel,
    early: &[u8],
    sent: &AtomicU64,
    received: &AtomicU64,
) -> Result<End, Refusal> {
    let Tunnel { outward, mut inward, open: _open } = tunnel;
    let outward = outward.send(input, early, sent);
    tokio::pin!(outward);
    let sent_all = {
        let answer = inward.answered();
        tokio::pin!(answer);
        tokio::select! {
            answer = &mut answer => answer.map(|()| None)?,
            // If the other side refused what it was sent, it says why.
            end = &mut outward => answer.await.map(|()| Some(end))?,
        }
    };
    let inward = inward.receive(output, received);
    tokio::pin!(inward);
    Ok(match sent_all {
        Some(End::Closed) => inward.await,
        Some(end) => end,
        None => tokio::select! {
            end = &mut outward => if end == End::Closed { inward.await } else { end },
            end = &mut inward => if end == End::Closed { outward.await } else { end },
        },
    })
}

/// One direction of a TCP connection. Unlike tokio's halves it leaves the connection to others as well.
struct Half<'a>(&'a TcpStream);

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

impl AsyncRead for Half<'_> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = poll_io(|| self.0.poll_read_ready(cx), || self.0.try_read(buf.initialize_unfilled()));
        read.map_ok(|read| buf.advance(read))
    }
}

impl AsyncWrite for Half<'_> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        poll_io(|| self.0.poll_write_ready(cx), || self.0.try_write(buf))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(rustix::net::shutdown(self.0, Shutdown::Write).map_err(io::Error::from))
    }
}
