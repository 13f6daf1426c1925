//! `pcc recv --keep`: one transfer after another, and several at once, of senders that are known, until a signal.

mod log;

use super::choice::unwelcome;
use super::endpoint;
use super::event::Event;
use super::progress::Reporter;
use super::protocol::Hello;
use super::receiver::bind_again;
use super::rules::Rules;
use super::session::Peer;
use super::slot::Slot;
use super::staging::{Bound, Holder, Staging};
use crate::failure::{Context, Failure, Kind, Result};
use crate::metrics::Metrics;
use crate::peer::credentials::SenderId;
use crate::peer::door::Door;
use crate::peer::endpoint::reachable;
use crate::peer::identity::Identity;
use crate::peer::keeper;
use crate::peer::ticket::Ticket;
use crate::peer::wire;
use crate::signals::Signals;
use log::Log;
use noq::{Endpoint, VarInt};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

/// Transfers that may be open at once.
const MAX_TRANSFERS: usize = 64;
/// How long a transfer without a sender stays in memory. After that, what is there has to be hashed again.
const LINGER: Duration = Duration::from_secs(300);
/// How long the senders may take to hear the end.
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
    pub senders: Vec<SenderId>,
    /// What the user wants of what comes.
    pub rules: Rules,
    /// The file that makes the ticket stay the same; one of this user where it is absent.
    pub identity: Option<PathBuf>,
    /// Where to write the ticket; standard output where it is absent.
    pub ticket_out: Option<PathBuf>,
    /// Where to serve metrics.
    pub metrics: Option<SocketAddr>,
}

/// A sender that has shown that it holds the ticket.
type Arrival = (SocketAddr, Peer);

/// What all transfers share.
struct Shared {
    dir: PathBuf,
    identity: Identity,
    rules: Rules,
    log: Arc<Log>,
}

/// The transfers that are open; each is a task, to which its senders are brought.
struct Transfers {
    shared: Arc<Shared>,
    open: HashMap<Holder, mpsc::Sender<Arrival>>,
    tasks: JoinSet<Holder>,
}

/// Receives until a signal.
pub async fn run(options: Options, reporter: Arc<Reporter>) -> Result<()> {
    let Options { dir, listen, advertise, senders, rules, identity, ticket_out, metrics } = options;
    let (identity, endpoint, ticket) = begin(listen, &advertise, identity.as_deref())?;
    let log = Arc::new(Log::new(reporter.clone()));
    let _metrics = match metrics {
        Some(address) => Some(serve_metrics(address, &log, &reporter).await?),
        None => None,
    };
    let mut signals = Signals::of_service().doing(|| "listen for signals")?;
    let shared = Arc::new(Shared { dir, identity, rules, log });
    let mut transfers = Transfers { shared: shared.clone(), open: HashMap::new(), tasks: JoinSet::new() };
    let resumed = shared.clone();
    let unfinished = spawn_blocking(move || Staging::all_kept(&resumed.dir, &resumed.identity)).await;
    let unfinished = unfinished.map_err(|e| Failure::new(Kind::Other, e))??;
    for message in &unfinished.skipped {
        reporter.event(&Event::Note { message });
    }
    for (staging, bound) in unfinished.transfers {
        transfers.take_up(staging, bound);
    }
    match &ticket_out {
        Some(file) => reporter.ticket_into(file, &ticket.to_string(), &ticket.addresses)?,
        None => reporter.ticket(&ticket.to_string(), &ticket.addresses, false)?,
    }

    let mut door = Door::<Hello>::open(endpoint.clone(), ticket.secret, reporter.unreported());
    loop {
        tokio::select! {
            biased;
            () = signals.next() => break,
            Some(over) = transfers.tasks.join_next() => transfers.remove(over),
            // Last, because strangers decide how often it comes.
            arrival = door.next() => match arrival {
                Some((address, Ok(peer))) => {
                    let turned_away = match senders.contains(&peer.sender) {
                        true => transfers.admit(address, peer),
                        false => Some((unwelcome(&senders, peer.sender), peer)),
                    };
                    if let Some((failure, peer)) = turned_away {
                        wire::close(&peer.connection, &failure);
                        reporter.refused(address, &failure);
                    }
                }
                Some((address, Err(failure))) => reporter.refused(address, &failure),
                None => return Err(Failure::new(Kind::Other, "the network endpoint closed")),
            },
        }
    }
    // Senders try again for a while, and by then there may be a new receiver.
    let end = Failure::interrupted();
    endpoint.close(VarInt::from_u32(end.kind.code().into()), end.message.as_bytes());
    transfers.open.clear();
    while transfers.tasks.join_next().await.is_some() {}
    let _ = timeout(FAREWELL, endpoint.wait_idle()).await;
    Ok(())
}

/// Listens where the ticket of before points.
fn begin(
    listen: Option<SocketAddr>,
    advertise: &[SocketAddr],
    file: Option<&std::path::Path>,
) -> Result<(Identity, Endpoint, Ticket)> {
    let kept = keeper::receiver(file, || {
        let port = bind_again(listen, 0)?.local_addr().doing(|| "listen")?.port();
        Ok(keeper::Receiver { identity: Identity::generate()?, port })
    })?;
    let socket = bind_again(listen, kept.port)?;
    let addresses = reachable(socket.local_addr().doing(|| "listen")?, advertise)?;
    let identity = kept.identity;
    let ticket = Ticket { certificate: identity.credentials.hash(), secret: identity.secret, addresses };
    let endpoint = endpoint::server(&identity, socket)?;
    Ok((identity, endpoint, ticket))
}

async fn serve_metrics(address: SocketAddr, log: &Arc<Log>, reporter: &Reporter) -> Result<Metrics> {
    let counted = log.clone();
    let (metrics, address) = Metrics::open(address, move || counted.page()).await?;
    reporter.event(&Event::Listening { kind: "metrics", address });
    if let Some(message) = Metrics::warning(address) {
        reporter.event(&Event::Note { message: &message });
    }
    Ok(metrics)
}

impl Transfers {
    /// Brings a sender to its transfer. If that can't be, it is given back, with what to tell it.
    fn admit(&mut self, address: SocketAddr, peer: Peer) -> Option<(Failure, Peer)> {
        let holder = peer.holder();
        if !self.open.contains_key(&holder) {
            if self.open.len() >= MAX_TRANSFERS {
                let message = format!("this receiver is busy with {MAX_TRANSFERS} other transfers");
                return Some((Failure::new(Kind::LostPeer, message), peer));
            }
            let shared = self.shared.clone();
            self.open(holder, async move {
                let (dir, identity) = (shared.dir.clone(), shared.identity.clone());
                let staging = spawn_blocking(move || Staging::kept(&dir, &identity, holder));
                staging.await.unwrap_or_else(|e| Err(Failure::new(Kind::Other, e)))
            });
        }
        let brought = self.open[&holder].try_send((address, peer));
        brought.err().map(|e| {
            let (_, peer) = e.into_inner();
            (Failure::new(Kind::LostPeer, "an earlier connection of this transfer is just ending"), peer)
        })
    }

    /// Takes up what an earlier start left.
    fn take_up(&mut self, staging: Staging, bound: Bound) {
        self.open(bound.holder, async { Ok((staging, Some(bound))) });
    }

    fn open(
        &mut self,
        holder: Holder,
        staging: impl Future<Output = Result<(Staging, Option<Bound>)>> + Send + 'static,
    ) {
        let (bring, peers) = mpsc::channel(4);
        let shared = self.shared.clone();
        self.tasks.spawn(async move {
            transfer(holder, staging, peers, &shared).await;
            holder
        });
        self.open.insert(holder, bring);
    }

    fn remove(&mut self, over: Result<Holder, tokio::task::JoinError>) {
        match over {
            Ok(holder) => drop(self.open.remove(&holder)),
            // It panicked, so that it doesn't say which one it was.
            Err(_) => self.open.retain(|_, bring| !bring.is_closed()),
        }
    }
}

/// One transfer, from its first sender, or from what is there of it, to its end.
async fn transfer(
    holder: Holder,
    staging: impl Future<Output = Result<(Staging, Option<Bound>)>>,
    mut peers: mpsc::Receiver<Arrival>,
    shared: &Shared,
) {
    let open = shared.log.begin(holder.sender);
    let (staging, bound) = match staging.await {
        Ok(opened) => opened,
        Err(failure) => {
            peers.close();
            turn_away(&mut peers, &failure).await;
            return open.end(None, &Err(failure));
        }
    };
    let mut slot = Slot::open(staging, bound, shared.rules, shared.log.reporter().clone()).await;
    let mut had_sender = false;
    let result = loop {
        let is_idle = slot.is_idle();
        if had_sender && is_idle && slot.holder().is_none() {
            // Nothing came of it, and nothing is there of it: it must not keep others out.
            break Err(Failure::new(Kind::LostPeer, "the sender was turned away, or left before anything came"));
        }
        tokio::select! {
            biased;
            over = slot.next() => match over {
                Ok(true) => break Ok(()),
                Ok(false) => {}
                Err(failure) => break Err(failure),
            },
            arrival = peers.recv() => match arrival {
                Some((address, peer)) => {
                    had_sender = true;
                    if let Err(failure) = slot.begin(address, peer).await {
                        break Err(failure);
                    }
                }
                None => break Err(Failure::interrupted()),
            },
            () = sleep(LINGER), if is_idle => {
                break Err(Failure::new(Kind::LostPeer, "the sender did not come back; what is there stays for when it does"));
            }
        }
    };
    // From here on, who comes is to try again.
    peers.close();
    let left = slot.leave(result).await;
    if let Err(failure) = &left.result {
        turn_away(&mut peers, failure).await;
    }
    open.end(left.summary, &left.result);
}

/// Tells those who come why they can't be taken.
async fn turn_away(peers: &mut mpsc::Receiver<Arrival>, failure: &Failure) {
    while let Some((_, peer)) = peers.recv().await {
        wire::close(&peer.connection, failure);
    }
}
