//! How many bytes noq's pacer lets go at once.
//!
//! noq paces with a token bucket, whose depth follows from the rate (`rate_capacity` in `connection/pacing.rs` of noq-proto). No
//! public function tells it, so it is computed here again. A test compares it with a connection of noq-proto.

/// The bucket holds this much of the rate's time, in seconds (`TARGET_BURST_INTERVAL`) ...
const TARGET_SECONDS: f64 = 0.002;
/// ... but not fewer or more packets than these (`MIN_BURST_SIZE`, `MAX_BURST_SIZE`) ...
const MIN_PACKETS: f64 = 10.0;
const MAX_PACKETS: f64 = 256.0;
/// ... and never more than this much of the rate's time, in seconds (`MAX_BURST_INTERVAL`), or one packet if that is more.
const MAX_SECONDS: f64 = 0.010;

/// The depth of the bucket, in bytes, at a rate in bytes per second, where full packets have `mtu` bytes.
pub(crate) fn depth(rate: f64, mtu: f64) -> f64 {
    let wanted = (rate * TARGET_SECONDS).clamp(MIN_PACKETS * mtu, MAX_PACKETS * mtu);
    wanted.min((rate * MAX_SECONDS).max(mtu))
}

/// The rate, in bytes per second, at which the bucket has this depth: the inverse of [`depth`] from 1 to 256 packets.
pub(crate) fn rate_of_depth(depth: f64, mtu: f64) -> f64 {
    if depth < MIN_PACKETS * mtu { depth / MAX_SECONDS } else { depth / TARGET_SECONDS }.ceil()
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod tests;
