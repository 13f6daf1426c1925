//! The result of an emulation.

use crate::realtime::Lateness;
use pcc_lab::sim::Outcome;
use std::time::Duration;

/// What an emulator measured, until its end or [`EmulatorConfig::duration`](super::EmulatorConfig::duration).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EmulationReport {
    /// What came of flows and links. Data goes from left to right: packets that links dropped on that way are lost; bytes on the
    /// wire count as delivered where they carry data of a TCP connection for the first time, or aren't TCP. A round-trip time
    /// is that of a packet on the way there and of the newest one on the way back.
    pub outcome: Outcome,
    /// How long after they were due packets were delivered, both ways. Those that were delivered together above 200 Mbit/s
    /// waited for each other for up to 50 us.
    pub lateness: Lateness,
    /// Processor time of the emulator's thread, with that of the receiving kernel's network stack.
    pub cpu: Duration,
    /// Packets that were dropped because the kernel didn't take them when they were due.
    pub undelivered: u64,
    /// Frames that belong to no flow.
    pub stray: u64,
    /// Packets that a device dropped: losses that no link asked for.
    pub interface_drops: u64,
    /// Per flow: 99 % of the bursts that its sender sent were of at most this many packets.
    pub bursts: Vec<u64>,
    /// Per flow, with [`EmulatorConfig::record`](super::EmulatorConfig::record): of each TCP segment with data, in the order
    /// in which its sender sent them, whether it
    /// passed all links. Those that are on a link at the end didn't.
    pub segments: Vec<Vec<bool>>,
}
