//! A tunnel: the streams of one TCP connection, at either side.

use super::credit::Memory;
use super::flow::{Datagrams, Flow};
use super::inward::{Grants, Inward};
use super::outward::Outward;
use super::protocol::{Answer, MAX_MESSAGE, Refusal, Request};
use super::session::{Counted, Session};
use super::target::Target;
use crate::failure::Result;
use crate::peer::wire;
use noq::{Connection, ConnectionError, RecvStream, SendStream};
use std::sync::Arc;
use tokio::sync::Mutex;

/// Both directions of the data.
pub struct Tunnel {
    /// What this side's program sends.
    pub outward: Outward,
    /// What comes for it.
    pub inward: Inward,
    /// It is open as long as this is there.
    pub open: Counted,
}

type Stream = (SendStream, RecvStream);

/// Opens tunnels and flows over a connection.
#[derive(Clone)]
pub struct Opener {
    session: Arc<Session>,
    /// The two streams of a tunnel must follow each other.
    turn: Arc<Mutex<()>>,
    memory: Memory,
    datagrams: Datagrams,
}

impl Opener {
    /// Over this connection.
    pub fn new(session: Arc<Session>, memory: Memory) -> Opener {
        let datagrams = Datagrams::new(session.connection().clone());
        Opener { session, turn: Arc::default(), memory, datagrams }
    }

    /// What is known of the connection.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The connection.
    pub fn connection(&self) -> &Connection {
        self.session.connection()
    }

    /// Asks for a tunnel to a target. What is sent over it follows the request at once; the answer [comes](Inward::answered)
    /// before what is received.
    ///
    /// # Errors
    ///
    /// [`Refusal::NoFarSide`] when the connection ends.
    pub async fn ask(&self, target: Target) -> Result<Tunnel, Refusal> {
        let ((send, credit), (grants, receive)) = self.streams().await.map_err(|_| Refusal::NoFarSide)?;
        let (mut outward, mut grants) = (Outward::new(send, credit), Grants::new(grants, &self.memory));
        grants.announce().await.map_err(|_| Refusal::NoFarSide)?;
        outward.message(&Request { target }).await.map_err(|_| Refusal::NoFarSide)?;
        let inward = Inward::behind_answer(receive, grants, self.connection().clone());
        Ok(Tunnel { outward, inward, open: self.session.tunnel() })
    }

    /// A tunnel to a target, if the other side connects to it.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask) and [`Inward::answered`].
    pub async fn open(&self, target: Target) -> Result<Tunnel, Refusal> {
        let mut tunnel = self.ask(target).await?;
        tunnel.inward.answered().await?;
        Ok(tunnel)
    }

    /// A flow to a target.
    ///
    /// # Errors
    ///
    /// As [`Flow::open`].
    pub async fn flow(&self, target: Target) -> Result<Flow, Refusal> {
        Flow::open(&self.session, self.datagrams.clone(), target).await
    }

    /// Two streams that follow each other, even if whoever wants them goes away meanwhile.
    async fn streams(&self) -> Result<(Stream, Stream), ConnectionError> {
        let (connection, turn) = (self.connection().clone(), self.turn.clone());
        let opening = tokio::spawn(async move {
            let _turn = turn.lock().await;
            Ok((connection.open_bi().await?, connection.open_bi().await?))
        });
        opening.await.unwrap_or(Err(ConnectionError::LocallyClosed))
    }
}

/// A tunnel that the other side wants.
pub struct Wanted {
    session: Arc<Session>,
    request: RecvStream,
    grants: SendStream,
    send: SendStream,
    credit: RecvStream,
}

impl Wanted {
    /// The next one.
    ///
    /// # Errors
    ///
    /// When the connection ends.
    pub async fn next(session: &Arc<Session>) -> Result<Wanted, ConnectionError> {
        let connection = session.connection();
        let (grants, request) = connection.accept_bi().await?;
        let (send, credit) = connection.accept_bi().await?;
        Ok(Wanted { session: session.clone(), request, grants, send, credit })
    }

    /// Where it is to lead.
    pub async fn request(&mut self) -> Result<Request> {
        wire::receive(&mut self.request, MAX_MESSAGE).await
    }

    /// Says that there is a connection to the target.
    pub async fn accept(self, memory: &Memory) -> Result<Tunnel> {
        let mut outward = Outward::new(self.send, self.credit);
        outward.message(&Answer::Ok(())).await?;
        let inward = Inward::new(self.request, Grants::new(self.grants, memory), self.session.connection().clone());
        Ok(Tunnel { outward, inward, open: self.session.tunnel() })
    }

    /// Says why there is none.
    pub async fn refuse(self, refusal: Refusal) {
        let mut outward = Outward::new(self.send, self.credit);
        if outward.message(&Answer::Err(refusal)).await.is_ok() {
            outward.finish();
        }
    }
}
