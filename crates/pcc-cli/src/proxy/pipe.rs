//! `pcc proxy pipe`: one tunnel between standard input and output, for `ssh -o ProxyCommand`.

use super::link::Way;
use super::outcome::{Carried, End};
use super::relay;
use super::setup::Settings;
use super::target::Target;
use crate::failure::{Context, Failure, Kind, Result};
use crate::signals::Signals;
use noq::VarInt;
use std::fs::OpenOptions;
use std::io;
use std::pin::Pin;
use std::task::{Context as Task, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncWrite, Stdout, stdin, stdout};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

/// How long the far side may take to hear the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Connects standard input and output with a target, until both directions have ended.
pub async fn run(ticket: &str, settings: Settings, target: Target) -> Result<()> {
    let way = Way::new(ticket.parse()?, settings)?;
    let mut signals = Signals::new().doing(|| "listen for signals")?;
    // What ssh sends to its proxy when it ends, whatever is open then.
    let mut hangup = signal(SignalKind::hangup()).doing(|| "listen for signals")?;
    let result = tokio::select! {
        result = carry(&way, target) => result,
        () = signals.next() => Err(Failure::new(Kind::Interrupted, "interrupted")),
        _ = hangup.recv() => Ok(()),
    };
    way.endpoint().close(VarInt::from_u32(Kind::Interrupted.code().into()), b"the other side has ended");
    let _ = timeout(FAREWELL, way.endpoint().wait_idle()).await;
    result
}

async fn carry(way: &Way, target: Target) -> Result<()> {
    let opener = way.connect().await?;
    let refused = |refusal| Failure::new(Kind::Other, format!("{target}: {refusal}"));
    let tunnel = opener.ask(target.clone()).await.map_err(refused)?;
    // A task has its turn after each of noq's. Without one it would have it after 61 of theirs, and noq gives a connection up
    // when some 2000 packets of a stream wait to be read.
    let relaying = tokio::spawn(async move {
        let carried = Carried::default();
        relay::pipe(stdin(), Output(stdout()), tunnel, &[], &carried.up, &carried.down).await
    });
    match relaying.await.map_err(|error| Failure::new(Kind::Other, error))?.map_err(refused)? {
        End::Closed => Ok(()),
        End::Reset => Err(Failure::new(Kind::Other, format!("{target}: the connection was reset"))),
        End::Lost | End::Idle => Err(Failure::new(Kind::LostPeer, "the connection to the far side was lost")),
    }
}

/// Standard output. Its end is seen by whoever reads it, although this process still runs.
struct Output(Stdout);

impl AsyncWrite for Output {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Task<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.0).poll_flush(cx))?;
        let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
        Poll::Ready(rustix::stdio::dup2_stdout(nowhere).map_err(io::Error::from))
    }
}
