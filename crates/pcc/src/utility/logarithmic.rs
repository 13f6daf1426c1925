//! A utility whose optimum is a number of packets in the queue.

use super::function::Utility;
use crate::monitor::Measurement;

/// `k * (ln x - c * L) - x * max(0, rtt - min_rtt - d)`, with x in packets/s.
///
/// A flow that takes delay and loss as given has its optimum where `x * (rtt - min_rtt - d) = k`: where `k` of its packets wait in
/// the queue, and what it sends in a time `d`. The left side grows with the rate, so that the optimum is unique, and it is the same for
/// every flow, so that flows which share a queue have equal rates.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct Logarithmic {
    /// The packets `k` in the queue.
    pub packets: f64,
    /// The weight `c` of loss: a rate that is lower by a fraction f is better if it lowers the loss by more than f / c.
    pub loss: f64,
    /// The delay `d` in seconds that costs nothing, because hosts delay packets by so much.
    pub free: f64,
}

impl Logarithmic {
    /// Three packets, so that a queue can be told from none, and 0.15 ms, two packets of an Ethernet of 100 Mbit/s; loss that falls by 0.4 of
    /// what the rate falls by is worth it.
    pub const DEFAULT: Logarithmic = Logarithmic { packets: 3.0, loss: 2.5, free: 0.000_15 };
}

impl Default for Logarithmic {
    fn default() -> Self {
        Logarithmic::DEFAULT
    }
}

impl Utility for Logarithmic {
    fn utility(&self, interval: &Measurement) -> f64 {
        // At least one packet in an hour: the logarithm of nothing is not finite.
        let rate = (interval.rate.bytes_per_sec() / interval.packet_bytes.max(1.0)).max(1.0 / 3600.0);
        let queueing = (interval.rtt - interval.min_rtt - self.free).max(0.0);
        self.packets * (libm::log(rate) - self.loss * interval.loss) - rate * queueing
    }
}
