//! Real traffic through the path model: TUN devices in network namespaces, and a thread that moves packets between them.
//!
//! ```text
//! namespace of the senders                                  namespace of the receivers
//! programs, kernel <-> [left TUN | links, in virtual time | right TUN] <-> programs, kernel
//! ```
//!
//! The kernel hands over super-packets of up to 64 KB where it can. They stay in one piece of memory, but the links see each
//! packet of the MTU by itself, with its own place in the queue, lost or delivered by itself; those that are delivered together are given
//! to the kernel as one super-packet again.

mod addressing;
mod coalesce;
mod config;
mod flow;
mod frame;
mod network;
mod packet;
mod received;
mod report;
mod side;
#[cfg(test)]
mod tests;
mod thread;
mod tun;
mod vnet;

pub use addressing::Addressing;
pub use config::{EmulatorConfig, Route};
pub use report::EmulationReport;
pub use tun::{MTU, Tun};

use crate::error::EmulatorError;
use crate::realtime::Driver;
use std::time::Instant;

/// A running emulator; it ends when dropped.
#[derive(Debug)]
pub struct Emulator {
    origin: Instant,
    driver: Driver<Result<EmulationReport, EmulatorError>>,
}

impl Emulator {
    /// Starts the emulator's thread; time zero is now.
    ///
    /// # Errors
    ///
    /// When a route names a link that isn't there, one device offloads and the other doesn't, or there is no thread.
    pub fn start(left: Tun, right: Tun, config: EmulatorConfig) -> Result<Emulator, EmulatorError> {
        config.check()?;
        if left.offloads() != right.offloads() {
            return Err(EmulatorError::Offload);
        }
        let origin = Instant::now();
        let work = move |stop: &_| thread::Worker::new(left, right, config, origin).run(stop);
        let driver = Driver::start("emulator", work)
            .map_err(|error| EmulatorError::System { doing: "starting the emulator's thread", error })?;
        Ok(Emulator { origin, driver })
    }

    /// The instant that all times in its report count from.
    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Whether it goes on; it ends by itself when its thread can't, and [`Emulator::stop`] tells why.
    pub fn is_running(&self) -> bool {
        self.driver.is_running()
    }

    /// Ends the emulator. Packets that are still on its links are dropped.
    ///
    /// # Errors
    ///
    /// When its thread could not go on.
    pub fn stop(mut self) -> Result<EmulationReport, EmulatorError> {
        let ended = |error| EmulatorError::System { doing: "ending the emulator", error };
        self.driver.stop().map_err(ended)?
    }
}
