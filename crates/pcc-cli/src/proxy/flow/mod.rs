//! A flow of datagrams between a program and a target, at the side that opened it; and what both sides need for that.

mod datagrams;
mod tally;

pub use datagrams::Datagrams;
pub use tally::Tally;

use crate::peer::wire;
use crate::proxy::outcome::End;
use crate::proxy::protocol::{ENDED, Refusal, Request};
use crate::proxy::session::{Counted, Session};
use crate::proxy::target::Target;
use bytes::Bytes;
use noq::{SendStream, VarInt};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The longest payload that is looked at, in bytes: no packet of a path carries more.
pub const MAX_PAYLOAD: usize = 1500;

/// The way of datagrams to a target. Dropped, it is closed at the far side as well.
pub struct Flow {
    stream: SendStream,
    datagrams: Datagrams,
    _open: Counted,
}

impl Flow {
    /// Opens one.
    ///
    /// # Errors
    ///
    /// [`Refusal::NoFarSide`] when the connection ends. What the far side has to say comes later, while datagrams are under
    /// way already.
    pub async fn open(session: &Session, datagrams: Datagrams, target: Target) -> Result<Flow, Refusal> {
        let mut stream = session.connection().open_uni().await.map_err(|_| Refusal::NoFarSide)?;
        wire::send(&mut stream, &Request { target }).await.map_err(|_| Refusal::NoFarSide)?;
        Ok(Flow { stream, datagrams, _open: session.flow() })
    }

    /// Carries payloads to the target and gives those that come back to `reply`, which says whether it could take them: until
    /// there can be no more, or nothing moves, or the far side ends it.
    ///
    /// # Errors
    ///
    /// Why the far side did not let it through.
    pub async fn carry(
        self,
        mut payloads: mpsc::Receiver<Bytes>,
        reply: impl Fn(&[u8]) -> bool + Send + Sync + 'static,
        tally: &Arc<Tally>,
        patience: Duration,
    ) -> Result<End, Refusal> {
        let id = self.stream.id().index();
        let count = tally.clone();
        let _registered = self.datagrams.register(id, move |payload| count.down(payload, reply(payload)));
        let carrying = async {
            while let Some(payload) = payloads.recv().await {
                tally.up(&payload, self.datagrams.send(id, &payload));
            }
        };
        tokio::select! {
            stopped = self.stream.stopped() => match stopped {
                Ok(Some(code)) => ended(code),
                Ok(None) | Err(_) => Ok(End::Lost),
            },
            () = carrying => Ok(End::Closed),
            () = tally.idle(patience) => Ok(End::Idle),
        }
    }
}

fn ended(code: VarInt) -> Result<End, Refusal> {
    if code == ENDED { Ok(End::Idle) } else { Err(Refusal::from_code(code)) }
}
