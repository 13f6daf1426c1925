//! The emulator's thread.

use super::coalesce::{Outbox, Run};
use super::config::EmulatorConfig;
use super::frame::Frame;
use super::network::Network;
use super::report::EmulationReport;
use super::side::Side;
use super::tun::Tun;
use super::vnet;
use crate::error::EmulatorError;
use crate::realtime::{LatenessHistogram, Stop, thread_cpu};
use pcc::Time;
use rustix::mm::{MlockAllFlags, mlockall};
use std::io;
use std::time::Instant;

/// The most frames read from each device before the thread looks whether it should end.
const READS: usize = 16;

/// A frame can't be larger than this.
const FRAME: usize = vnet::BYTES + 65_535;

pub(super) struct Worker {
    left: Tun,
    right: Tun,
    origin: Instant,
    network: Network,
    outbox: Outbox,
    lateness: LatenessHistogram,
    undelivered: u64,
    stray: u64,
    scratch: Vec<u8>,
}

impl Worker {
    pub fn new(left: Tun, right: Tun, config: EmulatorConfig, origin: Instant) -> Worker {
        Worker {
            left,
            right,
            origin,
            outbox: Outbox::new(config.quantum()),
            network: Network::new(config),
            lateness: LatenessHistogram::new(),
            undelivered: 0,
            stray: 0,
            scratch: Vec::with_capacity(FRAME),
        }
    }

    /// Moves packets until it is told to stop.
    pub fn run(mut self, stop: &Stop) -> Result<EmulationReport, EmulatorError> {
        // Memory that was swapped out would have to come back first. Only what has been touched: nothing is filled beforehand.
        let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT);
        let mut buffer = vec![0; FRAME];
        loop {
            self.deliver();
            let left = self.next_event().map(|next| next.since(self.now()));
            let goes_on = stop
                .wait(&self.left, &self.right, left)
                .map_err(|error| EmulatorError::System { doing: "waiting for packets", error: error.into() })?;
            if !goes_on {
                return self.report();
            }
            self.receive(&mut buffer)?;
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + self.origin.elapsed()
    }

    fn next_event(&self) -> Option<Time> {
        let next = self.network.next_event();
        self.outbox.deadline(next).or(next)
    }

    /// Reads the frames that have come. Packets that become due meanwhile are delivered in between.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), EmulatorError> {
        let failed = |error| EmulatorError::System { doing: "reading a TUN device", error };
        for _ in 0..READS {
            let left = self.read(Side::Left, buffer).map_err(failed)?;
            let right = self.read(Side::Right, buffer).map_err(failed)?;
            if !left && !right {
                break;
            }
            self.deliver();
        }
        Ok(())
    }

    /// Puts a frame on its way, with its own time, which is that of all its packets: they were sent at once. Whether there was
    /// one.
    fn read(&mut self, side: Side, buffer: &mut [u8]) -> io::Result<bool> {
        let tun = self.tun(side);
        let bytes = match tun.read(buffer) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let frame = buffer.get(..bytes).and_then(|bytes| Frame::parse(bytes, tun.offloads()));
        let now = self.now();
        if !frame.is_some_and(|frame| self.network.enter(now, side, frame)) {
            self.stray += 1;
        }
        Ok(true)
    }

    /// Hands what is due to the kernel.
    fn deliver(&mut self) {
        self.network.advance(self.now());
        while let Some(arrival) = self.network.pop() {
            self.outbox.push(arrival);
        }
        if self.outbox.deadline(self.network.next_event()).is_none_or(|deadline| deadline > self.now()) {
            return;
        }
        for run in self.outbox.take() {
            self.write(&run);
        }
    }

    /// A packet has left when the write has returned: the time that it takes is part of how late the packet is.
    fn write(&mut self, run: &Run) {
        let mut scratch = std::mem::take(&mut self.scratch);
        if self.tun(run.to).write(run.frame.cut(run.segments(), &mut scratch)).is_err() {
            self.undelivered += run.due.len() as u64;
        }
        self.scratch = scratch;
        let now = self.now();
        run.due.iter().for_each(|due| self.lateness.record(now.since(*due)));
    }

    fn tun(&self, side: Side) -> &Tun {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    fn report(mut self) -> Result<EmulationReport, EmulatorError> {
        let now = self.now();
        let (outcome, bursts) = self.network.outcome(now);
        Ok(EmulationReport {
            outcome,
            bursts,
            segments: self.network.segments(),
            lateness: self.lateness.summary(),
            cpu: thread_cpu(),
            undelivered: self.undelivered,
            stray: self.stray,
            interface_drops: self.left.drops()? + self.right.drops()?,
        })
    }
}
