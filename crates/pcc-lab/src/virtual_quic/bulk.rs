//! What to run.

use crate::link::PathConfig;
use std::ops::Range;
use std::time::Duration;

/// A bulk transfer: the sender always has data.
#[derive(Clone, Debug)]
pub struct Bulk {
    /// From the sender to the receiver.
    pub forward: PathConfig,
    /// From the receiver to the sender.
    pub reverse: PathConfig,
    /// How long it lasts, in virtual time.
    pub duration: Duration,
    /// The seed of all random choices.
    pub seed: u64,
    /// The size of packets in bytes of UDP payload; `None` lets noq start at 1200 and search for more.
    pub mtu: Option<u16>,
    /// The largest UDP payload that the path carries; larger ones vanish.
    pub path_mtu: u16,
    /// The size of each stream in bytes; the next one begins when all of it has been written.
    pub stream_bytes: u64,
    /// Whether the receiver reads each stream in order.
    pub ordered: bool,
    /// While this lasts nothing arrives, either way.
    pub outage: Range<Duration>,
    /// Up to this much is added to the delay of each packet at random, without regard to order.
    pub reordering: Duration,
    /// The sender can't run for this long ...
    pub stall: Duration,
    /// ... each time this much has passed; zero for never.
    pub stall_every: Duration,
    /// What the report's series count by.
    pub bin: Duration,
}

impl Bulk {
    /// Ten seconds over a path with as much delay on the way back, 1 MiB streams and 1452-byte packets.
    pub fn over(forward: PathConfig) -> Bulk {
        Bulk {
            reverse: PathConfig::delay_only(forward.delay),
            forward,
            duration: Duration::from_secs(10),
            seed: 1,
            mtu: Some(1452),
            path_mtu: 1472,
            stream_bytes: 1 << 20,
            ordered: false,
            outage: Duration::MAX..Duration::MAX,
            reordering: Duration::ZERO,
            stall: Duration::ZERO,
            stall_every: Duration::ZERO,
            bin: Duration::from_millis(100),
        }
    }
}
