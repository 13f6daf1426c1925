//! The utilities of Allegro (NSDI 2015). Rates are in Mbit/s; the functions are homogeneous in the rate, so any unit would do.

use super::function::{Utility, sigmoid};
use crate::monitor::Measurement;

/// Loss below which the safe utility hardly punishes (Allegro 2015, section 2.2).
const LOSS_TOLERANCE: f64 = 0.05;

/// The default of Allegro: `T * S_alpha(L - 0.05) - x * L` (Allegro 2015, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct Safe {
    /// The steepness of the sigmoid. The theorem asks for at least max(2.2 (n - 1), 100) with n senders.
    pub alpha: f64,
}

impl Safe {
    /// alpha = 100 (Allegro 2015, section 2.2).
    pub const DEFAULT: Safe = Safe { alpha: 100.0 };
}

impl Default for Safe {
    fn default() -> Self {
        Safe::DEFAULT
    }
}

impl Safe {
    /// The gain `T * S_alpha(L - 0.05)` and the penalty `x * L`.
    fn terms(self, interval: &Measurement) -> (f64, f64) {
        let gain = interval.throughput().mbps() * sigmoid(self.alpha, interval.loss - LOSS_TOLERANCE);
        (gain, interval.rate.mbps() * interval.loss)
    }
}

impl Utility for Safe {
    fn utility(&self, interval: &Measurement) -> f64 {
        let (gain, penalty) = self.terms(interval);
        gain - penalty
    }
}

/// Backs off when the round-trip time grows:
/// `(T * S_alpha(L - 0.05) * S_beta(1 - RTT_prev / RTT) - x * L) / RTT`.
///
/// The paper (section 2.4) prints the sigmoid's argument with the opposite sign, which would reward growing
/// round-trip times; the authors' code has it as here (SPEC 1.3).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct TcpFriendly {
    /// The term of the utility that punishes loss.
    pub safe: Safe,
    /// The steepness of the latency sigmoid: 10 is friendly to TCP, 100 less so.
    pub beta: f64,
}

impl TcpFriendly {
    /// beta = 10 (Allegro 2015, section 2.4).
    pub const DEFAULT: TcpFriendly = TcpFriendly { safe: Safe::DEFAULT, beta: 10.0 };
}

impl Default for TcpFriendly {
    fn default() -> Self {
        TcpFriendly::DEFAULT
    }
}

impl Utility for TcpFriendly {
    fn utility(&self, interval: &Measurement) -> f64 {
        let (gain, penalty) = self.safe.terms(interval);
        let latency = sigmoid(self.beta, 1.0 - rtt_ratio(interval));
        (gain * latency - penalty) / rtt_divisor(interval)
    }
}

/// Favours low delay, for use behind fair queueing: `(T * S_alpha(L - 0.05) * RTT_prev / RTT - x * L) / RTT`
/// (Allegro 2015, section 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct Interactive {
    /// The term of the utility that punishes loss.
    pub safe: Safe,
}

impl Utility for Interactive {
    fn utility(&self, interval: &Measurement) -> f64 {
        let (gain, penalty) = self.safe.terms(interval);
        (gain * rtt_ratio(interval) - penalty) / rtt_divisor(interval)
    }
}

/// Takes all it can under heavy random loss, for use behind fair queueing: `T * (1 - L)`
/// (Allegro, arXiv version, section 4.4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LossResilient;

impl Utility for LossResilient {
    fn utility(&self, interval: &Measurement) -> f64 {
        interval.throughput().mbps() * (1.0 - interval.loss)
    }
}

/// RTT_prev / RTT; 1 for the first interval.
fn rtt_ratio(interval: &Measurement) -> f64 {
    if interval.previous_rtt > 0.0 && interval.rtt > 0.0 { interval.previous_rtt / interval.rtt } else { 1.0 }
}

/// The round-trip time in seconds, at least a nanosecond.
fn rtt_divisor(interval: &Measurement) -> f64 {
    interval.rtt.max(1e-9)
}
