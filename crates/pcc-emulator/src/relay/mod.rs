//! A relay of UDP datagrams through two emulated paths, in this process and without root.
//!
//! ```text
//! sender <-> [front socket | forward path ->  | back socket] <-> receiver
//!            [             | <- reverse path  |            ]
//! ```
//!
//! One operating system thread reads both sockets, puts every datagram on its [`Path`], and sends on what is due. The paths run
//! in virtual time, so that the rate holds however late the thread wakes up. The report says how late it did, to judge a run by.

mod config;
mod sockets;
#[cfg(test)]
mod tests;
mod thread;

pub use crate::realtime::{Lateness, LatenessHistogram};
pub use config::{IP_UDP_HEADERS, RelayConfig, RelayReport};
pub(crate) use sockets::BUFFER;

use crate::realtime::Driver;
use pcc_lab::link::Path;
use std::io;
use std::net::SocketAddr;

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

    /// Ends the relay. Datagrams that are still on its paths are dropped.
    ///
    /// # Errors
    ///
    /// When its thread could not go on.
    pub fn stop(mut self) -> io::Result<RelayReport> {
        self.driver.stop()
    }
}
