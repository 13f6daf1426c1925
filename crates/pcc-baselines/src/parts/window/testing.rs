//! What the tests of rules need.

use super::{Ack, Rtt};
use pcc::Time;
use std::time::Duration;

/// `packets` acknowledged on a path whose round-trip time has always been `rtt` seconds.
pub fn ack(packets: f64, rtt: f64, round: bool) -> Ack {
    Ack { packets, marked: 0.0, rtt: Rtt::new(Time::ZERO, Duration::from_secs_f64(rtt)), round, now: Time::ZERO }
}

/// A whole round trip's `packets` acknowledged at `now` seconds.
pub fn ack_at(now: f64, packets: f64, rtt: f64) -> Ack {
    Ack { now: Time::ZERO + Duration::from_secs_f64(now), ..ack(packets, rtt, true) }
}
