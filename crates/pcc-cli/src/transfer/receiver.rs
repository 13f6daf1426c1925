//! `pcc recv`: waits for a sender that has the ticket.

use super::choice::{Candidates, Welcome};
use super::commit::Rules;
use super::endpoint;
use super::progress::{Event, Reporter};
use super::protocol::Hello;
use super::session::{self, End, Peer, Shared, State};
use super::staging::{Holder, Staging};
use crate::failure::{Context, Failure, Kind, Result};
use crate::peer::door::Door;
use crate::peer::endpoint::{bind, bind_any, reachable, shown};
use crate::peer::ticket::Ticket;
use crate::peer::wire;
use crate::signals::interrupted;
use noq::Endpoint;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until, timeout};

/// How long a sender that has not heard of the completion may come back to hear it.
const FAREWELL: Duration = Duration::from_secs(30);
/// How long the disk may take when the command is to end.
const DISK: Duration = Duration::from_secs(5);

/// Where to listen, and what to do with what comes.
pub struct Options {
    /// The folder that the files go to.
    pub dir: PathBuf,
    /// The address to listen on; all of this machine where it is absent.
    pub listen: Option<SocketAddr>,
    /// Further addresses for the ticket.
    pub advertise: Vec<SocketAddr>,
    /// Who may send.
    pub welcome: Welcome,
    /// What the user wants of what comes.
    pub rules: Rules,
}

/// A receiver that listens.
pub struct Receiver {
    endpoint: Endpoint,
    door: Door<Hello>,
    shared: Arc<Shared>,
    /// Tells what became of what an earlier start left: whether it is complete.
    resume: Option<oneshot::Receiver<Result<bool>>>,
    reporter: Arc<Reporter>,
    welcome: Welcome,
    candidates: Candidates,
    session: Option<Session>,
    /// Set when all is done but for the sender's confirmation.
    farewell: Option<Instant>,
}

struct Session {
    holder: Holder,
    connection: noq::Connection,
    task: JoinHandle<End>,
}

/// Receives one transfer.
pub async fn run(options: Options, reporter: Arc<Reporter>) -> Result<()> {
    let (receiver, ticket) = Receiver::open(options, reporter.clone()).await?;
    let (text, resuming) = (ticket.to_string(), receiver.shared.bound().is_some());
    match reporter.ticket(&text, &ticket.addresses, resuming) {
        Ok(()) => receiver.receive().await,
        Err(e) => {
            let message = format!("cannot print the ticket, without which nobody can send: {e}");
            receiver.leave(Err(Failure::new(Kind::Other, message))).await
        }
    }
}

fn listen(options: &Options, staging: &mut Staging) -> Result<(Endpoint, Ticket)> {
    let socket = match options.listen {
        // The old port, so that the old ticket stays good.
        Some(address) if address.port() == 0 => bind(Some(SocketAddr::new(address.ip(), staging.port)))?,
        Some(address) => bind(Some(address))?,
        None => bind_all(staging.port)?,
    };
    let bound = socket.local_addr().doing(|| "listen")?;
    staging.save(bound.port())?;
    let identity = &staging.identity;
    let addresses = reachable(bound, &options.advertise)?;
    let ticket = Ticket { certificate: identity.credentials.hash(), secret: identity.secret, addresses };
    Ok((endpoint::server(identity, socket)?, ticket))
}

fn bind_all(port: u16) -> Result<UdpSocket> {
    bind_any(port).doing(|| match port {
        0 => "open a UDP socket".to_owned(),
        _ => format!("listen on port {port}, where the ticket points; free it, or choose another with --listen and send the new ticket"),
    })
}

impl Receiver {
    /// Takes up or prepares a transfer, and listens for it.
    pub async fn open(options: Options, reporter: Arc<Reporter>) -> Result<(Self, Ticket)> {
        let dir = options.dir.clone();
        let staging = spawn_blocking(move || Staging::open(&dir)).await.map_err(|e| Failure::new(Kind::Other, e))?;
        let mut staging = staging?;
        for message in &staging.skipped {
            reporter.event(&Event::Note { message });
        }
        let bound = staging.bound()?;
        let (endpoint, ticket) = match listen(&options, &mut staging) {
            Ok(ready) => ready,
            Err(failure) => {
                if bound.is_none() {
                    // Nothing is in it.
                    let _ = staging.remove();
                }
                return Err(failure);
            }
        };
        let (shared, resume) = Shared::start(staging, bound, options.rules, reporter.clone()).await;
        let receiver = Self {
            door: Door::open(endpoint.clone(), ticket.secret),
            endpoint,
            shared,
            resume: Some(resume),
            reporter,
            welcome: options.welcome,
            candidates: Candidates::default(),
            session: None,
            farewell: None,
        };
        Ok((receiver, ticket))
    }

    /// Serves all senders that connect, until the transfer is complete.
    pub async fn receive(mut self) -> Result<()> {
        let result = tokio::select! {
            result = self.serve() => result,
            () = interrupted() => Err(Failure::interrupted()),
        };
        self.leave(result).await
    }

    async fn serve(&mut self) -> Result<()> {
        loop {
            let far = Instant::now() + Duration::from_secs(3600);
            let idle = self.session.is_none();
            let session_over = async {
                match &mut self.session {
                    Some(session) => (&mut session.task).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                arrival = self.door.next() => match arrival {
                    Some((address, Ok(peer))) => self.admit(address, peer).await?,
                    Some((address, Err(failure))) => self.refused(address, &failure),
                    None => return Err(Failure::new(Kind::Other, "the network endpoint closed")),
                },
                chosen = self.candidates.chosen(&self.reporter) => {
                    let (address, peer) = chosen?;
                    let sender = peer.sender;
                    let message = format!("confirmed; pcc recv --from {sender} takes what this sender sends without asking");
                    self.reporter.event(&Event::Note { message: &message });
                    self.welcome = Welcome::Only(sender);
                    self.admit(address, peer).await?;
                }
                resumed = outcome(&mut self.resume) => {
                    if resumed? {
                        self.say_farewell();
                    }
                }
                end = session_over => {
                    self.session = None;
                    let end = end.map_err(|e| Failure::new(Kind::Other, e))?;
                    if self.ended(end)? {
                        return Ok(());
                    }
                }
                () = sleep_until(self.farewell.unwrap_or(far)), if self.farewell.is_some() && idle => {
                    return Ok(());
                }
            }
        }
    }

    fn refused(&self, address: SocketAddr, failure: &Failure) {
        let (kind, reason) = (failure.kind.name(), failure.message.clone());
        self.reporter.event(&Event::Refused { peer: shown(address), kind, reason });
    }

    /// Starts the session of a sender that proved the secret, if it is welcome.
    async fn admit(&mut self, address: SocketAddr, peer: Peer) -> Result<()> {
        let bound = self.shared.bound().or(self.session.as_ref().map(|session| session.holder));
        let refusal = match (bound, self.welcome) {
            (Some(holder), _) if holder.sender != peer.sender => {
                "another sender has used this ticket; if that was not you, somebody else has it: \
                 run pcc recv in another folder for a new one"
                    .to_owned()
            }
            (Some(holder), _) if holder != peer.holder() => "this ticket is already in use for another transfer; \
                 finish that one, or run pcc recv for a new ticket"
                .to_owned(),
            (None, Welcome::Only(sender)) if sender != peer.sender => {
                format!(
                    "this receiver takes what {sender} sends, but this sender is {}; see pcc recv --from",
                    peer.sender
                )
            }
            (None, Welcome::Confirmed) => {
                if let Err(failure) = self.candidates.add(address, peer, &self.reporter).await {
                    self.refused(address, &failure);
                }
                return Ok(());
            }
            _ => return self.begin(address, peer).await,
        };
        let failure = Failure::new(Kind::WrongTicket, refusal);
        wire::close(&peer.connection, &failure);
        self.refused(address, &failure);
        Ok(())
    }

    /// Starts the session of a sender. An earlier one of the same transfer ends.
    async fn begin(&mut self, address: SocketAddr, peer: Peer) -> Result<()> {
        if let Some(old) = self.session.take() {
            let failure = Failure::new(Kind::Replaced, "a newer connection of the same transfer took over");
            wire::close(&old.connection, &failure);
            let end = old.task.await.map_err(|e| Failure::new(Kind::Other, e))?;
            // Even then it may have completed just before, and then this sender learns it.
            match end {
                End::Fatal(failure) => {
                    wire::close(&peer.connection, &failure);
                    return Err(failure);
                }
                End::Complete | End::Unconfirmed => self.farewell = Some(Instant::now() + FAREWELL),
                End::Lost(_) | End::Refused(..) => {}
            }
        }
        self.reporter.event(&Event::Connected { peer: shown(address) });
        let (holder, connection) = (peer.holder(), peer.connection.clone());
        let task = tokio::spawn(session::run(peer, address, self.shared.clone()));
        self.session = Some(Session { holder, connection, task });
        Ok(())
    }

    /// All is done, but the sender may not know.
    fn say_farewell(&mut self) {
        self.farewell = Some(Instant::now() + FAREWELL);
        let message = format!(
            "all is verified and in its place; waiting up to {} s for the sender to come back and hear of it",
            FAREWELL.as_secs()
        );
        self.reporter.event(&Event::Note { message: &message });
    }

    /// Whether this was the end of the transfer.
    fn ended(&mut self, end: End) -> Result<bool> {
        match end {
            End::Complete => return Ok(true),
            End::Unconfirmed => self.say_farewell(),
            End::Lost(failure) => {
                let reason = match failure.kind {
                    Kind::Interrupted => "the sender was interrupted".to_owned(),
                    _ => failure.message,
                };
                self.reporter.event(&Event::Lost { reason, retry_ms: None });
            }
            End::Refused(address, failure) => self.refused(address, &failure),
            End::Fatal(failure) => return Err(failure),
        }
        Ok(false)
    }

    /// Ends all connections, and removes what is of no use to a later start.
    async fn leave(mut self, mut result: Result<()>) -> Result<()> {
        if let Err(failure) = &result {
            let code = noq::VarInt::from_u32(failure.kind.code().into());
            self.endpoint.close(code, failure.message.as_bytes());
        }
        if self.farewell.is_some() && matches!(&result, Err(failure) if failure.kind == Kind::Interrupted) {
            // Everything has its final name: only the wait for the sender was cut short.
            result = Ok(());
        }
        let session = self.session.take();
        let state = async {
            if let Some(session) = session {
                // It ends because its connection did, and gives the state back.
                if matches!(session.task.await, Ok(End::Complete)) {
                    result = Ok(());
                }
            }
            self.shared.take().await
        };
        // A disk may keep them busy; then the folder stays, as after a kill.
        let state = timeout(DISK, state).await.unwrap_or(State::Gone);
        let done = result.is_ok();
        let kept = spawn_blocking(move || dispose(state, done)).await.map_err(|e| Failure::new(Kind::Other, e))?;
        let _ = timeout(Duration::from_secs(2), self.endpoint.wait_idle()).await;
        match result {
            Ok(()) => {
                let done = self.shared.report_done();
                kept.and(done)
            }
            Err(failure) => Err(failure),
        }
    }
}

/// What became of what an earlier start left; only once.
async fn outcome(resume: &mut Option<oneshot::Receiver<Result<bool>>>) -> Result<bool> {
    let told = match resume {
        Some(resume) => resume.await,
        None => std::future::pending().await,
    };
    *resume = None;
    match told {
        Ok(outcome) => outcome,
        // There was nothing to take up.
        Err(_) => Ok(false),
    }
}

/// Removes the folder if a later start has no use for it. The sender that did not hear of the completion may still come
/// to a later start, so unless this one is done, what is published stays too.
fn dispose(state: State, done: bool) -> Result<()> {
    match state {
        State::Fresh(staging) => staging.remove(),
        State::Bound(store) if store.is_untouched() || (done && store.is_published()) => store.into_staging().remove(),
        State::Bound(_) | State::Gone => Ok(()),
    }
}
