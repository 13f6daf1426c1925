//! Bounds that all controllers share, so that no packet or round-trip time, however odd, breaks their arithmetic.

use pcc::Rate;
use std::time::Duration;

/// The packet size before the driver tells it, in bytes.
pub(crate) const INITIAL_MTU: u64 = 1200;
/// The minimum rate, about a packet a minute: at a rate of zero a sender would never find out that the path works again.
pub(crate) const MIN_RATE: Rate = Rate::from_bits_per_sec(200.0);
/// The initial window in packets (RFC 6928).
pub(crate) const INITIAL_WINDOW: u64 = 10;

/// `mtu` in the range that UDP can carry, in bytes.
pub(crate) fn usable_mtu(mtu: u64) -> u64 {
    mtu.clamp(1, 65_535)
}

/// `rtt`, of which more than ten minutes is taken for an error of a clock.
pub(crate) fn usable_rtt(rtt: Duration) -> Duration {
    rtt.min(Duration::from_secs(600))
}
