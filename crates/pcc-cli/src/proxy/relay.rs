//! Moves bytes between a program and a tunnel.

use super::outcome::End;
use super::protocol::Refusal;
use super::tunnel::Tunnel;
use crate::borrowed::Borrowed;
use std::sync::atomic::AtomicU64;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::TcpStream;
use tokio::task::coop::unconstrained;

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
        end = pipe(Borrowed(&stream), Borrowed(&stream), tunnel, early, sent, received) => end,
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
    // What comes is read in each turn, even if what the program says has used up the task's budget: tokio's select polls nothing then, and
    // the next turn may be 60 turns of other tasks later. noq gives a connection up when some 2000 packets of a stream wait to be read.
    // It ends all the same, because nothing more comes during a turn.
    let inward = unconstrained(inward.receive(output, received));
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
