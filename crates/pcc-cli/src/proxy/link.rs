//! The connection to the far side, at the side that has the ticket; made again when it is lost.

use super::credit::Memory;
use super::flow::Flow;
use super::protocol::{ALPN, Hello, MAX_MESSAGE, Refusal, Welcome};
use super::report::{Event, Reporter};
use super::session::{Session, Sessions};
use super::setup::{self, Own, Settings};
use super::target::Target;
use super::tunnel::{Opener, Tunnel};
use crate::failure::{Failure, Kind, Result};
use crate::peer::connecting::{HANDSHAKE, connect, remote};
use crate::peer::credentials::Credentials;
use crate::peer::endpoint::{self, shown};
use crate::peer::identity::proof;
use crate::peer::ticket::Ticket;
use crate::peer::wire::{self, connection_failure};
use noq::{ClientConfig, Connection, Endpoint};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How long the far side may take to say that this side is in.
const WELCOME: Duration = Duration::from_secs(10);
/// How long a new tunnel may take, with a connection that has to be made first: the far side's own time to connect, and
/// round trips of seconds.
const OPENING: Duration = Duration::from_secs(20);
/// How long a far side that is about to end may take for it.
const ENDING: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// How to get to the far side.
pub struct Way {
    endpoint: Endpoint,
    config: ClientConfig,
    ticket: Ticket,
    settings: Settings,
    /// What all connections have, one after the other.
    own: Own,
    memory: Memory,
}

impl Way {
    /// By this ticket.
    pub fn new(ticket: Ticket, settings: Settings) -> Result<Way> {
        let (me, own) = (Credentials::generate()?, settings.own());
        let (endpoint, config) = endpoint::client(&me, ALPN, settings.config(&own), &ticket)?;
        Ok(Way { endpoint, config, ticket, settings, own, memory: Memory::new() })
    }

    /// The endpoint of this side.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Connects and proves that this side has the ticket.
    pub async fn connect(&self) -> Result<Opener> {
        let connection = connect(&self.endpoint, &self.config, &self.ticket.addresses, HANDSHAKE).await?;
        let silent = || Failure::new(Kind::LostPeer, "the far side is connected but does not answer");
        let welcome = timeout(WELCOME, self.introduce(&connection)).await.unwrap_or_else(|_| Err(silent()));
        if let Err(failure) = welcome {
            // Its own reason explains whatever failed here.
            let failure = connection.close_reason().map_or(failure, |reason| connection_failure(&reason));
            wire::close(&connection, &failure);
            return Err(failure);
        }
        setup::follow_path(&connection);
        let session = Session::new(connection, &self.settings, self.own.clone());
        Ok(Opener::new(Arc::new(session), self.memory.clone()))
    }

    async fn introduce(&self, connection: &Connection) -> Result<()> {
        let (mut send, mut recv) = connection.open_bi().await.map_err(|e| connection_failure(&e))?;
        let proof = *proof(connection, &self.ticket.secret)?.as_bytes();
        wire::send(&mut send, &Hello { proof }).await?;
        wire::receive(&mut recv, MAX_MESSAGE).await.map(|Welcome| ())
    }
}

/// Opens tunnels and flows, over whichever connection there is.
#[derive(Clone)]
pub struct Link {
    opener: watch::Receiver<Option<Opener>>,
    is_full: bool,
}

impl Link {
    /// Over the connections that [`keep`] makes known; there may be one already.
    pub fn new(opener: Option<Opener>) -> (watch::Sender<Option<Opener>>, Link) {
        let (known, opener) = watch::channel(opener);
        (known, Link { opener, is_full: false })
    }

    /// One over which nothing more can be opened: whoever asks is told that this side is [full](Refusal::Full).
    pub fn full(&self) -> Link {
        Link { is_full: true, ..self.clone() }
    }

    /// Asks for a tunnel to a target, as [`Opener::ask`]. Where the connection is lost, it waits a while for the next.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub async fn ask(&self, target: &Target) -> Result<Tunnel, Refusal> {
        self.over_any(async |opener| opener.ask(target.clone()).await).await
    }

    /// A tunnel that the far side has connected to its target.
    ///
    /// # Errors
    ///
    /// Why there is none, from either side.
    pub async fn open(&self, target: &Target) -> Result<Tunnel, Refusal> {
        self.over_any(async |opener| opener.open(target.clone()).await).await
    }

    /// A flow to a target, in the same way.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub async fn flow(&self, target: &Target) -> Result<Flow, Refusal> {
        self.over_any(async |opener| opener.flow(target.clone()).await).await
    }

    async fn over_any<T>(&self, open: impl AsyncFnOnce(Opener) -> Result<T, Refusal>) -> Result<T, Refusal> {
        if self.is_full {
            return Err(Refusal::Full);
        }
        let mut known = self.opener.clone();
        let opening = async {
            let opener = known.wait_for(Option::is_some).await.ok().and_then(|opener| opener.clone());
            open(opener.ok_or(Refusal::NoFarSide)?).await
        };
        match timeout(OPENING, opening).await {
            Ok(opened) => opened,
            Err(_) if self.opener.borrow().is_none() => Err(Refusal::NoFarSide),
            Err(_) => Err(Refusal::TimedOut),
        }
    }
}

/// Makes a new connection when there is none yet, and whenever the last one is lost. Returns why it is in vain to try again.
pub async fn keep(
    way: &Way,
    known: watch::Sender<Option<Opener>>,
    sessions: &Sessions,
    reporter: &Reporter,
) -> Failure {
    let mut was_there = false;
    loop {
        let opener = known.borrow().clone();
        if let Some(opener) = opener {
            let peer = shown(remote(opener.connection()));
            let reason = connection_failure(&opener.connection().closed().await).message;
            known.send_replace(None);
            reporter.event(&Event::Lost { peer, reason });
        }
        match reconnect(way, was_there, reporter).await {
            Ok(opener) => {
                was_there = true;
                connected(&opener, sessions, reporter);
                known.send_replace(Some(opener));
            }
            Err(failure) => return failure,
        }
    }
}

/// Makes a new connection known to the user.
fn connected(opener: &Opener, sessions: &Sessions, reporter: &Reporter) {
    let id = sessions.add(opener.session().clone());
    reporter.event(&Event::Connected { peer: shown(remote(opener.connection())), id });
}

/// Connects, and tries again where that may help; `was_there` tells that the ticket was good before.
async fn reconnect(way: &Way, was_there: bool, reporter: &Reporter) -> Result<Opener> {
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match way.connect().await {
            Err(failure) if may_help(&failure, was_there, began) => {
                let (reason, retry_ms) = (failure.message, pause.as_millis() as u64);
                reporter.event(&Event::Retry { reason, retry_ms });
                sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            done => return done,
        }
    }
}

/// Whether another try may end in another way than with this failure.
fn may_help(failure: &Failure, was_there: bool, began: Instant) -> bool {
    match failure.kind {
        Kind::LostPeer => true,
        // Who is about to end refuses everybody.
        Kind::WrongTicket | Kind::Version => was_there && began.elapsed() < ENDING,
        _ => was_there,
    }
}
