//! `pcc recv`: waits for a sender that has the ticket.

use super::choice::{Candidates, Welcome, unwelcome};
use super::endpoint;
use super::event::Event;
use super::progress::Reporter;
use super::protocol::Hello;
use super::rules::Rules;
use super::session::Peer;
use super::slot::Slot;
use super::staging::Staging;
use crate::failure::{Context, Failure, Kind, Result};
use crate::peer::door::Door;
use crate::peer::endpoint::{bind, bind_any, reachable};
use crate::peer::ticket::Ticket;
use crate::peer::wire;
use crate::runtime::blocking;
use crate::signals::{Interrupted, interrupted};
use noq::Endpoint;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long the other side may take to hear the end.
const FAREWELL: Duration = Duration::from_secs(2);

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
    reporter: Arc<Reporter>,
    welcome: Welcome,
    candidates: Candidates,
    slot: Slot,
}

/// Receives one transfer.
pub async fn run(options: Options, reporter: Arc<Reporter>) -> Result<()> {
    let (receiver, ticket) = Receiver::open(options, reporter.clone()).await?;
    // Who has seen the ticket may end it.
    let interrupted = interrupted();
    let (text, resuming) = (ticket.to_string(), receiver.slot.holder().is_some());
    match reporter.ticket(&text, &ticket.addresses, resuming) {
        Ok(()) => receiver.receive(interrupted).await,
        Err(failure) => receiver.leave(Err(failure)).await,
    }
}

fn listen(options: &Options, staging: &mut Staging) -> Result<(Endpoint, Ticket)> {
    // The old port, so that the old ticket stays good.
    let socket = bind_again(options.listen, staging.port)?;
    let bound = socket.local_addr().doing(|| "listen")?;
    staging.save(bound.port())?;
    let identity = &staging.identity;
    let addresses = reachable(bound, &options.advertise)?;
    let ticket = Ticket { certificate: identity.credentials.hash(), secret: identity.secret, addresses };
    Ok((endpoint::server(identity, socket)?, ticket))
}

/// A socket on this address, or on all of this machine, and on the port of before where none is named.
pub fn bind_again(address: Option<SocketAddr>, port: u16) -> Result<UdpSocket> {
    match address {
        Some(address) if address.port() == 0 => bind(Some(SocketAddr::new(address.ip(), port))),
        Some(address) => bind(Some(address)),
        None => bind_any(port).doing(|| match port {
            0 => "open a UDP socket".to_owned(),
            _ => format!(
                "listen on port {port}, where the ticket points; free it, or choose another with --listen and send the new ticket"
            ),
        }),
    }
}

impl Receiver {
    /// Takes up or prepares a transfer, and listens for it.
    pub async fn open(options: Options, reporter: Arc<Reporter>) -> Result<(Self, Ticket)> {
        let (dir, welcome) = (options.dir.clone(), options.welcome.clone());
        let is_welcome = move |sender| !matches!(&welcome, Welcome::Only(senders) if !senders.contains(&sender));
        let staging = blocking(move || Staging::open_for(&dir, is_welcome)).await;
        let staging = staging.map_err(|e| Failure::new(Kind::Other, e))?;
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
        let receiver = Self {
            door: Door::open(endpoint.clone(), ticket.secret, reporter.unreported()),
            endpoint,
            slot: Slot::open(staging, bound, options.rules, reporter.clone()).await,
            reporter,
            welcome: options.welcome,
            candidates: Candidates::default(),
        };
        Ok((receiver, ticket))
    }

    /// Serves all senders that connect, until the transfer is complete or interrupted.
    pub async fn receive(mut self, interrupted: Interrupted) -> Result<()> {
        let result = tokio::select! {
            biased;
            result = self.serve() => result,
            () = interrupted => Err(Failure::interrupted()),
        };
        self.leave(result).await
    }

    async fn serve(&mut self) -> Result<()> {
        loop {
            tokio::select! {
                biased;
                over = self.slot.next() => {
                    if over? {
                        return Ok(());
                    }
                }
                chosen = self.candidates.chosen(&self.reporter) => {
                    let (address, peer) = chosen?;
                    let sender = peer.sender;
                    let message = format!("confirmed; pcc recv --from {sender} takes what this sender sends without asking");
                    self.reporter.event(&Event::Note { message: &message });
                    self.welcome = Welcome::Only(vec![sender]);
                    self.admit(address, peer).await?;
                }
                // Last, because strangers decide how often it comes.
                arrival = self.door.next() => match arrival {
                    Some((address, Ok(peer))) => self.admit(address, peer).await?,
                    Some((address, Err(failure))) => self.reporter.refused(address, &failure),
                    None => return Err(Failure::new(Kind::Other, "the network endpoint closed")),
                },
            }
        }
    }

    /// Starts the session of a sender that proved the secret, if it is welcome.
    async fn admit(&mut self, address: SocketAddr, peer: Peer) -> Result<()> {
        let wrong = |message: &str| Failure::new(Kind::WrongTicket, message);
        let failure = match (self.slot.holder(), &self.welcome) {
            (Some(holder), _) if holder.sender != peer.sender => wrong(
                "another sender has used this ticket; if that was not you, somebody else has it: \
                 run pcc recv in another folder for a new one",
            ),
            (Some(holder), _) if holder != peer.holder() => wrong(
                "this ticket is already in use for another transfer; finish that one, or run pcc recv in another folder for a new ticket",
            ),
            (None, Welcome::Only(senders)) if !senders.contains(&peer.sender) => unwelcome(senders, peer.sender),
            (None, Welcome::Confirmed) => {
                if let Err(failure) = self.candidates.add(address, peer, &self.reporter).await {
                    self.reporter.refused(address, &failure);
                }
                return Ok(());
            }
            _ => return self.slot.begin(address, peer).await,
        };
        wire::close(&peer.connection, &failure);
        self.reporter.refused(address, &failure);
        Ok(())
    }

    /// Ends all connections, and reports what was transferred.
    async fn leave(self, result: Result<()>) -> Result<()> {
        if let Err(failure) = &result {
            let code = noq::VarInt::from_u32(failure.kind.code().into());
            self.endpoint.close(code, failure.message.as_bytes());
        }
        let left = self.slot.leave(result).await;
        let _ = timeout(FAREWELL, self.endpoint.wait_idle()).await;
        let is_there = |failure: &Failure| failure.kind == Kind::Incomplete;
        if let Some(summary) = left.summary.filter(|_| left.result.as_ref().err().is_none_or(is_there)) {
            self.reporter.event(&Event::Done {
                files: summary.files,
                bytes: summary.bytes,
                there: summary.there,
                missing: summary.missing,
                moved: summary.moved,
                seconds: summary.seconds(),
                bits_per_second: summary.bits_per_second(),
            });
        }
        left.result
    }
}
