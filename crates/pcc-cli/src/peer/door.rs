//! The door of the side that made the ticket: others come in once they have proved that they hold it.
//!
//! Whoever wants to keep others out may send as much as it likes, from as many addresses as it has. So what does not hold
//! the ticket costs no more than a look at its first packet (see `greeting`); and of what seems to hold it, no address,
//! which for IPv6 is a /64, has more than a small share of the few places, for a few seconds.

use super::credentials::SenderId;
use super::greeting::Greeting;
use super::identity::proof;
use super::wire::{self, connection_failure};
use crate::failure::{Failure, Kind, Result};
use noq::{Connecting, Connection, ConnectionError, Endpoint, Incoming, SendStream};
use serde::de::DeserializeOwned;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::{Instant, timeout_at};

/// A connection that has not proved to know the secret after this long is closed.
const PATIENCE: Duration = Duration::from_secs(6);
/// Connections without a proof that are served at once; further ones wait until their next try.
const MAX_STRANGERS: usize = 16;
/// The most of these from one address.
const MAX_PER_ADDRESS: usize = 4;
/// Those without the ticket are reported no more often than this.
const REPORTING: Duration = Duration::from_secs(10);

/// The longest first message.
pub const MAX_HELLO: usize = 256;

/// The first message of whoever comes, on a stream that it opens.
pub trait Hello: DeserializeOwned + Send + 'static {
    /// The proof that it knows the secret of the ticket, see [`proof`].
    fn proof(&self) -> [u8; 32];
}

/// Who proved to hold the ticket.
pub struct Guest<H, K = ()> {
    /// Who it is.
    pub sender: SenderId,
    /// The connection to it.
    pub connection: Connection,
    /// The way back of the stream that its first message came on.
    pub send: SendStream,
    /// Its first message.
    pub hello: H,
    /// What was kept when the connection was accepted.
    pub kept: K,
}

/// A connection attempt: after the proof, or what was wrong with it.
pub type Arrival<H, K> = (SocketAddr, Result<Guest<H, K>>);

/// Accepts a connection, with a configuration of its own if it likes, and returns what is to be kept of that.
type Accept<K> = dyn Fn(Incoming) -> Result<(Connecting, K), ConnectionError> + Send + Sync;

/// Where others arrive, with first messages of the type `H`, and with what is kept of each.
pub struct Door<H, K = ()> {
    arrivals: mpsc::Receiver<Arrival<H, K>>,
    task: JoinHandle<()>,
}

impl<H: Hello> Door<H> {
    /// Lets those in that prove to know the secret. Of those that don't, most are only counted.
    pub fn open(endpoint: Endpoint, secret: [u8; 32], unreported: Arc<AtomicU64>) -> Self {
        Self::accepting(endpoint, secret, unreported, |incoming| Ok((incoming.accept()?, ())))
    }
}

impl<H: Hello, K: Send + 'static> Door<H, K> {
    /// The same with connections that are accepted in this way.
    pub fn accepting(
        endpoint: Endpoint,
        secret: [u8; 32],
        unreported: Arc<AtomicU64>,
        accept: impl Fn(Incoming) -> Result<(Connecting, K), ConnectionError> + Send + Sync + 'static,
    ) -> Self {
        let (out, arrivals) = mpsc::channel(MAX_STRANGERS);
        let keeper = Keeper {
            secret,
            accept: Arc::new(accept),
            greeting: Greeting::new(&secret),
            out,
            strangers: JoinSet::new(),
            places: Vec::new(),
            turned_away: 0,
            unreported,
            reported: None,
        };
        Self { arrivals, task: tokio::spawn(keeper.serve(endpoint)) }
    }

    /// The next one; `None` when the endpoint is closed.
    pub async fn next(&mut self) -> Option<Arrival<H, K>> {
        self.arrivals.recv().await
    }
}

impl<H, K> Drop for Door<H, K> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Keeper<H, K> {
    secret: [u8; 32],
    accept: Arc<Accept<K>>,
    greeting: Greeting,
    out: mpsc::Sender<Arrival<H, K>>,
    strangers: JoinSet<()>,
    /// Where those come from that have a place.
    places: Vec<(IpAddr, AbortHandle)>,
    /// Since the last report.
    turned_away: u64,
    /// All of which there was no report of its own.
    unreported: Arc<AtomicU64>,
    reported: Option<Instant>,
}

impl<H: Hello, K: Send + 'static> Keeper<H, K> {
    async fn serve(mut self, endpoint: Endpoint) {
        while let Some(incoming) = endpoint.accept().await {
            while self.strangers.try_join_next().is_some() {}
            self.meet(incoming);
        }
    }

    fn meet(&mut self, incoming: Incoming) {
        let address = incoming.remote_address();
        if !self.greeting.is_good(&incoming.orig_dst_cid()) {
            incoming.refuse();
            return self.turn_away(address);
        }
        if !incoming.remote_address_validated() {
            // Fails only for an address that is validated.
            let _ = incoming.retry();
            return;
        }
        self.places.retain(|(_, task)| !task.is_finished());
        let network = network_of(address.ip());
        let is_full = self.places.len() >= MAX_STRANGERS;
        if is_full || self.places.iter().filter(|(other, _)| *other == network).count() >= MAX_PER_ADDRESS {
            // It tries again by itself, as after a loss.
            return incoming.ignore();
        }
        let (secret, accept, out) = (self.secret, self.accept.clone(), self.out.clone());
        let task = self.strangers.spawn(async move {
            // Nobody is interested when the door is closed.
            let _ = out.send((address, authenticate(incoming, &*accept, secret).await)).await;
        });
        self.places.push((network, task));
    }

    fn turn_away(&mut self, address: SocketAddr) {
        self.turned_away += 1;
        if self.reported.is_none_or(|at| at.elapsed() >= REPORTING) {
            let more = match std::mem::take(&mut self.turned_away) - 1 {
                0 => String::new(),
                more => format!("; nor did {more} other attempts since the last such line"),
            };
            let failure = Failure::new(Kind::WrongTicket, format!("it did not know the ticket's secret{more}"));
            self.reported = Some(Instant::now());
            // A line like this may be lost.
            if self.out.try_send((address, Err(failure))).is_ok() {
                return;
            }
        }
        self.unreported.fetch_add(1, Ordering::Relaxed);
    }
}

/// All addresses that one customer of a network usually has.
pub fn network_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

/// Why a stranger did not get as far as a connection.
fn stranger_failure(error: &ConnectionError) -> Failure {
    match (connection_failure(error), error) {
        // That failure is worded for the other side.
        (failure, ConnectionError::TransportError(e)) if failure.kind == Kind::WrongTicket => {
            Failure::new(Kind::Other, format!("what came is no connection of pcc ({e})"))
        }
        (failure, _) => failure,
    }
}

/// Gives a stranger a few seconds to prove that it knows the secret.
async fn authenticate<H: Hello, K>(incoming: Incoming, accept: &Accept<K>, secret: [u8; 32]) -> Result<Guest<H, K>> {
    let deadline = Instant::now() + PATIENCE;
    let late = || Failure::new(Kind::WrongTicket, "no proof of the ticket's secret in time");
    let (connecting, kept) = accept(incoming).map_err(|e| stranger_failure(&e))?;
    let connection = match timeout_at(deadline, connecting).await {
        Ok(connected) => connected.map_err(|e| stranger_failure(&e))?,
        Err(_) => return Err(late()),
    };
    let prove = async {
        let (send, mut recv) = connection.accept_bi().await.map_err(|e| connection_failure(&e))?;
        let hello: H = wire::receive(&mut recv, MAX_HELLO).await?;
        // Comparison of `blake3::Hash` takes constant time.
        if proof(&connection, &secret)? != hello.proof() {
            return Err(Failure::new(
                Kind::WrongTicket,
                "the ticket's secret is wrong; use the ticket that this side printed",
            ));
        }
        Ok((SenderId::of(&connection)?, send, hello))
    };
    match timeout_at(deadline, prove).await.unwrap_or_else(|_| Err(late())) {
        Ok((sender, send, hello)) => Ok(Guest { sender, connection, send, hello, kept }),
        Err(failure) => {
            wire::close(&connection, &failure);
            Err(failure)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_many_addresses_has_one_place() {
        let network = |ip: &str| network_of(ip.parse().unwrap());
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2::7"));
        assert_ne!(network("2001:db8:1:2::7"), network("2001:db8:1:3::7"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("::ffff:192.0.2.1"), network("192.0.2.2"));
    }
}
