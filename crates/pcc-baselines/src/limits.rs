//! Bounds that all controllers share, so that no packet or round-trip time, however odd, breaks their arithmetic.

use pcc::Rate;
use std::time::Duration;

/// The packet size before the driver tells it, in bytes.
pub(crate) const INITIAL_MTU: u64 = 1200;
/// The least rate, a packet or so in a minute: at none a sender would stand still for ever, whatever the path does.
pub(crate) const MIN_RATE: Rate = Rate::from_bits_per_sec(200.0);
/// The initial window in packets (RFC 6928).
pub(crate) const INITIAL_WINDOW: u64 = 10;

/// A packet size that arithmetic can take: what UDP can carry.
pub(crate) fn usable_mtu(mtu: u64) -> u64 {
    mtu.clamp(1, 65_535)
}

/// A round-trip time that arithmetic can take; more than ten minutes is a clock error.
pub(crate) fn usable_rtt(rtt: Duration) -> Duration {
    rtt.min(Duration::from_secs(600))
}
