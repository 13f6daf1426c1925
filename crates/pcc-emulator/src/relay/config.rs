//! What a relay is asked to do, and what it did.

use crate::realtime::Lateness;
use pcc_lab::link::{Counters, PathConfig};
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
    /// The path from the receiver to the sender.
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
