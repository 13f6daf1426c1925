//! A utility whose optimum is a number of packets in the queue.

use super::function::Utility;
use crate::monitor::Measurement;

/// `k * (ln x - c * L) - x * (rtt - min_rtt)`, with x in packets/s.
///
/// A flow that takes delay and loss as given has its optimum where `x * (rtt - min_rtt) = k`: where `k` of its packets wait in
/// the queue. `x * (rtt - min_rtt)` grows with the rate, so that the optimum is unique, and it is the same for every flow,
/// so that flows which share a queue have equal rates.
///
/// Beyond a rate f, `2 sqrt(x / f) - 2` stands for `ln (x / f)`: the optimum is `k * sqrt(x / f)` packets. Hosts delay packets by some time, which is
/// more packets the faster they are sent; that is to be less than what the flow wants in the queue. The optimum is still unique.
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
    /// The rate `f` in packets/s from which on more packets are wanted.
    pub fast: f64,
}

impl Logarithmic {
    /// Three packets, so that a queue can be told from none, and more from 48 Mbit/s of full packets on; loss that falls by 0.4 of what the
    /// rate falls by is worth it.
    pub const DEFAULT: Logarithmic = Logarithmic { packets: 3.0, loss: 2.5, fast: 4000.0 };
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
        let queueing = (interval.rtt - interval.min_rtt).max(0.0);
        let slow = rate.min(self.fast);
        let worth = libm::log(slow) + 2.0 * (libm::sqrt(rate / slow) - 1.0);
        self.packets * (worth - self.loss * interval.loss) - rate * queueing
    }
}
