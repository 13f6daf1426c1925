//! Real traffic through the path model: TUN devices in network namespaces, and a thread that moves packets between them.
//!
//! ```text
//! namespace of the senders                                  namespace of the receivers
//! programs, kernel <-> [left TUN | links, in virtual time | right TUN] <-> programs, kernel
//! ```
//!
//! The kernel hands over super-packets of up to 64 KB where it can. They stay in one piece of memory, but the links see each
//! packet of the MTU by itself, with its own place in the queue and its own fate; those that are delivered together are given
//! to the kernel as one super-packet again.

mod case;
mod coalesce;
mod config;
mod error;
mod flow;
mod frame;
pub mod guard;
mod namespace;
mod network;
mod open_files;
mod packet;
pub mod privileges;
mod received;
#[cfg(test)]
mod tests;
mod thread;
pub mod traffic;
mod tun;
mod verdict;
mod vnet;

pub use config::{Addressing, Config, Route};
pub use error::EmulatorError;
pub use namespace::{Namespace, To};
pub use tun::{MTU, Tun};

use crate::realtime::{Driver, Lateness};
use crate::sim::Outcome;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What an emulator saw, until its end or [`Config::duration`].
#[derive(Clone, Debug)]
pub struct Report {
    /// What came of flows and links. Data goes from left to right: packets that links dropped on that way are lost; bytes on the
    /// wire count as delivered where they carry data of a TCP connection for the first time, or aren't TCP. A round-trip time
    /// is that of a packet on the way there and of the newest one on the way back.
    pub outcome: Outcome,
    /// How long after they were due packets were delivered, both ways. Those that were delivered together above 200 Mbit/s
    /// waited for each other for up to 50 us.
    pub lateness: Lateness,
    /// Processor time of the emulator's thread, with that of the receiving kernel's network stack.
    pub cpu: Duration,
    /// Packets that the kernel didn't take when they were due.
    pub undelivered: u64,
    /// Frames that belong to no flow.
    pub stray: u64,
    /// Packets that a device dropped: losses that no link asked for.
    pub interface_drops: u64,
    /// Per flow: 99 % of the bursts that its sender sent were of at most this many packets.
    pub bursts: Vec<u64>,
    /// Per flow, with [`Config::record`]: of each TCP segment with data, in the order in which its sender sent them, whether it
    /// passed all links. Those that are on a link at the end didn't.
    pub segments: Vec<Vec<bool>>,
}

/// A running emulator; it ends when dropped.
#[derive(Debug)]
pub struct Emulator {
    origin: Instant,
    delivered_bytes: Arc<AtomicU64>,
    driver: Driver<Result<Report, EmulatorError>>,
}

impl Emulator {
    /// Starts the emulator's thread; time zero is now.
    ///
    /// # Errors
    ///
    /// When a route names a link that isn't there, one device offloads and the other doesn't, or there is no thread.
    pub fn start(left: Tun, right: Tun, config: Config) -> Result<Emulator, EmulatorError> {
        config.check()?;
        if left.offloads() != right.offloads() {
            return Err(EmulatorError::Offload);
        }
        let origin = Instant::now();
        let delivered_bytes = Arc::<AtomicU64>::default();
        let delivered = delivered_bytes.clone();
        let work = move |stop: &_| thread::Worker::new(left, right, config, origin, delivered).run(stop);
        let driver = Driver::start("emulator", work)
            .map_err(|error| EmulatorError::System { doing: "starting the emulator's thread", error })?;
        Ok(Emulator { origin, delivered_bytes, driver })
    }

    /// Its time zero.
    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Bytes of new data delivered so far, from the beginning on.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes.load(Ordering::Relaxed)
    }

    /// Whether it goes on; it ends by itself when its thread can't, and [`Emulator::stop`] tells why.
    pub fn is_running(&self) -> bool {
        self.driver.is_running()
    }

    /// Ends the emulator; what is on its links is gone.
    ///
    /// # Errors
    ///
    /// When its thread could not go on.
    pub fn stop(mut self) -> Result<Report, EmulatorError> {
        let ended = |error| EmulatorError::System { doing: "ending the emulator", error };
        self.driver.stop().map_err(ended)?
    }
}
