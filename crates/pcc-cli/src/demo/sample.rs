//! How a transfer is doing.

use std::time::Duration;

/// A moment of a transfer. Counts are since its start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Time since the sender began to connect.
    pub at: Duration,
    /// Bytes of data that the receiver has got.
    pub received: u64,
    /// The sender's smoothed round trip time.
    pub rtt: Duration,
    /// How many packets were sent so far.
    pub sent: u64,
    /// Packets that the sender takes for lost.
    pub lost: u64,
}
