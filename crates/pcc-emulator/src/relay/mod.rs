//! A relay of UDP datagrams through two emulated paths, in this process and without root.
//!
//! ```text
//! sender <-> [front socket | forward path ->  | back socket] <-> receiver
//!            [             | <- reverse path  |            ]
//! ```
//!
//! One operating system thread reads both sockets, puts every datagram on its [`Path`], and sends on what is due. The paths run
//! in virtual time, so that the rate holds however late the thread wakes up; how late it did is in the report, to judge a run by.

mod sockets;
#[cfg(test)]
mod tests;
mod thread;

pub use crate::realtime::{Lateness, LatenessHistogram};
pub(crate) use sockets::enlarge_buffers;

use crate::realtime::Driver;
use pcc_lab::link::{Counters, Path, PathConfig};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Bytes of the IPv4 (20) and UDP (8) headers, which take their share of the bottleneck.
pub const IP_UDP_HEADERS: u64 = 28;

/// What a relay does to datagrams.
#[derive(Clone, Debug)]
pub struct RelayConfig {
    /// Where datagrams of the sender go: the address of the receiver, on this machine.
    pub receiver: SocketAddr,
    /// The path from the sender to the receiver. Datagrams count with their payload and [`IP_UDP_HEADERS`].
    pub forward: PathConfig,
    /// The path back.
    pub reverse: PathConfig,
    /// The seed of the random choices of both paths.
    pub seed: u64,
}

/// What a relay did, from its start to its end.
#[derive(Clone, Debug)]
pub struct RelayReport {
    /// What became of the datagrams of the sender.
    pub forward: Counters,
    /// What became of the datagrams of the receiver.
    pub reverse: Counters,
    /// How long after they were due datagrams were sent on, both ways.
    pub lateness: Lateness,
    /// Datagrams that the kernel dropped because the relay did not read its sockets in time: losses that the path did not ask for.
    pub missed: u64,
    /// Datagrams that the kernel did not take when they were due.
    pub unsent: u64,
    /// Processor time of the relay's thread.
    pub cpu: Duration,
}

/// A running relay; it ends when dropped.
///
/// It serves one sender, the one it has heard from last.
#[derive(Debug)]
pub struct Relay {
    addr: SocketAddr,
    driver: Driver<RelayReport>,
}

impl Relay {
    /// Binds a socket on the loopback interface and starts the relay's thread.
    ///
    /// # Errors
    ///
    /// When the operating system refuses a socket or a thread.
    pub fn start(config: &RelayConfig) -> io::Result<Relay> {
        let (front, back) = sockets::pair(config.receiver)?;
        let addr = front.local_addr()?;
        let mut seeds = fastrand::Rng::with_seed(config.seed);
        let forward = Path::new(&config.forward, seeds.u64(..));
        let reverse = Path::new(&config.reverse, seeds.u64(..));
        let worker = thread::Worker::new(front, back, forward, reverse);
        let driver = Driver::start("relay", |stop| worker.run(stop))?;
        Ok(Relay { addr, driver })
    }

    /// The address to which the sender sends, as if it were the receiver's.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Ends the relay; what is on its paths is gone.
    ///
    /// # Errors
    ///
    /// When its thread could not go on.
    pub fn stop(mut self) -> io::Result<RelayReport> {
        self.driver.stop()
    }
}
